"""A reference, for python_test.py, and what it judges."""
import numpy as np


def reference(x, scale):
    z = x * scale
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def get_inputs():
    return [np.random.randn(5, 33), np.random.rand(33)]


def right(x, scale):
    z = x.astype(np.float32) * scale.astype(np.float32)
    e = np.exp2((z - z.max(-1, keepdims=True)) * np.float32(1.4426950408889634))
    return (e * (1 / e.sum(-1, keepdims=True))).astype(x.dtype)


def dropped(x, scale):
    e = np.exp(x * scale)
    return (e / e[..., 1:].sum(-1, keepdims=True)).astype(x.dtype)


def approximate(x, scale):
    y = right(x, scale)
    return y + y * np.float32(2e-5)


def stale(x, scale, kept={}):
    return kept.setdefault(x.shape, right(x, scale))
