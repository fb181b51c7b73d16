/*
 * One element of a 16-bit tensor in some 25 instructions, two of them on the special function unit
 * (kernels/common/special.h); gate.h takes eighty. Other tensors have gate.h's arithmetic: beside
 * fp32's rounding the unit's errors would show, as one of 2000 random cases did (fill=constant,
 * off by 1.1 times what v1's error and a rounding allow).
 *
 * For s = |x| and t = 1 / (1 + p s), 1 - Phi(s) = exp(-s^2/2) t Q(t): what is left of the tail
 * without its exponential is smooth in t. Q is a minimax polynomial with p = 17/64, by fpminimax of
 * Sollya: for s <= 6 it is right to 5.0e-9 of the tail; beyond, where the tail is below 1e-9, to
 * 2.6e-5 of it until it underflows at 13.
 *
 * By tanh, (1 + tanh z) / 2 = 1 / (1 + exp(-2 z)), which cancels nowhere.
 */
#ifndef ASSAY_GELU_V3_GATE_H
#define ASSAY_GELU_V3_GATE_H

#include "kernels/common/special.h"
#include "kernels/gelu/gate.h"

/* t Q(t). */
static __device__ __forceinline__ float tail_polynomial(float t) {
    float p = 0x1.b1a79ep-6f;
    p = fma_(p, t, -0x1.e8f66cp-4f);
    p = fma_(p, t, 0x1.440476p-3f);
    p = fma_(p, t, -0x1.41ace6p-5f);
    p = fma_(p, t, 0x1.37f6fp-4f);
    p = fma_(p, t, 0x1.76d19ep-4f);
    p = fma_(p, t, 0x1.7dedf8p-4f);
    p = fma_(p, t, 0x1.b7052p-4f);
    p = fma_(p, t, 0x1.b19e66p-4f);
    return p * t;
}

/* exp(-x^2/2), and Phi(x) from it. Of an infinite x, 0, and 0 or 1. */
static __device__ __forceinline__ float power_unit(float x) {
    return ex2_unit(x * x * -0x1.715476p-1f); /* 1 / (2 log 2) */
}
static __device__ __forceinline__ float cdf_unit(float x, float power) {
    const float tail = power * tail_polynomial(rcp_unit(fma_(fabsf(x), 0.265625f, 1.0f)));
    return x > 0.0f ? 1.0f - tail : tail;
}

/* (1 + tanh z) / 2 of the inner function's z. */
static __device__ __forceinline__ float share_unit(float x) {
    const float factor = -2 * 0x1.715476p+0f * GELU_INNER<float>; /* 1 / log 2 */
    return rcp_unit(1.0f + ex2_unit(x * fma_(x * x, factor * GELU_CUBIC<float>, factor)));
}

/* As gated() and grad_gate() of gate.h, for an element of a tensor of T. */
template <typename T>
static __device__ __forceinline__ acc_t<T> gated_in(acc_t<T> x, bool by_tanh) {
    if constexpr (sizeof(T) > 2)
        return gated(x, by_tanh);
    else
        return x * (by_tanh ? share_unit(x) : cdf_unit(x, power_unit(x)));
}

/* By tanh, with s = (1 + tanh z) / 2: s + 2 x s (1 - s) z'. */
static __device__ __forceinline__ float slope_unit(float x, bool by_tanh) {
    if (!by_tanh) {
        const float power = power_unit(x);
        return fma_(x * GELU_DENSITY<float>, power, cdf_unit(x, power));
    }
    const float share = share_unit(x);
    const float inner =
        fma_(6 * GELU_INNER<float> * GELU_CUBIC<float>, x * x, 2 * GELU_INNER<float>); /* 2 z' */
    return fma_(x * share, (1.0f - share) * inner, share);
}
template <typename T>
static __device__ __forceinline__ acc_t<T> grad_in(acc_t<T> x, acc_t<T> dy, bool by_tanh) {
    if constexpr (sizeof(T) > 2)
        return grad_gate(x, dy, by_tanh);
    else
        return dy * slope_unit(x, by_tanh);
}

#endif
