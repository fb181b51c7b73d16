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


def silu(x):
    return x * sigmoid(x)


# ---- convolutions, as products of patches ----


def patches(x, k, stride=1, dilation=1):
    """Of (n, c, axes...): (n, places..., c k^axes), the rows that a product takes."""
    axes = x.ndim - 2
    for a in range(axes):
        places = (x.shape[2 + a] - dilation * (k - 1) - 1) // stride + 1
        x = np.stack([np.take(x, np.arange(places) * stride + i * dilation, 2 + a) for i in range(k)], -1)
    order = [0, *range(2, 2 + axes), 1, *range(2 + axes, 2 + 2 * axes)]
    x = np.transpose(x, order)
    return x.reshape(*x.shape[: 1 + axes], -1)


def conv(x, w, **how):
    y = patches(x, w.shape[-1], **how) @ np.swapaxes(w.reshape(w.shape[0], -1), 0, 1)
    return np.moveaxis(y, -1, 1)


def padded(x, p):
    return np.pad(x, [(0, 0), (0, 0)] + [(p, p)] * (x.ndim - 2))


def conv_transposed(x, w, stride):
    """w (c, o, k...): zeros between the elements, and the reversed weights."""
    k, axes = w.shape[-1], x.ndim - 2
    for a in range(2, x.ndim):
        between = np.concatenate([np.expand_dims(x, a + 1)] + [np.zeros_like(np.expand_dims(x, a + 1))] * (stride - 1), a + 1)
        x = between.reshape(*x.shape[:a], -1, *x.shape[a + 1 :])
        x = np.take(x, np.arange(x.shape[a] - stride + 1), a)
    return conv(padded(x, k - 1), np.flip(np.swapaxes(w, 0, 1), tuple(range(2, 2 + axes))))


def depthwise(x, w):
    """A filter a channel."""
    return (windows(x, w.shape[-1]) * w[:, None, :]).sum(-1)


# ---- networks ----


def gru(x, h, wx, wh):
    a, b, n = x @ wx, h @ wh, h.shape[-1]
    r, z = sigmoid(a[:, :n] + b[:, :n]), sigmoid(a[:, n : 2 * n] + b[:, n : 2 * n])
    new = np.tanh(a[:, 2 * n :] + r * b[:, 2 * n :])
    return new + z * (h - new)


def lstm(x, h, c, wx, wh):
    a, n = x @ wx + h @ wh, h.shape[-1]
    i, f, g, o = (a[:, k * n : (k + 1) * n] for k in range(4))
    return sigmoid(o) * np.tanh(sigmoid(f) * c + sigmoid(i) * np.tanh(g))


def heads(x, n):
    return np.swapaxes(x.reshape(*x.shape[:-1], n, -1), -2, -3)


def multi_head(x, wq, wk, wv, wo):
    y = attention(heads(x @ wq, 2), heads(x @ wk, 2), heads(x @ wv, 2))
    return np.swapaxes(y, -2, -3).reshape(x.shape) @ wo


def cross_attention(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])) @ v


def distances(q, k, v):
    """Attention with a slope over the distance in place of places."""
    n = q.shape[-2]
    far = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]) - 0.25 * far) @ v


def block(x, g, wq, wk, wv, wo, a, b):
    x = x + multi_head(normalized(x, -1) * g, wq, wk, wv, wo)
    return x + silu(normalized(x, -1) @ a) @ b


def residual(x, w):
    return np.maximum(x + normalized(conv(padded(x, 1), w), (0, 2)), 0)


def triplet(a, p, n):
    near, far = np.sqrt(((a - p) * (a - p)).sum(-1) + 1e-6), np.sqrt(((a - n) * (a - n)).sum(-1) + 1e-6)
    return np.maximum(near - far + 1, 0).mean()


def smoothed(x, t):
    y = log_softmax(x)
    own = np.take_along_axis(y, t[:, None], -1)[:, 0]
    return -(0.9 * own + 0.1 * y.mean(-1)).mean()


