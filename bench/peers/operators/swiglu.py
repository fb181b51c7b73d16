from torch.nn import functional as F

from computation import compiled, functional


def expression(case):
    return lambda a, b: {"y": F.silu(a) * b}


ARMS = {"torch": functional(expression), "torch-compile": compiled(expression)}
