import cupy


def weighted_sum(x, w):
    return cupy.sum(x * w, -1)


def wrong_end(x, w):
    return cupy.sum(x[..., 1:] * w[1:], -1)
