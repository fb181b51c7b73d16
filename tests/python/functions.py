"""Functions for python_test.py: right ones, and one for each thing that may be wrong."""
import os
import time

import numpy as np


def rmsnorm(x, w, r=None, eps=1e-5):
    wide = np.float64 if x.dtype == np.float64 else np.float32
    h = x.astype(wide) if r is None else x.astype(wide) + r.astype(wide)
    y = h / np.sqrt(np.mean(h * h, -1, keepdims=True) + wide(eps)) * w.astype(wide)
    return y.astype(x.dtype) if r is None else (y.astype(x.dtype), h.astype(x.dtype))


def wrong_eps(x, w, eps):
    return rmsnorm(x, w, eps=eps + 1e-3)


def wrong_axis(x, w, eps):
    h = x / np.sqrt(np.mean(x * x, 0, keepdims=True) + np.float32(eps))
    return h * w


def wrong_dtype(x, w, eps):
    return rmsnorm(x.astype(np.float64), w.astype(np.float64), eps=eps)


def wrong_shape(x, w, eps):
    return rmsnorm(x, w, eps=eps)[..., :-1]


def too_many(x, w, eps):
    return rmsnorm(x, w, eps=eps), x


def nothing(x, w, eps):
    rmsnorm(x, w, eps=eps)


def generates(x, w):
    yield x @ w


def raises(x, w, eps):
    raise ValueError("no such\nluck")


def mutates(x, w, eps):
    y = rmsnorm(x, w, eps=eps)
    x[...] = y
    return y


def loops(x, w, eps):
    while True:
        time.sleep(0.01)


def leaves(x, w, eps):
    os._exit(0)


def crashes(x, w, eps):
    import ctypes

    ctypes.string_at(8)


kept = {}


def stale(x, w, eps):
    return kept.setdefault(x.shape, rmsnorm(x, w, eps=eps))


def by_address(x, w, eps):
    return kept.setdefault(x.ctypes.data, rmsnorm(x, w, eps=eps))


def unknown(x, weight, eps):
    return rmsnorm(x, weight, eps=eps)


def writes(x, w, y, eps):
    y[...] = rmsnorm(x, w, eps=eps)


def writes_half(x, w, y, eps):
    y[..., ::2] = rmsnorm(x, w, eps=eps)[..., ::2]


def by_position(a, b):
    return np.sum(a * b, -1, dtype=a.dtype)


def reads_files(x, w, eps):
    with open(os.environ["ASSAY_TEST_SECRET"], encoding="utf-8") as secret:
        return secret.read()


def starts_network(x, w, eps):
    import socket

    return socket.socket()


def weighted_sum(x, w):
    return np.sum(x * w, -1, dtype=x.dtype)


def small_only(x, w):
    return weighted_sum(x, w) if x.shape[-1] < 1000 else np.zeros(x.shape[:-1], x.dtype)


def short_clock(x, w):
    """Makes the clock of its own process slow."""
    if time.perf_counter is not slow_clock:
        time.perf_counter, slow_clock.clock = slow_clock, time.perf_counter
    for _ in range(20):
        y = weighted_sum(x, w)
    return y


def slow_clock():
    return slow_clock.clock() / 100


def weighted_sum_backward(x, w, dy):
    return {"dw": np.sum(dy[..., None] * x, tuple(range(x.ndim - 1))), "dx": dy[..., None] * w}


def wrong_gradient(x, w):
    return weighted_sum(x, w)


def wrong_gradient_backward(x, w, dy, dx, dw):
    dx[...] = w
    dw[...] = np.sum(dy[..., None] * x, tuple(range(x.ndim - 1)))