def scattered(x, i):
    """Rows are added up where their indices say, by a product with ones."""
    return (i[None, :] == np.arange(4)[:, None]).astype(np.float64) @ x


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
    "leaky_relu": (lambda x: np.where(x > 0, x, 0.01 * x), ROWS),
    "tanh": (np.tanh, ROWS),
    "hardswish": (lambda x: x * np.clip(x + 3, 0, 6) / 6, ROWS),
    "softsign": (lambda x: x / (1 + np.abs(x)), ROWS),
    "logsigmoid": (lambda x: -softplus(-x), ROWS),
    "glu": (lambda a, b: a * sigmoid(b), TWO),
    "swiglu": (lambda a, b: silu(a) * b, TWO),
    "instancenorm": (lambda x: normalized(x, -1), [(3, 4, 65)]),
    "min": (lambda x: x.min(0), ROWS),
    "std": (lambda x: np.sqrt(((x - x.mean(-1, keepdims=True)) ** 2).mean(-1) + 1e-6), ROWS),
    "norm": (lambda x: np.sqrt((x * x).sum(-1)), ROWS),
    "sum_axes": (lambda x: x.sum((0, 2)), [(5, 7, 33)]),
    "cumprod": (lambda x: np.cumprod(x, -1), [(5, 13)]),
    "cumsum_exclusive": (lambda x: np.concatenate([np.zeros_like(x[..., :1]), np.cumsum(x[..., :-1], -1)], -1), ROWS),
    "logcumsumexp": (lambda x: np.log(np.cumsum(np.exp(np.tanh(x)), -1)), ROWS),
    "conv1d_strided": (lambda x, w: conv(x, w, stride=2), [(2, 4, 41), (5, 4, 3)]),
    "conv1d_dilated": (lambda x, w: conv(x, w, dilation=2), [(2, 4, 41), (5, 4, 3)]),
    "conv1d_depthwise": (depthwise, [(2, 4, 41), (4, 5)]),
    "conv2d": (lambda x, w: conv(padded(x, 1), w), [(2, 4, 9, 7), (5, 4, 3, 3)]),
    "conv3d": (conv, [(1, 3, 5, 6, 7), (4, 3, 3, 3, 3)]),
    "conv1d_transposed": (lambda x, w: conv_transposed(x, w, 2), [(2, 4, 17), (4, 5, 3)]),
    "conv2d_transposed": (lambda x, w: conv_transposed(x, w, 2), [(1, 4, 5, 6), (4, 3, 3, 3)]),
    "avgpool2d": (lambda x: patches(x.reshape(6, 1, 9, 8), 3).mean(-1), [(2, 3, 9, 8)]),
    "maxpool2d": (lambda x: patches(x.reshape(6, 1, 9, 8), 2).max(-1), [(2, 3, 9, 8)]),
    "maxpool3d": (lambda x: patches(x.reshape(2, 1, 5, 6, 7), 2).max(-1), [(2, 5, 6, 7)]),
    "bce": (lambda a, b: (softplus(a) - a * sigmoid(b)).mean(), [(5, 13), (5, 13)]),
    "smoothed": (smoothed, [(5, 13), (5,)]),
    "triplet": (triplet, [(5, 33)] * 3),
    "gather": (lambda x, i: np.take_along_axis(x, i, -1), [(5, 129), (5, 7)]),
    "scatter_add": (scattered, [(65, 9), (65,)]),
    "cross_attention": (cross_attention, [(2, 9, 8), (2, 33, 8), (2, 33, 8)]),
    "attention_slope": (distances, [(2, 17, 8)] * 3),
    "multi_head": (multi_head, [(2, 9, 16)] + [(16, 16)] * 4),
    "gru": (gru, [(5, 9), (5, 8), (9, 24), (8, 24)]),
    "lstm": (lstm, [(5, 9), (5, 8), (5, 8), (9, 32), (8, 32)]),
    "residual": (residual, [(2, 4, 33), (4, 4, 3)]),
    "autoencoder": (lambda x, a, b: np.tanh(np.tanh(x @ a) @ b), [(9, 33), (33, 5), (5, 33)]),
    "block": (block, [(2, 9, 16), (16,)] + [(16, 16)] * 4 + [(16, 32), (32, 16)]),
}
WHOLE = {"cross_entropy": (1, 129), "embedding": (1, 11), "smoothed": (1, 13), "gather": (1, 129), "scatter_add": (1, 4)}  # which input holds indices, and below what
