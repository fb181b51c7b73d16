"""A loss, whose second input has the name that a result usually has."""
import numpy as np


def reference(x, y):
    d = np.abs(x - y)
    return np.where(d < 1, 0.5 * d * d, d - 0.5).mean(-1)


def get_inputs():
    return [np.random.randn(9, 33), np.random.randn(9, 33)]


def right(x, y):
    return reference(x, y)


def half(x, y):
    d = np.abs(x - y)
    return np.where(d < 1, 0.5 * d * d, d).mean(-1)


def wave(x, y):
    return np.abs(x * 1j + y)
