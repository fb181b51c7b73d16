"""Triton's autotuning, which times each configuration on the GPU once for each `key`."""

import os

import triton


def tuned(key, names, *rows):
    """Rows are values of the constants in `names`; then warps, and stages of the pipeline."""
    configurations = [
        triton.Config(dict(zip(names, row)), num_warps=row[-2], num_stages=row[-1]) for row in rows
    ]
    if os.environ.get("TRITON_INTERPRET") == "1":  # nothing to time
        del configurations[1:]
    return triton.autotune(configurations, key=key)
