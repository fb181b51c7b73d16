"""The memory that an arm shares with `assay bench`: file descriptor 3, mapped whole."""

import math
import mmap
import os

import torch

DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "i32": torch.int32,
}


class Shared:
    def __init__(self, descriptor=3):
        try:
            self.bytes = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"file descriptor {descriptor} is not the shared memory ({error}): "
                "peers are started by assay bench"
            ) from None

    def tensor(self, name, dtype, offset, shape):
        """The tensor there, not a copy: what is written to it, the parent sees."""
        if dtype not in DTYPES:
            raise ValueError(f"{dtype} is no dtype; one of {' '.join(DTYPES)}")
        count, size = math.prod(shape), DTYPES[dtype].itemsize
        if min(shape, default=0) < 0:
            raise ValueError(f"{name} has an extent that cannot be")
        if offset < 0 or offset + count * size > len(self.bytes):
            raise ValueError(f"{name} lies outside of the shared memory")
        if count == 0:
            return torch.empty(shape, dtype=DTYPES[dtype])
        flat = torch.frombuffer(self.bytes, dtype=DTYPES[dtype], count=count, offset=offset)
        return flat.view(shape)
