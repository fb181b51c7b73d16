"""For pytest, by python_test.py: one function passes, one fails."""
import numpy as np

import assay


@assay.judges("weighted_sum", device="sim", cases="n=5x7 d=33,34")
def right(x, w):
    return np.sum(x * w, -1, dtype=x.dtype)


@assay.judges("weighted_sum", device="sim", cases="n=5x7 d=33,34,35")
def wrong(x, w):
    return np.sum(x[..., 1:] * w[1:], -1, dtype=x.dtype)


test_wrong = wrong  # the same function: no second test, and none of pytest's own
