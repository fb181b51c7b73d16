/*
 * exp, exp2 and log of a float with the same bits on every device: range reduction, polynomials by
 * fma_, and powers of two by their bits. CUDA's own are approximations that no host library
 * repeats. Proven from this source, and compared with this table, by tests/proofs/proofs_test.sh:
 * the relative error, u = 2^-24, before the last rounding of a subnormal result, is at most
 *
 *     exp_          1.54 u  proofs/exp.gappa
 *     exp2_         1.54 u  proofs/exp2.gappa
 *     exp2_product  1.72 u  proofs/exp2_product.gappa
 *     log_          1.50 u  for x in [sqrt(1/2), sqrt(2)): proofs/log.gappa
 *     log_          2.49 u  elsewhere: proofs/log.gappa
 *
 * Every input has the result that C demands: exp of -Inf is 0, of +Inf and beyond the range Inf;
 * log of 0 is -Inf, of less NaN; NaN stays NaN. Small results underflow gradually, with one
 * rounding. exp_(0) = exp2_(0) = 1 and log_(1) = 0 exactly. No branches.
 *
 * The polynomials are minimax in relative error, by Remez's exchange algorithm; their coefficients
 * were then rounded to fp32. What that leaves of error, in units of 2^-24: 0.06 (exp), 0.27 (exp2),
 * 0.11 (log).
 */
#ifndef ASSAY_KERNELS_COMMON_EXP_H
#define ASSAY_KERNELS_COMMON_EXP_H

#include "kernels/common/numeric.h"

/* The last bits of x + EXP_ROUND hold n + 191, where n is x rounded to an integer: 1.5 2^23 leaves
 * the sum no bits behind the point, on either side of zero. 191 - 127 = 64. */
static constexpr float EXP_ROUND = 0x1.8p23f + 191;

/* log 2 in two parts; the first has 11 trailing zero bits, so that n times it is exact. */
static constexpr float LN2_HIGH = 0x1.62e4p-1f, LN2_LOW = 0x1.7f7d1cp-20f;

/* A NaN passes, unlike through fminf and fmaxf. */
static __device__ __forceinline__ float exp_clamp(float x, float low, float high) {
    const float raised = x < low ? low : x;
    return raised > high ? high : raised;
}

/* value 2^n for value in [1/2, 2] and n in [-151, 129], with `rounded` = n + EXP_ROUND. 2^n may lie
 * beyond fp32's exponents; 2^(n + 64) does not, or, where `up`, 2^(n - 64). NaN stays NaN. */
static __device__ __forceinline__ float exp_scale(float value, float rounded, bool up) {
    const unsigned power = (__float_as_uint(rounded) << 23) - (up ? 128u << 23 : 0);
    return value * __uint_as_float(power) * (up ? 0x1p64f : 0x1p-64f);
}

/* 2^r for |r| <= 1/2. */
static __device__ __forceinline__ float exp2_polynomial(float r) {
    float p = 0x1.41fbdcp-13f;
    p = fma_(p, r, 0x1.5f3e2p-10f);
    p = fma_(p, r, 0x1.3b2d4cp-7f);
    p = fma_(p, r, 0x1.c6aee8p-5f);
    p = fma_(p, r, 0x1.ebfbdcp-3f);
    p = fma_(p, r, 0x1.62e43p-1f);
    return fma_(p, r, 1.0f);
}

static __device__ __forceinline__ float exp2_(float x) {
    const float y = exp_clamp(x, -151.0f, 129.0f);
    const float rounded = y + EXP_ROUND, n = rounded - EXP_ROUND, r = y - n;
    return exp_scale(exp2_polynomial(r), rounded, y > 0.0f);
}

/* 2^(x factor) for x factor < 63, as in a softmax, where x <= 0: 14 operations, 6 fewer than exp2_,
 * whose bits it has where factor is 1. `least` is -151/factor. The product is not rounded before it
 * is reduced. */
static __device__ __forceinline__ float exp2_product(float x, float factor, float least) {
    const float y = x < least ? least : x;
    const float rounded = fma_(y, factor, EXP_ROUND), n = rounded - EXP_ROUND;
    const float r = fma_(y, factor, -n);
    return exp_scale(exp2_polynomial(r), rounded, false);
}

/* e^x for x < 43, as cheap: 1/log 2 is rounded once, so that the result is off by |x| 2^-25 of
 * itself beside the error of exp2_. */
static __device__ __forceinline__ float exp_nonpositive(float x) {
    return exp2_product(x, 0x1.715476p+0f, -0x1.a2ap+6f);
}

/* e^x = 2^n e^r with r = x - n log 2, |r| <= log(2) / 2. */
static __device__ __forceinline__ float exp_(float x) {
    const float y = exp_clamp(x, -104.0f, 89.0f);
    const float rounded = fma_(y, 0x1.715476p+0f, EXP_ROUND); /* 1 / log 2 */
    const float n = rounded - EXP_ROUND;
    const float r = fma_(n, -LN2_LOW, fma_(n, -LN2_HIGH, y));
    float p = 0x1.6a2472p-10f;
    p = fma_(p, r, 0x1.1239bcp-7f);
    p = fma_(p, r, 0x1.5558fp-5f);
    p = fma_(p, r, 0x1.555492p-3f);
    p = fma_(p, r, 0x1.fffffcp-2f);
    p = fma_(p, r, 1.0f);
    p = fma_(p, r, 1.0f);
    return exp_scale(p, rounded, y > 0.0f);
}

/* log x = n log 2 + log m with x = 2^n m, m in [sqrt(1/2), sqrt(2)), and
 * log(1 + f) = f - f^2 / 2 + f^3 p(f). */
static __device__ __forceinline__ float log_(float x) {
    const bool subnormal = x < 0x1p-126f;
    const unsigned least = 0x3f3504f3; /* the bits of sqrt(1/2) */
    const unsigned bits = __float_as_uint(subnormal ? x * 0x1p32f : x) - least;
    const float n = (float)(((int)bits >> 23) - (subnormal ? 32 : 0));
    const float f = __uint_as_float((bits & 0x7fffff) + least) - 1.0f;
    const float square = f * f;
    float p = -0x1.38aabcp-4f;
    p = fma_(p, f, 0x1.05534cp-3f);
    p = fma_(p, f, -0x1.0d8366p-3f);
    p = fma_(p, f, 0x1.22db1p-3f);
    p = fma_(p, f, -0x1.54728ap-3f);
    p = fma_(p, f, 0x1.99ap-3f);
    p = fma_(p, f, -0x1.000226p-2f);
    p = fma_(p, f, 0x1.555554p-2f);
    p = fma_(p, f * square, n * LN2_LOW);
    p = fma_(n, LN2_HIGH, fma_(-0.5f, square, p) + f);
    const float infinity = __uint_as_float(0x7f800000), nan = __uint_as_float(0x7fffffff);
    return x > 0.0f && x < infinity ? p : x == 0.0f ? -infinity : x == infinity ? infinity : nan;
}

#endif
