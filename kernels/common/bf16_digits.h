/*
 * fp32 numbers as three bf16 digits: x·2^s = d0 + d1 + d2, exactly.
 *
 * A line is all numbers that a sum of products takes of one operand. They are scaled by a power of
 * two, 2^s, that brings the largest to [2^TOP, 2^(TOP + 1)). d0 is x·2^s rounded to nearest, d1
 * what is left, rounded, and d2 the rest, which 8 bits hold. So
 *
 *     |d1| <= 2^-8 |x·2^s|,    |d2| <= 2^-17 |x·2^s|
 *
 * A line is marked, and has no digits, where it holds an Inf or a NaN, or where its largest number
 * and its smallest, but for zeros, are more than MOST_BINADES binades apart. All numbers of the
 * others are from 2^-46 to 2^41 after scaling, their last bits not below 2^-69. So a digit is
 * normal or 0, a product of two digits is a multiple of 2^-138, which fp32's subnormals have, and
 * 2^31 of them are less than 2^114: a sum neither underflows nor overflows.
 */
#ifndef ASSAY_KERNELS_COMMON_BF16_DIGITS_H
#define ASSAY_KERNELS_COMMON_BF16_DIGITS_H

#include "kernels/common/exp64.h"
#include "kernels/common/hopper.h"

typedef __nv_bfloat16 bf16;

constexpr int DIGITS = 3;
constexpr int TOP = 40;
constexpr int MOST_BINADES = 86;
constexpr int MARKED = INT32_MIN; /* in place of a power */
constexpr int FEWEST_K = 64; /* below, docs/numerics.md does not prove six products within bounds */

/* Of a line, the bits of |x|; those of the smallest less 1, so that zeros are not it. */
struct extremes {
    uint32_t largest = 0, smallest = UINT32_MAX;

    __device__ __forceinline__ void add(float x) {
        const uint32_t bits = __float_as_uint(x) & 0x7fffffff, less = bits - 1;
        largest = bits > largest ? bits : largest;
        smallest = less < smallest ? less : smallest;
    }
    /* Over LANES neighbours of a warp; each of them gets them. */
    template <int LANES> __device__ __forceinline__ void meet() {
        for (int offset = LANES / 2; offset > 0; offset /= 2) {
            const uint32_t high = __shfl_xor_sync(0xffffffffu, largest, offset);
            const uint32_t low = __shfl_xor_sync(0xffffffffu, smallest, offset);
            largest = high > largest ? high : largest;
            smallest = low < smallest ? low : smallest;
        }
    }
};

/* Of the leading bit of |x|, whose bits these are; not of 0, Inf and NaN. */
static __device__ __forceinline__ int32_t exponent_of(uint32_t bits) {
    return bits < 0x00800000 ? -118 - __clz((int)bits) : (int32_t)(bits >> 23) - 127;
}

/* What brings the digits of a line of such extremes back; the smallest less 1, as above. */
static __device__ __forceinline__ int32_t power_of(uint32_t largest, uint32_t smallest) {
    if (largest == 0)
        return 0;
    if (largest >= 0x7f800000 || exponent_of(largest) - exponent_of(smallest + 1) > MOST_BINADES)
        return MARKED;
    return exponent_of(largest) - TOP;
}

struct digits_of {
    bf16 digit[DIGITS];

    __device__ __forceinline__ explicit digits_of(float scaled) {
#pragma unroll
        for (int g = 0; g < DIGITS; ++g) {
            digit[g] = __float2bfloat16_rn(scaled);
            scaled -= __bfloat162float(digit[g]);
        }
    }
};

/* The sum of scaled numbers' products as one of the numbers' own: rounded where it is subnormal. */
static __device__ __forceinline__ float unscale(float sum, int32_t power) {
    return (float)(sum * power_of_two(power)); /* which fp32 may not have */
}

#endif
