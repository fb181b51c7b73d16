import torch
from torch.nn import functional as F

from computation import AUTOTUNE, compile_function, compile_mode, functional, wide


def loss_of(logits, target):
    """In fp32 where the logits are bf16; it has no need of lse."""
    return F.cross_entropy(wide(logits), target)


def with_gradient(case, loss_function):
    """gradient=1: by autograd, as in a training step."""
    if not case.integer("gradient"):
        return lambda logits, target: {"loss": loss_function(logits, target)[None]}

    def forward(logits, target):
        if not logits.requires_grad:
            logits = logits.detach().requires_grad_()
        loss = loss_function(logits, target)
        (gradient,) = torch.autograd.grad(loss, logits, retain_graph=True)
        return {"loss": loss[None], "gradient": gradient}

    return forward


def expression(case):
    return with_gradient(case, loss_of)


def compiled_expression(case):
    return with_gradient(case, compile_function(case, loss_of, AUTOTUNE))


compiled = functional(compiled_expression)
compiled.mode = compile_mode(AUTOTUNE)

ARMS = {"torch": functional(expression), "torch-compile": compiled}
