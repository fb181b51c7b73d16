/*
 * Products of bf16 digits in attention v3_bf16x6 and v3_bf16x3. With x = x0 + x1 + x2 a product x·y
 * is made of six
 *
 *     x0·y2 + x1·y1 + x2·y0 + x1·y0 + x0·y1 + x0·y0
 *
 * in this order, the small ones first, for the tensor core cuts what it aligns toward zero. With x
 * = x0 + x1 it is made of x0·y1 + x1·y0 + x0·y0.
 */
#ifndef ASSAY_ATTENTION_DIGIT_PRODUCTS_H
#define ASSAY_ATTENTION_DIGIT_PRODUCTS_H

#include "kernels/attention/hopper_core.h"
#include "kernels/common/bf16_digits.h"

/* The unit that comes so many behind another, a round at the most. */
template <int UNITS>
static __device__ __forceinline__ ring_place<UNITS> units_behind(const ring_place<UNITS> &ring,
                                                                 int count) {
    const int stage = ring.stage + count;
    return stage < UNITS ? ring_place<UNITS>{stage, ring.round}
                         : ring_place<UNITS>{stage - UNITS, ring.round ^ 1};
}

/* How numbers are taken apart: N digits of bf16; for scores OF_SCORES, where one is the number
 * times HALF_SCALE in f16, before the digits, whose FIRST plane is behind it. PARTS: whether sums
 * of a tile begin at 0 and are added in fp32. */
struct strict_digits {
    static constexpr int N = 3, OF_SCORES = 3, FIRST = 0;
    static constexpr bool PARTS = true;
};
struct tf32_digits {
    static constexpr int N = 2, OF_SCORES = 1, FIRST = 1;
    static constexpr bool PARTS = false;
};
static constexpr float HALF_SCALE = 256;

/* multiply(g, h, first) begins that of digits g and h. */
template <int N_DIGITS, typename Multiply>
static __device__ __forceinline__ void digit_products(Multiply multiply) {
    if constexpr (N_DIGITS == 3) {
        multiply(0, 2, true);
        multiply(1, 1, false);
        multiply(2, 0, false);
        multiply(1, 0, false);
        multiply(0, 1, false);
    } else if constexpr (N_DIGITS == 2) {
        multiply(0, 1, true);
        multiply(1, 0, false);
    }
    multiply(0, 0, N_DIGITS == 1);
}

/* Sums of scores, or of do·v: a slice of 64 columns each, so that what is cut of one is cut of few
 * products. */
template <int COLUMNS, int N, int N_DIGITS> struct sliced_sums {
    static constexpr int SLICES = N_DIGITS == 3 ? (COLUMNS + BOX - 1) / BOX : 1;
    hopper_sums<N> of[SLICES];

    /* Adds a bᵀ of one digit each, or begins with it. */
    __device__ __forceinline__ void multiply(uint32_t a, uint32_t b, bool first) {
        const uint64_t left = wgmma_descriptor(a, 0), right = wgmma_descriptor(b, 0);
        UNROLL
        for (int i = 0; i < COLUMNS / STEP; ++i) {
            const int box = i * STEP / BOX, step = i % (BOX / STEP), inside = step * BOX_STEP;
            wgmma<std::conditional_t<N_DIGITS == 1, __half, bf16>, false, false>(
                of[box % SLICES].value, left + box * GROUP_ROWS * TENSOR_LINE_BYTES / 16 + inside,
                right + box * N * TENSOR_LINE_BYTES / 16 + inside,
                !first || step > 0 || box >= SLICES);
        }
    }

    /* Behind the wait. */
    __device__ __forceinline__ hopper_sums<N> &total() {
        UNROLL
        for (int slice = 0; slice < SLICES; ++slice)
            wgmma_results(of[slice].value);
        UNROLL
        for (int slice = 1; slice < SLICES; ++slice) {
            UNROLL
            for (int i = 0; i < N / 2; ++i)
                of[0].value[i] += of[slice].value[i];
        }
        return of[0];
    }
};

/* x += p b, or =. */
template <int STEPS, int N>
static __device__ __forceinline__ void
multiply_values(hopper_sums<N> &x, const uint32_t (&p)[STEPS][4], uint32_t b, bool first) {
    const uint64_t right = wgmma_descriptor(b, STEPS * STEP * TENSOR_LINE_BYTES);
    UNROLL
    for (int i = 0; i < STEPS; ++i)
        wgmma<bf16, true>(x.value, p[i], right + i * LINE_STEP, !first || i > 0);
}

/* What a product of q and k as numbers of f16 is to be multiplied by. */
template <typename Digits>
static constexpr float SCORE_UNIT = Digits::OF_SCORES == 1 ? 1 / (HALF_SCALE * HALF_SCALE) : 1;

/* The digits of 64 x N weights as left operands, of which the sums of two wgmmas' columns are one.
 */
template <int N_DIGITS, int N>
static __device__ __forceinline__ void split_sums(uint32_t (&p)[N_DIGITS][N / STEP][4],
                                                  const hopper_sums<N> &s) {
    UNROLL
    for (int i = 0; i < N / STEP; ++i) {
        UNROLL
        for (int j = 0; j < 4; ++j) {
            float low = s.value[8 * i + 2 * j], high = s.value[8 * i + 2 * j + 1];
            UNROLL
            for (int g = 0; g < N_DIGITS; ++g) {
                const uint32_t pair = pair_bits(low, high, bf16());
                p[g][i][j] = pair;
                low -= __uint_as_float(pair << 16);
                high -= __uint_as_float(pair & 0xffff0000u);
            }
        }
    }
}

/* The sum of a number's digits, the lower or the upper of a pair; the number itself where they are
 * three. */
template <int N_DIGITS, int STEPS>
static __device__ __forceinline__ float joined(const uint32_t (&p)[N_DIGITS][STEPS][4], int step,
                                               int i, bool upper) {
    float sum = 0;
    UNROLL
    for (int g = N_DIGITS - 1; g >= 0; --g)
        sum += __uint_as_float(upper ? p[g][step][i] & 0xffff0000u : p[g][step][i] << 16);
    return sum;
}

#endif
