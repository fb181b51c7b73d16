"""A script that calls assay at its top, as scripts do."""
import numpy as np

import assay


def sums(x, w):
    return np.sum(x * w, -1, dtype=x.dtype)


print(assay.check("weighted_sum", sums, cases="n=5x7 d=33", device="sim"))
