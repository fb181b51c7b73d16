import torch

from computation import DEFAULT, Unavailable, compile_function, compiled, functional


def operands(case, a, b):
    return a.mT if case.integer("ta") else a, b.mT if case.integer("tb") else b


def repeated(case):
    """As often as it says: y += a·b, in place. The first is addmm, which rounds once."""

    def forward(a, b, c):
        a, b = operands(case, a, b)
        y = torch.addmm(c, a, b)
        for _ in range(case.integer("iters", 1) - 1):
            y += a @ b
        return {"y": y}

    return forward


def at_once(case):
    def forward(a, b, c):
        return {"y": torch.addmm(c, *operands(case, a, b), alpha=case.integer("iters", 1))}

    return forward


def wide(case):
    """The product in fp32, then one kernel that adds c and rounds once. What adds in 16 bits rounds
    the product, too, which is beyond the bound where c nearly cancels it."""
    if case.dtype not in ("bf16", "f16"):
        raise Unavailable("for bf16 and f16: other products are not narrowed before the sum")
    if case.device != "cuda":
        raise Unavailable("PyTorch widens products of 16 bits on a GPU alone")
    times = case.integer("iters", 1)
    add = compile_function(case, lambda c, p: (c + times * p).to(c.dtype), DEFAULT)

    def forward(a, b, c):
        return {"y": add(c, torch.mm(*operands(case, a, b), out_dtype=torch.float32))}

    return forward


ARMS = {
    "torch": functional(repeated),
    "torch-compile": compiled(repeated),
    "torch-addmm": functional(at_once),
    "torch-wide": functional(wide),
}
