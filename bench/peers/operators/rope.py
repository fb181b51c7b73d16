import torch

from computation import compiled, functional, wide


def table(case, s, d):
    """cos and sin of every angle, made once in float64, as a model keeps them."""
    theta, start = case.real("theta", 10000.0), case.integer("start")
    position = torch.arange(start, start + s, dtype=torch.float64)
    exponent = torch.arange(0, d, 2, dtype=torch.float64) / d
    angle = torch.outer(position, theta**-exponent)
    dtype = torch.float64 if case.dtype == "f64" else torch.float32
    return (part.to(case.device, dtype) for part in (angle.cos(), angle.sin()))


def rotated(x, cos, sin):
    even, odd = wide(x)[..., ::2], wide(x)[..., 1::2]
    pairs = torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1)
    return pairs.flatten(-2).to(x.dtype)


def expression(case):
    cos, sin = table(case, case.integer("s"), case.integer("d"))
    return lambda x: {"y": rotated(x, cos, sin)}


ARMS = {"torch": functional(expression), "torch-compile": compiled(expression)}
