"""The forward of attention in Triton, after FlashAttention-2 (Dao, 2023): a program keeps a block
of queries, goes through the keys block by block, and rescales what it has when it finds a new
maximum. Exponentials are those of base 2. Every tail is masked, and only where there is one.
"""

import math

import torch
import triton
import triton.language as tl

from tuning import tuned


@triton.jit
def _keys(
    q, k, v, most, total, o, row, start, end, scale, sk, lead,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
    D: tl.constexpr, WIDTH: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Adds keys start..end-1. MASKED: some may be hidden, or lie beyond the last."""
    column = tl.arange(0, WIDTH)
    for first in range(start, end, KEYS):
        key = first + tl.arange(0, KEYS)
        at = key[:, None].to(tl.int64) * D + column[None, :]
        inside = (column < D)[None, :]
        if MASKED:
            inside = inside & (key < sk)[:, None]
        keys = tl.load(k + at, mask=inside, other=0)
        scores = tl.dot(q, tl.trans(keys), input_precision=PRECISION) * scale
        if MASKED:
            visible = (key < sk)[None, :]
            if CAUSAL:
                visible = visible & (key[None, :] <= row[:, None] + lead)
            scores = tl.where(visible, scores, -float("inf"))
        new = tl.maximum(most, tl.max(scores, 1))
        safe = tl.where(new == -float("inf"), 0.0, new)  # a row that has seen no key yet
        p = tl.exp2(scores - safe[:, None])
        keep = tl.exp2(most - safe)
        total = total * keep + tl.sum(p, 1)
        o = o * keep[:, None]
        values = tl.load(v + at, mask=inside, other=0)
        o = tl.dot(p.to(values.dtype), values, o, input_precision=PRECISION)
        most = new
    return most, total, o


@triton.jit
def _attention(
    q, k, v, o, lse, scale, sq, sk,
    CAUSAL: tl.constexpr, PRECISION: tl.constexpr, D: tl.constexpr, WIDTH: tl.constexpr,
    QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    if CAUSAL:  # the longest first
        block = tl.num_programs(0) - 1 - block
    head = tl.program_id(1).to(tl.int64)
    lead = sk - sq  # query i sees keys up to i + lead
    row = block * QUERIES + tl.arange(0, QUERIES)
    column = tl.arange(0, WIDTH)
    at = (head * sq + row)[:, None] * D + column[None, :]
    inside = (row < sq)[:, None] & (column < D)[None, :]
    queries = tl.load(q + at, mask=inside, other=0)
    k += head * sk * D
    v += head * sk * D
    end = sk
    clear = sk // KEYS * KEYS  # before it nothing is masked
    if CAUSAL:
        end = tl.maximum(0, tl.minimum(sk, (block + 1) * QUERIES + lead))
        clear = tl.maximum(0, tl.minimum(sk, block * QUERIES + lead + 1)) // KEYS * KEYS
    most = tl.full((QUERIES,), -float("inf"), tl.float32)
    total = tl.zeros((QUERIES,), tl.float32)
    sums = tl.zeros((QUERIES, WIDTH), tl.float32)
    most, total, sums = _keys(
        queries, k, v, most, total, sums, row, 0, clear, scale, sk, lead,
        False, CAUSAL, PRECISION, D, WIDTH, KEYS,
    )  # fmt: skip
    most, total, sums = _keys(
        queries, k, v, most, total, sums, row, clear, end, scale, sk, lead,
        True, CAUSAL, PRECISION, D, WIDTH, KEYS,
    )  # fmt: skip
    sums /= tl.where(total == 0, 1.0, total)[:, None]
    tl.store(o + at, sums.to(queries.dtype), mask=inside)
    LN2: tl.constexpr = 0.6931471805599453
    tl.store(lse + head * sq + row, (most + tl.log2(total)) * LN2, mask=row < sq)


KEY, NAMES = ["sq", "sk", "D", "CAUSAL"], ("QUERIES", "KEYS")
_on_tensor_cores = tuned(
    KEY, NAMES, (128, 128, 8, 2), (128, 64, 8, 3), (128, 64, 4, 2), (64, 64, 4, 3), (64, 32, 4, 2)
)(_attention)
# Strict fp32 runs on none: larger tiles only spill, and take minutes to compile.
_on_cores = tuned(KEY, NAMES, (64, 32, 4, 2), (32, 32, 4, 2), (64, 32, 8, 1), (32, 16, 4, 2))(
    _attention
)


def forward(q, k, v, causal, tf32):
    b, h, sq, d = q.shape
    o, lse = torch.empty_like(q), q.new_empty(b, h, sq, dtype=torch.float32)
    grid = lambda options: (triton.cdiv(sq, options["QUERIES"]), b * h)  # noqa: E731
    strict = q.dtype == torch.float32 and not tf32
    kernel = _on_cores if strict else _on_tensor_cores
    kernel[grid](
        q, k, v, o, lse, math.log2(math.e) / math.sqrt(d), sq, k.shape[2],
        CAUSAL=causal, PRECISION="tf32" if tf32 else "ieee", D=d,
        WIDTH=max(16, triton.next_power_of_2(d)),
    )  # fmt: skip
    return o, lse
