/*
 * q, k, v and do of attention v3_bf16x6 and v3_bf16x3 as bf16 digits (kernels/common/bf16_digits.h)
 * in workspace, and which heads have none. v3_bf16x3's scores are of f16: there q and k have a
 * plane of that type, and backward digits behind it.
 *
 * Digits are not scaled. A head is marked, and v3's multiply-adds compute it, of which a number is
 * not 0 and not from 2^LEAST to 2^MOST, or whose scores may be larger than MOST_SCORE. What tensor
 * cores cut is never away from zero. Where one term is most of every score, all scores of a row are
 * off by the same 2 u or so of themselves, and so is lse: beside large scores that is more than a
 * chain of multiply-adds is off by, in the mean of many keys.
 */
#ifndef ASSAY_ATTENTION_DIGIT_SPLIT_H
#define ASSAY_ATTENTION_DIGIT_SPLIT_H

#include "kernels/attention/digit_products.h"
#include "kernels/attention/hopper_terms.h"
#include "kernels/common/bf16_digits.h"

enum {
    SPLIT_WARPS = 8,
    SPLIT_ROWS = 128, /* of a block, of one head */
    SPLIT_SIDES = 4,  /* q, k, v, do */
    LEAST = -46,
    MOST = 41,
};

static constexpr float MOST_SCORE = 32, MOST_SQUARES = 32768;

/* Of a head: whether a number has no digits, and the bits of the largest |q|² and |k|². */
struct head_marks {
    unsigned bad, q, k, unused;
};

template <typename Digits>
static __device__ __forceinline__ bool is_marked(const head_marks *marks, int64_t head,
                                                 float scale) {
    const float most = MOST_SCORE / scale;
    const float q = __uint_as_float(marks[head].q), k = __uint_as_float(marks[head].k);
    const bool small = Digits::OF_SCORES == 1 ? q + k <= MOST_SQUARES : q * k <= most * most;
    return marks[head].bad != 0 || !small; /* NaN is not */
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
    int sides;
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
template <typename Digits, int D>
static __global__ void __launch_bounds__(SPLIT_WARPS *WARP) split_heads(const split_problem p) {
    constexpr int LANES = D / 4, STEP_ROWS = SPLIT_WARPS * WARP / LANES;
    int64_t block = blockIdx.x;
    int which = 0;
    while (which < p.sides - 1 && block >= p.heads * p.side[which].chunks)
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
        four_digits digits[Digits::N], halves;
        UNROLL
        for (int c = 0; c < 4; ++c) {
            const digits_of split(e.v[c]);
            UNROLL
            for (int g = 0; g < Digits::N; ++g)
                digits[g].v[c] = split.digit[g];
            const __half half = __float2half_rn(e.v[c] * HALF_SCALE);
            memcpy(&halves.v[c], &half, sizeof half);
            squares = fma_(e.v[c], e.v[c], squares);
            bad = bad || !has_digits(e.v[c]);
        }
        const bool is_score = Digits::OF_SCORES == 1 && which < 2;
        const auto keep = [&](int g, const four_digits &d) {
            *reinterpret_cast<four_digits *>(
                side.digits + (g * plane + (head * x.length + row) * D + column)) = d;
        };
        if (inside && is_score)
            keep(0, halves);
        UNROLL
        for (int g = 0; g < Digits::N; ++g)
            if (inside && (!is_score || p.sides == SPLIT_SIDES))
                keep(is_score ? Digits::FIRST + g : g, digits[g]);
        squares = sum_over<LANES>(squares);
        largest = squares > largest ? squares : largest; /* NaN is bad, too */
    }
    largest =
        LANES < WARP ? fmaxf(largest, __shfl_xor_sync(UINT32_MAX, largest, WARP / 2)) : largest;
    head_marks *const marks = p.marks + head;
    if (__any_sync(UINT32_MAX, bad) && lane() == 0)
        atomicMax(&marks->bad, 1u);
    if (which < 2 && lane() == 0)
        atomicMax(which == 0 ? &marks->q : &marks->k, __float_as_uint(largest));
}

/* ---- the workspace ---- */

/* Of a side: digits, or f16, or both. */
template <typename Digits> static constexpr int planes_of(int side, int sides) {
    return side > 1               ? Digits::N
           : sides == SPLIT_SIDES ? Digits::FIRST + Digits::N
                                  : Digits::OF_SCORES;
}

/* From `begin` on. */
struct digit_space {
    size_t side[SPLIT_SIDES], marks, bytes;
};

template <typename Digits, int D>
static digit_space digit_space_of(const sizes &n, int sides, size_t begin) {
    digit_space s = {};
    s.bytes = (begin + 255) / 256 * 256;
    for (int i = 0; i < sides; ++i) {
        s.side[i] = s.bytes;
        s.bytes += (size_t)(n.heads * (i == 1 || i == 2 ? n.sk : n.sq)) * D *
                   planes_of<Digits>(i, sides) * sizeof(bf16);
    }
    s.marks = s.bytes;
    s.bytes += (size_t)n.heads * sizeof(head_marks);
    return s;
}

template <typename Digits, int D>
static assay_status split_all(const assay_call *call, const tensors &t, int64_t heads, int sides,
                              const digit_space &space) {
    const assay_tensor *in[SPLIT_SIDES] = {t.q, t.k, t.v, t.dout};
    char *const base = static_cast<char *>(call->workspace);
    split_problem p = {heads, {}, sides, reinterpret_cast<head_marks *>(base + space.marks)};
    int64_t blocks = 0;
    for (int i = 0; i < sides; ++i) {
        const sequence<const float> x = sequence_of<const float>(in[i]);
        p.side[i] = {x, reinterpret_cast<bf16 *>(base + space.side[i]),
                     ceil_div(x.length, SPLIT_ROWS)};
        blocks += heads * p.side[i].chunks;
    }
    assay_status status = ASSAY_LAUNCH(call->stream, linear_grid(heads, WARP), dim3(WARP), 0,
                                       forget_marks, p.marks, heads);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, whole_grid(blocks), dim3(SPLIT_WARPS * WARP), 0,
                              (split_heads<Digits, D>), p);
    return status;
}

/* A map of a side's digits, plane g heads + head digit g of a head. */
template <int D>
static assay_status map_digits(const assay_call *call, size_t at, int planes, int64_t heads,
                               int64_t length, int32_t box_lines, tensor_map *map) {
    const tensor_lines lines = {static_cast<char *>(call->workspace) + at,
                                D,
                                length,
                                D,
                                box_lines,
                                planes * heads,
                                length * D};
    return make_tensor_map(map, &lines);
}

#endif
