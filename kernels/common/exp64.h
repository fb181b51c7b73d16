/*
 * exp.h's exp_ and log_ for doubles, likewise with the same bits on every device, and proven
 * likewise: the relative error, u = 2^-53, before the last rounding of a subnormal result, is at
 * most
 *
 *     exp_  1.49 u  proofs/exp64.gappa
 *     log_  1.76 u  for x in [sqrt(1/2), sqrt(2)): proofs/log64.gappa
 *     log_  2.64 u  elsewhere: proofs/log64.gappa
 *
 * Every input has the result that C demands; exp_(0) = 1 and log_(1) = 0 exactly.
 */
#ifndef ASSAY_KERNELS_COMMON_EXP64_H
#define ASSAY_KERNELS_COMMON_EXP64_H

#include "kernels/common/numeric.h"

/* 1.5 2^52 leaves a sum with it no bits behind the point, on either side of zero. */
static constexpr double EXP64_ROUND = 0x1.8p52;

/* log 2 in two parts; the first has 20 trailing zero bits, so that n times it is exact. */
static constexpr double LN2_HIGH64 = 0x1.62e42fefp-1, LN2_LOW64 = 0x1.473de6af278edp-34;

/* 2^n for n in [-1022, 1023]. */
static __device__ __forceinline__ double power_of_two(int n) {
    return __longlong_as_double((long long)(n + 1023) << 52);
}

/* e^x = 2^n e^r with r = x - n log 2, |r| <= log(2) / 2, and e^r by its series to r^13: the next
 * term is below 2^-57 of it. 2^n may lie beyond the exponents, 2^(n/2) does not. */
static __device__ __forceinline__ double exp_(double x) {
    const double raised = x < -746.0 ? -746.0 : x, y = raised > 710.0 ? 710.0 : raised;
    const double rounded = fma_(y, 0x1.71547652b82fep+0, EXP64_ROUND); /* 1 / log 2 */
    const double n = rounded - EXP64_ROUND;
    const double r = fma_(n, -LN2_LOW64, fma_(n, -LN2_HIGH64, y));
    double p = 0x1.6124613a86d09p-33; /* 1 / 13! */
    p = fma_(p, r, 0x1.1eed8eff8d898p-29);
    p = fma_(p, r, 0x1.ae64567f544e4p-26);
    p = fma_(p, r, 0x1.27e4fb7789f5cp-22);
    p = fma_(p, r, 0x1.71de3a556c734p-19);
    p = fma_(p, r, 0x1.a01a01a01a01ap-16);
    p = fma_(p, r, 0x1.a01a01a01a01ap-13);
    p = fma_(p, r, 0x1.6c16c16c16c17p-10);
    p = fma_(p, r, 0x1.1111111111111p-7);
    p = fma_(p, r, 0x1.5555555555555p-5);
    p = fma_(p, r, 0x1.5555555555555p-3);
    p = fma_(p, r, 0.5);
    p = fma_(p, r, 1.0);
    p = fma_(p, r, 1.0);
    if (!(y == y))
        return y;
    const int half = (int)n / 2;
    return p * power_of_two(half) * power_of_two((int)n - half);
}

/* log x = n log 2 + log m with x = 2^n m, m in [sqrt(1/2), sqrt(2)). With f = m - 1 and
 * s = f / (2 + f), log m = 2 atanh s = f - s (f - t), where t = 2 s^2 / 3 + 2 s^4 / 5 + … */
static __device__ __forceinline__ double log_(double x) {
    const bool subnormal = x < 0x1p-1022;
    const unsigned long long least = 0x3fe6a09e667f3bcd; /* the bits of sqrt(1/2) */
    const unsigned long long bits =
        (unsigned long long)__double_as_longlong(subnormal ? x * 0x1p64 : x) - least;
    const double n = (double)((int)((long long)bits >> 52) - (subnormal ? 64 : 0));
    const double f = __longlong_as_double((long long)((bits & 0xfffffffffffff) + least)) - 1.0;
    const double s = f / (2.0 + f), square = s * s;
    double t = 2.0 / 21;
    t = fma_(t, square, 2.0 / 19);
    t = fma_(t, square, 2.0 / 17);
    t = fma_(t, square, 2.0 / 15);
    t = fma_(t, square, 2.0 / 13);
    t = fma_(t, square, 2.0 / 11);
    t = fma_(t, square, 2.0 / 9);
    t = fma_(t, square, 2.0 / 7);
    t = fma_(t, square, 2.0 / 5);
    t = fma_(t, square, 2.0 / 3) * square;
    const double log = fma_(n, LN2_HIGH64, f - (s * (f - t) - n * LN2_LOW64));
    const double infinity = __longlong_as_double(0x7ff0000000000000);
    const double nan = __longlong_as_double(0x7fffffffffffffff);
    return x > 0.0 && x < infinity ? log : x == 0.0 ? -infinity : x == infinity ? infinity : nan;
}

#endif
