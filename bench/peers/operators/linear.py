from torch.nn import functional as F

from computation import compiled, functional


def expression(case):
    return lambda x, w: {"y": F.linear(x, w)}


ARMS = {"torch": functional(expression), "torch-compile": compiled(expression)}
