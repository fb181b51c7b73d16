/*
 * sin and cos of a double with the same bits on every device: reduction by fma_, and polynomials.
 * CUDA's own are approximations that no host library repeats. Proven for |x| <= 2^24, next to
 * multiples of pi/2 too: the relative error, u = 2^-53, of either is at most
 *
 *     turn_of  3.40 u  proofs/trig.gappa
 *
 * Inf and NaN give NaN, and sin(0) = 0, cos(0) = 1 exactly.
 */
#ifndef ASSAY_KERNELS_COMMON_TRIG_H
#define ASSAY_KERNELS_COMMON_TRIG_H

#include "kernels/common/numeric.h"

/* A point of the unit circle. */
struct turn {
    double cosine, sine;
};

/* 1.5 2^52 leaves a sum with it no bits behind the point, and the integer in its last bits. */
static constexpr double TRIG_ROUND = 0x1.8p52;

/* sin and cos of |r| <= pi/4 by their series to r^17 and r^16: the next terms are below 2^-62 of
 * them. */
static __device__ __forceinline__ double small_sine(double r, double square) {
    double p = 0x1.952c77030ad4ap-49; /* 1 / 17! */
    p = fma_(p, square, -0x1.ae7f3e733b81fp-41);
    p = fma_(p, square, 0x1.6124613a86d09p-33);
    p = fma_(p, square, -0x1.ae64567f544e4p-26);
    p = fma_(p, square, 0x1.71de3a556c734p-19);
    p = fma_(p, square, -0x1.a01a01a01a01ap-13);
    p = fma_(p, square, 0x1.1111111111111p-7);
    p = fma_(p, square, -0x1.5555555555555p-3);
    return fma_(p * square, r, r);
}

static __device__ __forceinline__ double small_cosine(double square) {
    double p = 0x1.ae7f3e733b81fp-45; /* 1 / 16! */
    p = fma_(p, square, -0x1.93974a8c07c9dp-37);
    p = fma_(p, square, 0x1.1eed8eff8d898p-29);
    p = fma_(p, square, -0x1.27e4fb7789f5cp-22);
    p = fma_(p, square, 0x1.a01a01a01a01ap-16);
    p = fma_(p, square, -0x1.6c16c16c16c17p-10);
    p = fma_(p, square, 0x1.5555555555555p-5);
    p = fma_(p, square, -0.5);
    return fma_(p, square, 1.0);
}

/* x = n pi/2 + r. pi/2 is in three parts. x minus n times the first is exact: all its bits are
 * multiples of 2^-53, and it is below 1. */
static __device__ __forceinline__ turn turn_of(double x) {
    const double rounded = fma_(x, 0x1.45f306dc9c883p-1, TRIG_ROUND); /* 2 / pi */
    const double n = rounded - TRIG_ROUND;
    double r = fma_(n, -0x1.921fb54442d18p+0, x);
    r = fma_(n, -0x1.1a62633145c07p-54, r);
    r = fma_(n, 0x1.f1976b7ed8fbcp-110, r);
    const double square = r * r;
    const double sine = small_sine(r, square), cosine = small_cosine(square);
    const long long quadrant = __double_as_longlong(rounded);
    const bool odd = (quadrant & 1) != 0;
    const double c = odd ? sine : cosine, s = odd ? cosine : sine;
    return {((quadrant + 1) & 2) != 0 ? -c : c, (quadrant & 2) != 0 ? -s : s};
}

#endif
