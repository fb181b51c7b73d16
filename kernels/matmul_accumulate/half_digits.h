/*
 * fp32 numbers as two fp16 digits: x = h + 2^-11 l + e, of a line whose largest number is scaled to
 * [2^HALF_TOP, 2^(HALF_TOP + 1)). h is x rounded to nearest, and l what is left, times 2^LOW, which
 * keeps it clear of fp16's subnormals. What is left has 13 bits with its sign, so that
 *
 *     |l 2^-11| <= 2^-11 |x|,    |e| <= 2^-23 |x|    from SMALL on
 *
 * Smaller numbers lose more: of each of them h, l and how tensor cores align their products lose
 * less than 2^-32 of the other factor (docs/numerics.md). A line counts those that are not 0; the
 * products of few of them are little of most sums, and is_proven() tells of which.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_HALF_DIGITS_H
#define ASSAY_MATMUL_ACCUMULATE_HALF_DIGITS_H

#include "kernels/matmul_accumulate/digits.h"

constexpr int HALF_TOP = 14;
constexpr int LOW = 11;
constexpr float SMALL = 0x1p-13f;
constexpr float SMALL_SHARE =
    16; /* of a sum, for each small number: 8 u of it is what that loses */

struct f16x3 {
    typedef __half digit;
    typedef __half2 pair;
    static constexpr int digits = 2, shift = TOP - HALF_TOP;
    static constexpr bool exact = false;

    static __host__ __device__ constexpr int in_order(int i) {
        return i;
    }

    static __device__ __forceinline__ void split(float scaled, digit (&to)[digits]) {
        to[0] = __float2half_rn(scaled);
        to[1] = __float2half_rn((scaled - __half2float(to[0])) * (float)(1 << LOW));
    }

    /* Adds the warp's small numbers of a line to *small. */
    static __device__ __forceinline__ void count_small(const float (&x)[2], int32_t *small) {
        int count = 0;
#pragma unroll
        for (int i = 0; i < 2; ++i)
            count += __popc(__ballot_sync(0xffffffffu, x[i] != 0 && fabsf(x[i]) < SMALL));
        if (count > 0 && threadIdx.x % 32 == 0)
            atomicAdd(small, count);
    }
};

/* Whether a sum of scaled products of lines with so many small numbers is as good as fp32's. */
static __device__ __forceinline__ bool is_proven(float sum, int32_t left, int32_t right) {
    return fabsf(sum) >= SMALL_SHARE * (float)(left + right);
}

#endif
