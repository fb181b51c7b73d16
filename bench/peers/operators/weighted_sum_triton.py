"""weighted_sum in Triton: rows in tiles, sums in fp32 (fp64 for fp64), every tail masked.

The backward reads x once: a program takes a strip of columns and some of the rows, writes its part
of dx and a partial sum of dw; a second kernel adds these up.
"""

import torch
import triton
import triton.language as tl

from tuning import tuned


SHAPES = (
    (1, 512, 4, 3),
    (1, 2048, 8, 3),
    (4, 256, 4, 3),
    (4, 1024, 8, 3),
    (8, 512, 8, 3),
    (16, 128, 4, 3),
)


@tuned(["rows", "d"], ("ROWS", "COLUMNS"), *SHAPES)
@triton.jit
def _forward(x, w, y, rows, d, SUM: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS, COLUMNS), dtype=SUM)
    for start in range(0, d, COLUMNS):
        column = start + tl.arange(0, COLUMNS)
        inside = (row < rows)[:, None] & (column < d)[None, :]
        tile = tl.load(x + row[:, None] * d + column[None, :], mask=inside, other=0).to(SUM)
        weight = tl.load(w + column, mask=column < d, other=0).to(SUM)
        total += tile * weight[None, :]
    tl.store(y + row, tl.sum(total, 1), mask=row < rows)


@tuned(["rows", "d"], ("ROWS", "COLUMNS"), *SHAPES)
@triton.jit
def _backward(
    x, w, dy, dx, partial, rows, d, share,
    SUM: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    weight = tl.load(w + column, mask=column < d, other=0).to(SUM)
    first = tl.program_id(1).to(tl.int64) * share
    last = tl.minimum(first + share, rows)
    total = tl.zeros((ROWS, COLUMNS), dtype=SUM)
    for start in range(first, last, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < last)[:, None] & (column < d)[None, :]
        at = row[:, None] * d + column[None, :]
        cotangent = tl.load(dy + row, mask=row < last, other=0).to(SUM)[:, None]
        total += cotangent * tl.load(x + at, mask=inside, other=0).to(SUM)
        tl.store(dx + at, cotangent * weight[None, :], mask=inside)
    place = partial + tl.program_id(1).to(tl.int64) * d + column
    tl.store(place, tl.sum(total, 0), mask=column < d)


@triton.jit
def _add_up(partial, dw, parts, d, SUM: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), dtype=SUM)
    for start in range(0, parts, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < parts)[:, None] & (column < d)[None, :]
        total += tl.load(partial + row[:, None] * d + column[None, :], mask=inside, other=0)
    tl.store(dw + column, tl.sum(total, 0), mask=column < d)


def _sum_type(tensor):
    """As Triton has it, and as PyTorch has it."""
    if tensor.dtype == torch.float64:
        return tl.float64, torch.float64
    return tl.float32, torch.float32


def forward(x, w):
    d = x.shape[-1]
    y = x.new_empty(x.shape[:-1])
    if y.numel() > 0:
        grid = lambda options: (triton.cdiv(y.numel(), options["ROWS"]),)  # noqa: E731
        _forward[grid](x, w, y, y.numel(), d, SUM=_sum_type(x)[0])
    return y


MOST_PARTS = 512  # partial sums of dw: programs along the rows


def backward(x, w, dy):
    d, rows = x.shape[-1], dy.numel()
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    share = max(16, triton.cdiv(rows, MOST_PARTS))  # rows of a program
    parts = triton.cdiv(rows, share)
    triton_sum, torch_sum = _sum_type(x)
    partial = torch.empty(parts, d, dtype=torch_sum, device=x.device)
    if rows > 0 and d > 0:
        grid = lambda options: (triton.cdiv(d, options["COLUMNS"]), parts)  # noqa: E731
        _backward[grid](x, w, dy, dx, partial, rows, d, share, SUM=triton_sum)
    if d > 0:
        _add_up[(triton.cdiv(d, 64),)](partial, dw, parts, d, SUM=triton_sum, ROWS=32, COLUMNS=64)
    return dx, dw


class TorchBackward(torch.autograd.Function):
    """The forward by Triton, the backward by PyTorch."""

    @staticmethod
    def forward(context, x, w):
        context.save_for_backward(x, w)
        return forward(x, w)

    @staticmethod
    def backward(context, dy):
        x, w = context.saved_tensors
        dx = dy[..., None] * w
        dw = dy.reshape(-1) @ x.reshape(-1, x.shape[-1])
        return dx, dw


class TritonBackward(torch.autograd.Function):
    @staticmethod
    def forward(context, x, w):
        context.save_for_backward(x, w)
        return forward(x, w)

    @staticmethod
    def backward(context, dy):
        return backward(*context.saved_tensors, dy.contiguous())
