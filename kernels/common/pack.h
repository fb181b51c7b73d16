/*
 * Rows in pieces of 16 bytes, the widest access to memory there is. Where an address does not allow
 * it, the same elements are fetched one by one: which thread computes which element, and so every
 * sum's order, never depends on alignment.
 */
#ifndef ASSAY_KERNELS_COMMON_PACK_H
#define ASSAY_KERNELS_COMMON_PACK_H

#include "kernels/common/numeric.h"

enum { PACK_BYTES = 16 };

template <typename T> struct alignas(PACK_BYTES) pack {
    static constexpr int size = PACK_BYTES / (int)sizeof(T);
    T v[size];
};

/* The pack at `from`, of which `left` elements exist; the others are `rest`. */
template <typename T>
static __device__ __forceinline__ pack<T> load_pack(const T *from, int64_t left, bool aligned,
                                                    T rest) {
    if (aligned && left >= pack<T>::size)
        return load_whole(reinterpret_cast<const pack<T> *>(from));
    pack<T> p;
    for (int v = 0; v < pack<T>::size; ++v)
        p.v[v] = v < left ? from[v] : rest;
    return p;
}

template <typename T>
static __device__ __forceinline__ pack<T> load_pack(const T *from, int64_t left, bool aligned) {
    return load_pack(from, left, aligned, narrow<T>(0));
}

/* Streaming: this kernel does not read again the elements that it writes. */
template <typename T>
static __device__ __forceinline__ void store_pack(T *to, const pack<T> &p, int64_t left,
                                                  bool aligned) {
    if (aligned && left >= pack<T>::size) {
        /* A plain assignment would be merged with the loop below into stores of one element. */
        float4 bits;
        memcpy(&bits, &p, sizeof bits);
        __stcs(reinterpret_cast<float4 *>(to), bits);
        return;
    }
    for (int v = 0; v < pack<T>::size; ++v)
        if (v < left)
            to[v] = p.v[v];
}

/* Whether every row of `t` starts where a pack may. */
static inline bool takes_packs(const assay_tensor *t) {
    const size_t row_bytes = (size_t)assay_tensor_row_stride(t) * assay_dtype_size(t->dtype);
    return (uintptr_t)t->data % PACK_BYTES == 0 &&
           (row_bytes % PACK_BYTES == 0 || assay_tensor_rows(t) <= 1);
}

#endif
