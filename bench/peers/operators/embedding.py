from torch.nn import functional as F

from computation import compiled, functional


def expression(case):
    return lambda ids, table: {"y": F.embedding(ids, table)}


ARMS = {"torch": functional(expression), "torch-compile": compiled(expression)}
