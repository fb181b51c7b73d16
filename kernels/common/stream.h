/*
 * A lane's way through a row: packs of 16 bytes, `step` elements apart, of which BATCH are under
 * way at once. A load that stands behind a branch of its own waits for the one before; here one
 * condition covers the batch. The order of the packs is the same whether or not they are aligned.
 */
#ifndef ASSAY_KERNELS_COMMON_STREAM_H
#define ASSAY_KERNELS_COMMON_STREAM_H

#include "kernels/common/pack.h"

/* A pack of shared memory, in one access: nvcc would take it apart into elements, whose accesses
 * lie 16 bytes apart and meet in the same banks. */
template <typename T> static __device__ __forceinline__ pack<T> load_kept(const pack<T> *from) {
    const float4 bits = load_whole(reinterpret_cast<const float4 *>(from));
    pack<T> p;
    memcpy(&p, &bits, sizeof p);
    return p;
}

/* The same to shared memory. */
template <typename T> static __device__ __forceinline__ void store_kept(pack<T> *to, pack<T> p) {
    float4 bits;
    memcpy(&bits, &p, sizeof bits);
    *reinterpret_cast<float4 *>(to) = bits;
}

/* Values rounded to the storage type, two by one instruction where there is one. */
template <typename T>
static __device__ __forceinline__ pack<T> narrow_pack(const acc_t<T> (&value)[pack<T>::size]) {
    pack<T> p;
    for (int v = 0; v < pack<T>::size; ++v)
        p.v[v] = narrow<T>(value[v]);
    return p;
}
template <>
__device__ __forceinline__ pack<__nv_bfloat16> narrow_pack<__nv_bfloat16>(const float (&value)[8]) {
    pack<__nv_bfloat16> p;
    for (int v = 0; v < 8; v += 2) {
        const __nv_bfloat162 two = __floats2bfloat162_rn(value[v], value[v + 1]);
        memcpy(&p.v[v], &two, sizeof two);
    }
    return p;
}

/* use(pack, column) for the packs at columns first, first + step … of a row of that length;
 * elements that there are not are `rest`. */
template <int BATCH, typename T, typename F>
static __device__ __forceinline__ void each_pack(const T *row, int64_t length, int64_t first,
                                                 int64_t step, bool aligned, T rest, F use) {
    int64_t j = first;
    if (aligned)
        for (; j + (BATCH - 1) * step + pack<T>::size <= length; j += BATCH * step) {
            pack<T> p[BATCH];
#pragma unroll
            for (int b = 0; b < BATCH; ++b)
                p[b] = load_whole(reinterpret_cast<const pack<T> *>(row + j + b * step));
#pragma unroll
            for (int b = 0; b < BATCH; ++b)
                use(p[b], j + b * step);
        }
    for (; j < length; j += step)
        use(load_pack(row + j, length - j, aligned, rest), j);
}

#endif
