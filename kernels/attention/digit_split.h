/*
 * q, k and v of attention v3_bf16x6 as bf16 digits (kernels/common/bf16_digits.h) in workspace, and
 * which heads have none.
 *
 * Digits are not scaled. What a score loses where digits of q or k are subnormal is nothing beside
 * 1. v's numbers are from 2^LEAST to 2^MOST, or 0; a head of which one is not is marked, as is one
 * whose scores may be larger than MOST_SCORE, an Inf or a NaN: v3's multiply-adds compute it.
 */
#ifndef ASSAY_ATTENTION_DIGIT_SPLIT_H
#define ASSAY_ATTENTION_DIGIT_SPLIT_H

#include "kernels/attention/hopper_terms.h"
#include "kernels/common/bf16_digits.h"

enum {
    SPLIT_WARPS = 8,
    SPLIT_ROWS = 128, /* of a block, of one head */
    SPLIT_SIDES = 3,  /* q, k, v */
    LEAST = -46,
    MOST = 41,
};

/* Backward makes scores by multiply-adds, which are off by other errors; and what is left of a
 * score beside lse is as large as both. */
static constexpr float MOST_SCORE = 32;

/* Of a head: whether v has a number that has no digits, and the bits of the largest |q|² and |k|².
 */
struct head_marks {
    uint32_t v, q, k, unused;
};

static __device__ __forceinline__ bool is_marked(const head_marks &m, float scale) {
    const float most = MOST_SCORE / scale;
    const float q = __uint_as_float(m.q), k = __uint_as_float(m.k);
    return m.v != 0 || !(q * k <= most * most); /* NaN is not */
}

/* Digit g of column c of row r of a head lies at ((g heads + head) length + r) D + c. */
struct split_side {
    sequence<const float> x;
    bf16 *digits;
    int64_t chunks; /* of SPLIT_ROWS rows, of a head */
};

struct split_problem {
    int64_t heads;
    split_side side[SPLIT_SIDES];
    head_marks *marks;
};

static __global__ void forget_marks(head_marks *marks, int64_t heads) {
    for (int64_t i = grid_thread(); i < heads; i += grid_threads())
        marks[i] = {0, 0, 0, 0};
}

static __device__ __forceinline__ bool has_digits(float x) {
    const float size = fabsf(x);
    return size == 0 || (size >= __int_as_float((LEAST + 127) << 23) &&
                         size <= __int_as_float((MOST + 127) << 23));
}

struct alignas(8) four_digits {
    bf16 v[4];
};

/* A block splits SPLIT_ROWS rows of one side of one head; LANES lanes a row. */
template <int D>
static __global__ void __launch_bounds__(SPLIT_WARPS *WARP) split_heads(const split_problem p) {
    constexpr int LANES = D / 4, STEP_ROWS = SPLIT_WARPS * WARP / LANES;
    int64_t block = blockIdx.x;
    int which = 0;
    while (which < SPLIT_SIDES - 1 && block >= p.heads * p.side[which].chunks)
        block -= p.heads * p.side[which++].chunks;
    const split_side &side = p.side[which];
    const int64_t head = block / side.chunks, first = block % side.chunks * SPLIT_ROWS;
    const int64_t plane = p.heads * side.x.length * D;
    const int column = (int)threadIdx.x % LANES * 4;
    const sequence<const float> x = head_of(side.x, head);
    float largest = 0;
    bool bad = false;
    for (int i = (int)threadIdx.x / LANES; i < SPLIT_ROWS; i += STEP_ROWS) {
        const int64_t row = first + i;
        const bool inside = row < x.length;
        elements<float> e = {};
        if (inside)
            e = elements_at(x, row, column);
        float squares = 0;
        four_digits digits[DIGITS];
        UNROLL
        for (int c = 0; c < 4; ++c) {
            const digits_of split(e.v[c]);
            UNROLL
            for (int g = 0; g < DIGITS; ++g)
                digits[g].v[c] = split.digit[g];
            squares = fma_(e.v[c], e.v[c], squares);
            bad = bad || !has_digits(e.v[c]);
        }
        UNROLL
        for (int g = 0; g < DIGITS; ++g)
            if (inside)
                *reinterpret_cast<four_digits *>(
                    side.digits + (g * plane + (head * x.length + row) * D + column)) = digits[g];
        squares = sum_over<LANES>(squares);
        largest = largest >= squares ? largest : squares; /* NaN, too */
    }
    if (which == SPLIT_SIDES - 1) {
        if (__any_sync(UINT32_MAX, bad) && lane() == 0)
            atomicMax(&p.marks[head].v, 1u);
        return;
    }
    const float of_warp = LANES < WARP ? __shfl_xor_sync(UINT32_MAX, largest, WARP / 2) : largest;
    largest = largest >= of_warp ? largest : of_warp;
    if (lane() == 0)
        atomicMax(which == 0 ? &p.marks[head].q : &p.marks[head].k,
                  __float_as_uint(largest) & 0x7fffffff);
}

/* ---- the workspace ---- */

struct digit_space {
    size_t q, k, v, marks, bytes;
};

template <int D> static digit_space digit_space_of(const sizes &n) {
    const auto of_rows = [&](int64_t length) {
        return (size_t)(n.heads * length) * D * DIGITS * sizeof(bf16);
    };
    digit_space s = {};
    s.k = s.q + of_rows(n.sq);
    s.v = s.k + of_rows(n.sk);
    s.marks = s.v + of_rows(n.sk);
    s.bytes = s.marks + (size_t)n.heads * sizeof(head_marks);
    return s;
}

template <int D>
static assay_status split_all(const assay_call *call, const sizes &n, const digit_space &space) {
    const assay_tensor *in[SPLIT_SIDES] = {&call->in[0], &call->in[1], &call->in[2]};
    char *const base = static_cast<char *>(call->workspace);
    const size_t places[SPLIT_SIDES] = {space.q, space.k, space.v};
    split_problem p = {n.heads, {}, reinterpret_cast<head_marks *>(base + space.marks)};
    int64_t blocks = 0;
    for (int i = 0; i < SPLIT_SIDES; ++i) {
        const sequence<const float> x = sequence_of<const float>(in[i]);
        p.side[i] = {x, reinterpret_cast<bf16 *>(base + places[i]),
                     ceil_div(x.length, SPLIT_ROWS)};
        blocks += n.heads * p.side[i].chunks;
    }
    assay_status status = ASSAY_LAUNCH(call->stream, linear_grid(n.heads, WARP), dim3(WARP), 0,
                                       forget_marks, p.marks, n.heads);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, whole_grid(blocks), dim3(SPLIT_WARPS * WARP), 0,
                              (split_heads<D>), p);
    return status;
}

#endif
