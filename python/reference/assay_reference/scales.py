"""How far each step of a computation may be off: the bound of its own rounding, for every element.

A right fp32 implementation computes the same steps, each rounded, in any order of a sum and in any
of the usual forms of a function. docs/reference.md derives the scales. All arrays are NumPy's, fp64.
"""
import numpy as np

U = 2.0**-24  # of fp32, in which steps are computed whatever the tensors' dtype
TINY = 2.0**-126

EXACT = None


def shared(inputs, y, each):
    """A value that many elements use may be computed anew, or updated, for each."""
    s = 0.0
    for x in inputs:
        if 0 < np.ndim(x) and np.size(x) < y.size:
            s = s + U * (np.abs(x) if each else np.abs(y))
    return s


def add(inputs, y, again):
    same = y == 0
    for x in inputs:
        same = same | (y == x)
    return np.where(same, 0, U * np.abs(y) + shared(inputs, y, True))


def mul(inputs, y, again):
    same = y == 0
    for x in inputs:
        same = same | (y == x)
    return np.where(same, 0, U * np.abs(y) + TINY + shared(inputs, y, False))


def div(inputs, y, again):
    return np.where((y == 0) | (y == inputs[0]), 0, 2 * U * np.abs(y) + TINY)


def root(inputs, y, again):
    return np.where((y == 0) | (y == 1), 0, 2 * U * np.abs(y))


def exp(inputs, y, again):
    return np.where(inputs[0] == 0, 0, (2 + np.abs(inputs[0])) * U * np.abs(y) + TINY)


def log(inputs, y, again):
    return 2 * U * np.abs(y)


def logistic(inputs, y, again):
    return (3 + np.abs(inputs[0]) * (1 - y)) * U * np.abs(y) + TINY


def function(inputs, y, again):
    """tanh, erf, sin and others of a few ulp."""
    return 3 * U * np.abs(y)


def gamma(inputs, y, again):
    """lgamma and digamma cross 0, where their terms do not."""
    return (3 * np.abs(y) + 4 * (1 + np.abs(inputs[0]))) * U


def erfc(inputs, y, again):
    return 3 * U * np.abs(y) + U


def power(inputs, y, again):
    return (2 + np.abs(np.log(np.maximum(np.abs(y), 1e-300)))) * U * np.abs(y) + TINY


def product(inputs, y, again):
    x = inputs[0]
    k = max(1, np.size(x) // max(1, y.size)) if y.shape != np.shape(x) else max(x.shape, default=1)
    return np.where(y == 0, 0, np.sqrt(k) * U * np.abs(y) + TINY)


def walk(magnitude, squares, k, y):
    """k roundings in any order, of partial sums that are random walks, or not."""
    k = np.maximum(k, 0)
    return np.sqrt(k) * U * np.minimum(magnitude, 2 * np.sqrt(np.maximum(squares, 0)) + np.abs(y))


def drift(terms):
    """A running sum's loss by terms that are rounded alike: the largest, over the grids that the
    sum's magnitude may have. The terms are on the last axis."""
    magnitude = np.abs(terms).sum(-1, keepdims=True)
    top = np.exp2(np.floor(np.log2(np.maximum(magnitude, 1e-300))) - 23)
    most = np.zeros(terms.shape[:-1])
    for e in range(11):
        grid = top * 2.0**-e
        most = np.maximum(most, np.abs((grid * np.rint(terms / grid) - terms).sum(-1)))
    return most


def sum_over(axes):
    """Of a plain sum over axes, whose drift can be looked at."""

    def scale(inputs, y, again):
        x = inputs[0]
        over = tuple(range(x.ndim)) if axes is None else tuple(np.atleast_1d(axes) % max(1, x.ndim))
        keep = [a for a in range(x.ndim) if a not in over]
        terms = np.transpose(x, keep + list(over)).reshape([x.shape[a] for a in keep] + [-1])
        s = walk(np.abs(terms).sum(-1), (terms * terms).sum(-1), terms.shape[-1] - 1, y.reshape(terms.shape[:-1]))
        if terms.shape[-1] > 64 and np.isfinite(terms).all():
            s = s + drift(terms) / 2
        return s.reshape(y.shape)

    return scale


def dot(inputs, y, again):
    """Of a function that is linear in each of its inputs: `again` computes it of others."""
    magnitude = again([np.abs(x) for x in inputs])
    squares = again([x * x for x in inputs])
    k = again([np.ones_like(x) for x in inputs])
    s = walk(magnitude, squares, k, y)
    return np.where(magnitude > 0, s + (TINY * np.sqrt(np.maximum(k, 0)) if len(inputs) > 1 else 0), 0)
