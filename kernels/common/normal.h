/*
 * The normal distribution and tanh with the same bits on every device, by exp_ of exp.h and exp64.h
 * and a polynomial: CUDA's erf and tanh are its own.
 *
 * 1 - normal_cdf(x) for x >= 0 is exp(-x^2/2) erfcx(x/sqrt 2) / 2, with erfcx(z) = exp(z^2)
 * erfc(z), which has no steep places: (1 + 2z) erfcx(z) is a polynomial in t = (z - K) / (z + K),
 * Chebyshev's interpolant, right to 1.9e-8 of itself (fp32, K = 2) and 4.5e-17 (fp64, K = 4).
 * Absolutely, normal_cdf is right to some units of 2^-24 and 2^-53; relatively, far below 0, to x^2
 * of them.
 */
#ifndef ASSAY_KERNELS_COMMON_NORMAL_H
#define ASSAY_KERNELS_COMMON_NORMAL_H

#include "kernels/common/exp.h"
#include "kernels/common/exp64.h"

/* (1 + 2z) erfcx(z) for t = (z - 2) / (z + 2). */
static __device__ __forceinline__ float erfcx_polynomial(float t) {
    float p = 0x1.1d8722p-14f;
    p = fma_(p, t, 0x1.514e8p-13f);
    p = fma_(p, t, -0x1.84f256p-12f);
    p = fma_(p, t, -0x1.6de6e4p-10f);
    p = fma_(p, t, 0x1.4291acp-10f);
    p = fma_(p, t, 0x1.1cbabcp-7f);
    p = fma_(p, t, -0x1.06f464p-7f);
    p = fma_(p, t, -0x1.bc1accp-5f);
    p = fma_(p, t, 0x1.4ff9b6p-3f);
    p = fma_(p, t, -0x1.54081cp-3f);
    p = fma_(p, t, -0x1.7bf5eap-4f);
    p = fma_(p, t, 0x1.46e80ep+0f);
    return p;
}
/* The same for t = (z - 4) / (z + 4). */
static __device__ __forceinline__ double erfcx_polynomial(double t) {
    double p = 0x1.0967e527911a9p-30;
    p = fma_(p, t, 0x1.afe473b552685p-30);
    p = fma_(p, t, -0x1.af097381d257bp-27);
    p = fma_(p, t, -0x1.1904891a069b4p-26);
    p = fma_(p, t, 0x1.cad9b27d6d663p-24);
    p = fma_(p, t, 0x1.31744dd9b56dp-24);
    p = fma_(p, t, -0x1.b9339da7bf70bp-21);
    p = fma_(p, t, 0x1.400a0021a32f1p-22);
    p = fma_(p, t, 0x1.7f01a118598aep-18);
    p = fma_(p, t, -0x1.78a738afaf645p-17);
    p = fma_(p, t, -0x1.99551e5f87e2p-16);
    p = fma_(p, t, 0x1.3be12bafabe1fp-13);
    p = fma_(p, t, -0x1.a1df4a1e543bcp-13);
    p = fma_(p, t, -0x1.8d4aaa8fbedbcp-11);
    p = fma_(p, t, 0x1.49c672b9685cep-8);
    p = fma_(p, t, -0x1.0962386da3254p-6);
    p = fma_(p, t, 0x1.3079edf5d9d05p-5);
    p = fma_(p, t, -0x1.0fb06dfee479p-4);
    p = fma_(p, t, 0x1.7fee004e16d41p-4);
    p = fma_(p, t, -0x1.9ddb23c3e0c24p-4);
    p = fma_(p, t, 0x1.16ecefcfa5214p-4);
    p = fma_(p, t, 0x1.f7f5df66fc17fp-7);
    p = fma_(p, t, -0x1.1df1ad154a28ep-3);
    p = fma_(p, t, 0x1.3ba5916e9fd7fp+0);
    return p;
}

static __device__ __forceinline__ float erfcx_(float z) {
    return erfcx_polynomial((z - 2.0f) / (z + 2.0f)) / fma_(2.0f, z, 1.0f);
}
static __device__ __forceinline__ double erfcx_(double z) {
    return erfcx_polynomial((z - 4.0) / (z + 4.0)) / fma_(2.0, z, 1.0);
}

/* exp(-x^2/2): the density without its factor 1 / sqrt(2 pi). Nothing overflows: beyond 64 it is 0
 * in fp64, too. */
template <typename A> static __device__ __forceinline__ A normal_power(A x) {
    const A most = x > (A)64 ? (A)64 : x, least = most < (A)-64 ? (A)-64 : most;
    return exp_((A)-0.5 * least * least);
}

/* From x and that power. */
template <typename A> static __device__ __forceinline__ A normal_cdf(A x, A power) {
    const A size = x < 0 ? -x : x, capped = size > (A)64 ? (A)64 : size;
    const A tail = (A)0.5 * power * erfcx_(capped * (A)0.70710678118654752440);
    return x > 0 ? (A)1 - tail : tail;
}

/* To some units in absolute terms, which is what 1 + tanh needs. */
template <typename A> static __device__ __forceinline__ A tanh_(A x) {
    return (A)1 - (A)2 / (exp_((A)2 * x) + (A)1);
}

#endif
