/*
 * Elementwise kernels on rows: each thread takes packs of 16 bytes. Tensors whose rows follow on
 * each other are one long row, so that no index is divided, and only the last thread meets an end.
 */
#ifndef ASSAY_KERNELS_COMMON_PACKS_H
#define ASSAY_KERNELS_COMMON_PACKS_H

#include "device/grid.h"
#include "kernels/common/pack.h"

/* How the elements are shared out: a thread takes one pack. */
struct split {
    int64_t rows, d;
    int64_t row_packs; /* of one row */
    bool packs;        /* all tensors allow 16-byte accesses */
};

/* The elements of one thread: a pack at column j of row i. */
struct place {
    int64_t i, j, left;
};

template <typename T>
static __device__ __forceinline__ place place_of(const split &cut, int64_t pack_index) {
    const int64_t i = cut.rows == 1 ? 0 : pack_index / cut.row_packs;
    const int64_t j = (pack_index - i * cut.row_packs) * pack<T>::size;
    return {i, j, cut.d - j};
}

/* For tensors (rows, d) of one element type; NULL: a call of this stage has no such tensor. */
template <typename T, int N>
static split split_for(int64_t rows, int64_t d, const assay_tensor *const (&all)[N]) {
    split cut = {rows, d, 0, true};
    bool one_row = true;
    for (const assay_tensor *one : all)
        one_row = one_row && (one == NULL || assay_tensor_row_stride(one) == d);
    if (one_row)
        cut = {1, rows * d, 0, true};
    for (const assay_tensor *one : all)
        if (one != NULL)
            cut.packs = cut.packs && (uintptr_t)one->data % PACK_BYTES == 0 &&
                        (one_row || takes_packs(one));
    cut.row_packs = ceil_div(cut.d, pack<T>::size);
    return cut;
}

/* ---- several packs of a thread at once ---- */

enum { PACK_THREADS = 256, PACK_TURNS = 2 };

/* A thread's packs, PACK_THREADS apart. None behind the end: nothing is left there. */
template <typename T> struct places {
    place at[PACK_TURNS];
    bool packs, whole; /* whole: all packs may be accessed at once */

    __device__ __forceinline__ places(const split &cut, int64_t first)
        : at{}, packs(cut.packs), whole(cut.packs) {
#pragma unroll
        for (int k = 0; k < PACK_TURNS; ++k) {
            const int64_t index = first + k * PACK_THREADS + threadIdx.x;
            if (index < cut.rows * cut.row_packs)
                at[k] = place_of<T>(cut, index);
            whole = whole && at[k].left >= pack<T>::size;
        }
    }
    /* A kernel branches on `whole` once, for all tensors: a load behind a branch of its own waits
     * for the one before. */
    template <bool WHOLE, typename M>
    __device__ __forceinline__ void load(const M &from, pack<T> (&to)[PACK_TURNS]) const {
#pragma unroll
        for (int k = 0; k < PACK_TURNS; ++k) {
            const T *p = from.row(at[k].i) + at[k].j;
            to[k] = WHOLE ? load_whole(reinterpret_cast<const pack<T> *>(p))
                          : load_pack(p, at[k].left, packs);
        }
    }
    template <typename M>
    __device__ __forceinline__ void store(const M &to, int k, const pack<T> &p) const {
        store_pack(to.row(at[k].i) + at[k].j, p, at[k].left, packs);
    }
};

/* The first pack of the block's first turns, and from there to that of its next. */
static __device__ __forceinline__ int64_t first_pack() {
    return (int64_t)blockIdx.x * (PACK_THREADS * PACK_TURNS);
}
static __device__ __forceinline__ int64_t pack_step() {
    return (int64_t)gridDim.x * (PACK_THREADS * PACK_TURNS);
}

static inline dim3 packs_grid(const split &cut) {
    return linear_grid(cut.rows * cut.row_packs, PACK_THREADS * PACK_TURNS);
}

#endif
