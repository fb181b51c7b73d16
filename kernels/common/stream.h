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

/* A pack's elements as numbers to add up; of 16 bits, one instruction each, where nvcc would take
 * the upper one of a word down before it shifts it up. */
template <typename T>
static __device__ __forceinline__ void widen_pack(const pack<T> &p,
                                                  acc_t<T> (&value)[pack<T>::size]) {
    for (int v = 0; v < pack<T>::size; ++v)
        value[v] = widen(p.v[v]);
}
template <>
__device__ __forceinline__ void widen_pack<__nv_bfloat16>(const pack<__nv_bfloat16> &p,
                                                          float (&value)[8]) {
    pack_bits bits;
    memcpy(&bits, &p, sizeof bits);
    for (int i = 0; i < 4; ++i) {
        const uint32_t two[2] = {bits.word[i] << 16, bits.word[i] & 0xffff0000u};
        memcpy(&value[2 * i], two, sizeof two);
    }
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
