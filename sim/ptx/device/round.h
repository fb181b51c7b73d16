/*
 * Rounding. Exact results, or such with a last bit that stands for all that was cut off (rounding
 * to odd: Boldo and Melquiond, 2008), are kept in fp64 and rounded once, in any mode.
 */
#ifndef ASSAY_SIM_PTX_DEVICE_ROUND_H
#define ASSAY_SIM_PTX_DEVICE_ROUND_H

#include "sim/ptx/device/base.h"

/* The neighbour of `nearest` with an odd last bit, where the exact number differs from it by
 * something of the sign of `rest`. */
PLAIN double to_odd(double nearest, double rest) {
    const uint64_t bits = bits64(nearest);
    if (rest == 0 || rest != rest || (bits & 1) != 0 ||
        (bits & UINT64_C(0x7ff0000000000000)) == UINT64_C(0x7ff0000000000000))
        return nearest;
    return double_of((rest > 0) == (nearest > 0) ? bits | 1 : bits - 1);
}
/* Exact zeros get their sign from the mode. */
PLAIN double odd_sum(double a, double b, ptx_rounding mode) {
    const double sum = a + b, part = sum - a, rest = (a - (sum - part)) + (b - part);
    if (sum == 0 && mode == RM && __builtin_signbit(a) != __builtin_signbit(b))
        return -0.0;
    return to_odd(sum, rest);
}
PLAIN double odd_quotient(double a, double b) {
    const double q = a / b, rest = __builtin_fma(-q, b, a);
    return to_odd(q, b > 0 ? rest : -rest);
}
PLAIN double odd_root(double a) {
    const double q = __builtin_sqrt(a);
    return to_odd(q, __builtin_fma(-q, q, a));
}

/* A float's neighbours. */
PLAIN float below(float f) {
    const uint32_t bits = bits32(f);
    return float_of(f > 0 ? bits - 1 : f < 0 ? bits + 1 : 0x80000001u);
}
PLAIN float above(float f) {
    return -below(-f);
}
INLINE float to_float(double v, ptx_rounding mode) {
    const float f = (float)v;
    if (mode == RN || (double)f == v || v != v)
        return f;
    const bool down = mode == RM || (mode == RZ && v > 0);
    if (down)
        return (double)f > v ? below(f) : f;
    return (double)f < v ? above(f) : f;
}

/* The result of rounding `exact`, flushed: a number is subnormal when it would be below 2^-126 with
 * as small an exponent as it likes, though the rounded one may be 2^-126 itself (measured on an
 * H200). */
PLAIN float ftz_of(float rounded, double exact, ptx_rounding mode) {
    const double size = __builtin_fabs(exact);
    const bool away = mode == (exact > 0 ? RP : RM);
    if ((bits32(rounded) & 0x7fffffffu) == 0x00800000u &&
        (away ? size <= 0x1.fffffep-127 : size < 0x1.ffffffp-127))
        return float_of(bits32(rounded) & 0x80000000u);
    return ftz(rounded);
}
INLINE float finish(float rounded, double exact, ptx_rounding mode, bool flush) {
    return flush ? ftz_of(rounded, exact, mode) : rounded;
}

/* Any NaN may come out of these: nan32() is the kernel's affair (emit.h). A sum that is subnormal
 * is exact. */
INLINE float add_f32(float a, float b, ptx_rounding mode) {
    return mode == RN ? a + b : to_float(odd_sum((double)a, (double)b, mode), mode);
}
INLINE float sub_f32(float a, float b, ptx_rounding mode) {
    return mode == RN ? a - b : to_float(odd_sum((double)a, -(double)b, mode), mode);
}
INLINE float mul_f32(float a, float b, ptx_rounding mode, bool flush) {
    const double exact = (double)a * (double)b;
    return finish(mode == RN ? a * b : to_float(exact, mode), exact, mode, flush);
}
INLINE float fma_f32(float a, float b, float c, ptx_rounding mode, bool flush) {
    if (mode == RN && !flush)
        return __builtin_fmaf(a, b, c);
    const double exact = odd_sum((double)a * (double)b, (double)c, mode);
    return finish(mode == RN ? __builtin_fmaf(a, b, c) : to_float(exact, mode), exact, mode, flush);
}
INLINE float div_f32(float a, float b, ptx_rounding mode, bool flush) {
    if (mode == RN && !flush)
        return a / b;
    const double exact = odd_quotient((double)a, (double)b);
    return finish(mode == RN ? a / b : to_float(exact, mode), exact, mode, flush);
}
INLINE float sqrt_f32(float a, ptx_rounding mode) {
    return mode == RN ? __builtin_sqrtf(a) : to_float(odd_root((double)a), mode);
}

#define add_f64(a, b, mode)                                                                        \
    ((mode) == RN ? (a) + (b) : x->arithmetic(PTX_ADD, (mode), (a), (b), 0.0))
#define sub_f64(a, b, mode)                                                                        \
    ((mode) == RN ? (a) - (b) : x->arithmetic(PTX_SUB, (mode), (a), (b), 0.0))
#define mul_f64(a, b, mode)                                                                        \
    ((mode) == RN ? (a) * (b) : x->arithmetic(PTX_MUL, (mode), (a), (b), 0.0))
#define fma_f64(a, b, c, mode)                                                                     \
    ((mode) == RN ? __builtin_fma((a), (b), (c)) : x->arithmetic(PTX_FMA, (mode), (a), (b), (c)))
#define div_f64(a, b, mode)                                                                        \
    ((mode) == RN ? (a) / (b) : x->arithmetic(PTX_DIV, (mode), (a), (b), 0.0))
#define sqrt_f64(a, mode)                                                                          \
    ((mode) == RN ? __builtin_sqrt(a) : x->arithmetic(PTX_SQRT, (mode), (a), 0.0, 0.0))

/* The smaller and the larger: -0 lies below +0; of a number and a NaN the number, or with `nan` the
 * NaN; `xorsign`: of the magnitudes, with the product's sign. */
INLINE float choose_f32(float a, float b, bool larger, bool nan, bool xorsign) {
    const uint32_t sign = (bits32(a) ^ bits32(b)) & 0x80000000u;
    float r;
    if (xorsign) {
        a = float_of(bits32(a) & 0x7fffffffu);
        b = float_of(bits32(b) & 0x7fffffffu);
    }
    if (a != a || b != b)
        r = nan || (a != a && b != b) ? float_of(0x7fffffffu) : a != a ? b : a;
    else if (a == b)
        r = float_of(larger ? bits32(a) & bits32(b) : bits32(a) | bits32(b));
    else
        r = (a < b) != larger ? a : b;
    return xorsign && r == r ? float_of((bits32(r) & 0x7fffffffu) | sign) : r;
}
INLINE double choose_f64(double a, double b, bool larger) {
    if (a != a || b != b)
        return a != a ? b : a;
    if (a == b)
        return double_of(larger ? bits64(a) & bits64(b) : bits64(a) | bits64(b));
    return (a < b) != larger ? a : b;
}

#endif
