"""References of the usual kinds, in NumPy, for tolerance_test.py: a function and its inputs."""
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def log_softmax(x):
    z = x - x.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


def normalized(x, axis):
    d = x - x.mean(axis, keepdims=True)
    return d / np.sqrt((d * d).mean(axis, keepdims=True) + 1e-5)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def attention(q, k, v):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    n = q.shape[-2]
    return softmax(np.where(np.tril(np.ones((n, n), dtype=bool)), s, -np.inf)) @ v


def windows(x, k):
    return np.stack([x[..., i : x.shape[-1] - k + 1 + i] for i in range(k)], -1)


def rnn(x, h, wx, wh):
    for t in range(x.shape[0]):
        h = np.tanh(x[t] @ wx + h @ wh)
    return h


def huber(a, b):
    d = np.abs(a - b)
    return np.where(d <= 1, 0.5 * d * d, d - 0.5).mean()


def mlp(x, a, b, c, d):
    return np.maximum(x @ a + b, 0) @ c + d


ROWS = [(5, 129)]
TWO = [(5, 129), (5, 129)]
AFFINE = [(5, 129), (129,), (129,)]
REFERENCES = {
    "relu": (lambda x: np.maximum(x, 0), ROWS),
    "sigmoid": (sigmoid, ROWS),
    "silu": (lambda x: x * sigmoid(x), ROWS),
    "gelu": (lambda x: 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x))), ROWS),
    "softplus": (softplus, ROWS),
    "mish": (lambda x: x * np.tanh(softplus(x)), ROWS),
    "elu": (lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), ROWS),
    "softmax": (softmax, ROWS),
    "log_softmax": (log_softmax, ROWS),
    "logsumexp": (lambda x: x.max(-1) + np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1)), ROWS),
    "layernorm": (lambda x, g, b: normalized(x, -1) * g + b, AFFINE),
    "groupnorm": (lambda x: normalized(x.reshape(3, 2, -1), -1).reshape(3, 4, 17), [(3, 4, 17)]),
    "batchnorm": (lambda x: normalized(x, 0), [(33, 9)]),
    "rmsnorm": (lambda x, g: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * g, AFFINE[:2]),
    "l2norm": (lambda x: x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-12), ROWS),
    "sum": (lambda x: x.sum(-1), ROWS),
    "mean": (lambda x: x.mean(0), ROWS),
    "max": (lambda x: x.max(-1), ROWS),
    "var": (lambda x: x.var(-1), ROWS),
    "prod": (lambda x: x.prod(-1), [(5, 13)]),
    "cumsum": (lambda x: np.cumsum(x, -1), ROWS),
    "matmul": (lambda a, b: a @ b, [(17, 65), (65, 9)]),
    "linear": (lambda x, w, b: x @ w + b, [(17, 65), (65, 9), (9,)]),
    "einsum": (lambda a, b: np.einsum("bij,bkj->bik", a, b), [(3, 5, 33), (3, 7, 33)]),
    "outer": (lambda a, b: np.outer(a, b), [(9,), (17,)]),
    "conv1d": (lambda x, w: np.einsum("nclk,ock->nol", windows(x, 3), w), [(2, 4, 21), (5, 4, 3)]),
    "avgpool": (lambda x: windows(x, 4).mean(-1), ROWS),
    "maxpool": (lambda x: windows(x, 4).max(-1), ROWS),
    "attention": (attention, [(2, 17, 8)] * 3),
    "rnn": (rnn, [(6, 3, 5), (3, 8), (5, 8), (8, 8)]),
    "mlp": (mlp, [(9, 33), (33, 17), (17,), (17, 5), (5,)]),
    "mse": (lambda a, b: ((a - b) * (a - b)).mean(), TWO),
    "huber": (huber, TWO),
    "hinge": (lambda a: np.maximum(1 - a, 0).mean(), ROWS),
    "kl": (lambda a, b: (softmax(b) * (log_softmax(b) - log_softmax(a))).sum(-1).mean(), TWO),
    "cosine": (lambda a, b: (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1)), TWO),
    "cross_entropy": (
        lambda x, t: -np.take_along_axis(log_softmax(x), t[:, None], -1).mean(), [(5, 129), (5,)]),
    "embedding": (lambda w, i: w[i], [(11, 9), (5,)]),
    "sort": (lambda x: np.sort(x, -1), ROWS),
}
WHOLE = {"cross_entropy": (1, 129), "embedding": (1, 11)}  # which input holds indices, and below what
