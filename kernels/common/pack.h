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

/* A pack as registers have it. */
struct alignas(PACK_BYTES) pack_bits {
    uint32_t word[PACK_BYTES / 4];
};

/* No instruction: hides from nvcc that words are elements side by side. */
static __device__ __forceinline__ void keep_words(pack_bits &bits) {
#if defined(__CUDA_ARCH__)
    asm volatile(""
                 : "+r"(bits.word[0]), "+r"(bits.word[1]), "+r"(bits.word[2]), "+r"(bits.word[3]));
#else
    (void)bits;
#endif
}

/* Before it a pack is words, and behind it what was made of its elements is made anew: nvcc would
 * keep each of eight 16-bit elements in a register of its own, or as an fp32 number, and lack
 * registers for the rest. */
template <typename T, int N>
static __device__ __forceinline__ void keep_packed(pack<T> (&held)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
        pack_bits bits;
        memcpy(&bits, &held[i], sizeof bits);
        keep_words(bits);
        memcpy(&held[i], &bits, sizeof bits);
    }
}

/* The pack at `from`, of which `left` elements exist; the others are `rest`. Both ways meet as
 * words, not as elements: nvcc would take elements apart behind each load, which waits for it, and
 * loads of several packs would come one after the other. */
template <typename T>
static __device__ __forceinline__ pack<T> load_pack(const T *from, int64_t left, bool aligned,
                                                    T rest) {
    pack_bits bits;
    pack<T> p;
    if (aligned && left >= pack<T>::size) {
        bits = load_whole(reinterpret_cast<const pack_bits *>(from));
    } else {
        for (int v = 0; v < pack<T>::size; ++v)
            p.v[v] = v < left ? from[v] : rest;
        memcpy(&bits, &p, sizeof bits);
        keep_words(bits);
    }
    memcpy(&p, &bits, sizeof bits);
    return p;
}

template <typename T>
static __device__ __forceinline__ pack<T> load_pack(const T *from, int64_t left, bool aligned) {
    return load_pack(from, left, aligned, narrow<T>(0));
}

template <typename T> static __device__ __forceinline__ pack<T> pack_of(T element) {
    pack<T> p;
    for (int v = 0; v < pack<T>::size; ++v)
        p.v[v] = element;
    return p;
}

/* *from, which this kernel reads once: it may leave the cache first, where a call behind others
 * would otherwise have what they wrote go to memory. */
static __device__ __forceinline__ pack_bits load_once(const pack_bits *from) {
    const float4 bits = __ldcs(reinterpret_cast<const float4 *>(from));
    pack_bits p;
    memcpy(&p, &bits, sizeof p);
    return p;
}

/* WHOLE: either all elements of the pack exist, where packs may lie, or none of them. Then it is
 * one instruction, and a kernel that never goes element by element has a fraction of the code: a
 * call whose code no cache holds waits for that, too. ONCE: load_once. */
template <bool WHOLE, bool ONCE, typename T>
static __device__ __forceinline__ pack<T> load_part(const T *from, int64_t left, bool aligned,
                                                    T rest) {
    if constexpr (!WHOLE) {
        return load_pack(from, left, aligned, rest);
    } else {
        pack<T> p = pack_of(rest);
        pack_bits bits;
        memcpy(&bits, &p, sizeof bits);
        if (left > 0)
            bits = ONCE ? load_once(reinterpret_cast<const pack_bits *>(from))
                        : load_whole(reinterpret_cast<const pack_bits *>(from));
        keep_words(bits);
        memcpy(&p, &bits, sizeof bits);
        return p;
    }
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

template <bool WHOLE, typename T>
static __device__ __forceinline__ void store_part(T *to, const pack<T> &p, int64_t left,
                                                  bool aligned) {
    if constexpr (!WHOLE) {
        store_pack(to, p, left, aligned);
    } else if (left > 0) {
        float4 bits;
        memcpy(&bits, &p, sizeof bits);
        __stcs(reinterpret_cast<float4 *>(to), bits);
    }
}

/* Whether every row of `t` starts where a pack may. */
static inline bool takes_packs(const assay_tensor *t) {
    const size_t row_bytes = (size_t)assay_tensor_row_stride(t) * assay_dtype_size(t->dtype);
    return (uintptr_t)t->data % PACK_BYTES == 0 &&
           (row_bytes % PACK_BYTES == 0 || assay_tensor_rows(t) <= 1);
}

#endif
