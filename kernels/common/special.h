/*
 * The special function unit: 2^x and 1 / x in one instruction each, where a polynomial takes a
 * dozen. Both are right to 2 units of 2^-23 relative to the result; the simulated device has the
 * unit's bits (docs/simulated-device.md, "The special function unit"). Subnormal results are 0,
 * subnormal arguments count as 0. NaN gives NaN; 2^-Inf and 1 / Inf are 0, 2^0 is 1.
 *
 *     float ex2_unit(float x)    ex2.approx.ftz.f32
 *     float ex2_here(float x)    the same, which nvcc may not move past a wait
 *     float rcp_unit(float x)    rcp.approx.ftz.f32
 */
#ifndef ASSAY_KERNELS_COMMON_SPECIAL_H
#define ASSAY_KERNELS_COMMON_SPECIAL_H

#include "kernels/common/exp64.h"
#include "kernels/common/numeric.h"

#if defined(__CUDACC__)
static __device__ __forceinline__ float ex2_unit(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float ex2_here(float x) {
    float y;
    asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float rcp_unit(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#else
static __device__ __forceinline__ float ex2_unit(float x) {
    return sim_unit(SFU_EX2, x, true);
}
static __device__ __forceinline__ float ex2_here(float x) {
    return ex2_unit(x);
}
static __device__ __forceinline__ float rcp_unit(float x) {
    return sim_unit(SFU_RCP, x, true);
}
#endif

/* e^x by the unit: off by |x| 2^-23 of itself, beside the unit's error. In fp64, exp_. Small
 * results underflow gradually, which takes three more instructions; those of a sum beside 1 may be
 * 0. */
static __device__ __forceinline__ float exp_unit(float x) {
    return __expf(x);
}
static __device__ __forceinline__ float exp_term(float x) {
    return ex2_unit(x * 0x1.715476p+0f); /* 1 / log 2 */
}
/* e^x for x <= 0 as exp_unit, but without what the product's rounding adds, |x| 2^-23: e^rest = 1 +
 * rest makes up for it. NaN stays NaN. */
static __device__ __forceinline__ float exp_close(float x) {
    const float y = x < -104.0f ? -104.0f : x;
    const float power = exp_unit(y), t = y * 0x1.715476p+0f; /* 1 / log 2 */
    const float rest = fma_(y, 0x1.4ae0cp-26f, fma_(y, 0x1.715476p+0f, -t));
    return fma_(power, rest * 0x1.62e43p-1f, power);
}
static __device__ __forceinline__ double exp_unit(double x) {
    return exp_(x);
}
static __device__ __forceinline__ double exp_term(double x) {
    return exp_(x);
}

#endif
