import torch
from torch.nn import functional as F

from computation import compiled, functional, triton_arm

MEAN = (1, 2, 3, 4)


def normalised(case):
    groups, eps = case.integer("g"), case.real("eps", 1e-5)

    def forward(x, w, b, gamma, beta):
        return F.group_norm(F.conv3d(x, w, b), groups, gamma, beta, eps)

    return forward


def functions(case):
    z = normalised(case)
    return lambda **tensors: {"y": z(**tensors).mean(MEAN)}


def modules(case):
    co = case.integer("co")
    model = torch.nn.Sequential(
        torch.nn.Conv3d(case.integer("ci"), co, case.integer("k"), device="meta"),
        torch.nn.GroupNorm(case.integer("g"), co, case.real("eps", 1e-5), device="meta"),
    )

    def forward(x, w, b, gamma, beta):
        parameters = {"0.weight": w, "0.bias": b, "1.weight": gamma, "1.bias": beta}
        return {"y": torch.func.functional_call(model, parameters, x).mean(MEAN)}

    return forward


def triton_mean(case):
    triton_arm(case)
    from operators.conv3d_groupnorm_mean_triton import Mean

    z = normalised(case)
    return lambda **tensors: {"y": Mean.apply(z(**tensors))}


def shortcut(case):
    """What was published as the fastest: the mean of beta, right only where gamma is constant in
    each group. It is here to be refused."""
    return lambda x, w, b, gamma, beta: {"y": beta.mean().expand(x.shape[0])}


ARMS = {
    "torch": functional(functions),
    "torch-module": functional(modules),
    "torch-compile": compiled(functions),
    "triton-mean": functional(triton_mean),
    "shortcut": functional(shortcut),
}
