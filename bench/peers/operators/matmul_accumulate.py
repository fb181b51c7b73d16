import torch

from computation import compiled, functional


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


ARMS = {
    "torch": functional(repeated),
    "torch-compile": compiled(repeated),
    "torch-addmm": functional(at_once),
}
