/* The arithmetic that templated kernels share: storage types and the type they are summed in. */
#ifndef ASSAY_KERNELS_COMMON_NUMERIC_H
#define ASSAY_KERNELS_COMMON_NUMERIC_H

#include "device/kernel.h"

/* Accumulator of a storage type: fp32 for everything narrower than fp64. */
template <typename T> struct accumulator { typedef float type; };
template <> struct accumulator<double> { typedef double type; };
template <typename T> using acc_t = typename accumulator<T>::type;

static __device__ __forceinline__ float widen(float v) {
    return v;
}
static __device__ __forceinline__ double widen(double v) {
    return v;
}
static __device__ __forceinline__ float widen(__nv_bfloat16 v) {
    return __bfloat162float(v);
}
static __device__ __forceinline__ float widen(__half v) {
    return __half2float(v);
}

/* Rounds an accumulator to the storage type, to nearest even. */
template <typename T> static __device__ __forceinline__ T narrow(acc_t<T> v);
template <> __device__ __forceinline__ float narrow<float>(float v) {
    return v;
}
template <> __device__ __forceinline__ double narrow<double>(double v) {
    return v;
}
template <> __device__ __forceinline__ __nv_bfloat16 narrow<__nv_bfloat16>(float v) {
    return __float2bfloat16_rn(v);
}
template <> __device__ __forceinline__ __half narrow<__half>(float v) {
    return __float2half_rn(v);
}

/* Two neighbours of a 16-bit type. */
template <typename T> struct pair_of;
template <> struct pair_of<__nv_bfloat16> { typedef __nv_bfloat162 type; };
template <> struct pair_of<__half> { typedef __half2 type; };
template <typename T> using pair_t = typename pair_of<T>::type;

/* Rounds both, by one instruction. */
template <typename T>
static __device__ __forceinline__ pair_t<T> narrow_pair(float first, float second);
template <>
__device__ __forceinline__ __nv_bfloat162 narrow_pair<__nv_bfloat16>(float first, float second) {
    return __floats2bfloat162_rn(first, second);
}
template <> __device__ __forceinline__ __half2 narrow_pair<__half>(float first, float second) {
    return __floats2half2_rn(first, second);
}

/* a * b + c, rounded once. */
static __device__ __forceinline__ float fma_(float a, float b, float c) {
    return fmaf(a, b, c);
}
static __device__ __forceinline__ double fma_(double a, double b, double c) {
    return fma(a, b, c);
}

#endif
