from torch.nn import functional as F

from computation import compiled, functional, wide


def expression(case):
    return lambda a, b: {"y": (F.silu(wide(a)) * wide(b)).to(a.dtype)}


ARMS = {"torch": functional(expression), "torch-compile": compiled(expression)}
