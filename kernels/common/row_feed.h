/*
 * Rows that come while others are worked on: each lane copies the packs of its next rows to places
 * of its own in the launch's dynamic shared memory, past its registers, and reads them there. No
 * lane looks at another's places, so that no barrier is needed.
 */
#ifndef ASSAY_KERNELS_COMMON_ROW_FEED_H
#define ASSAY_KERNELS_COMMON_ROW_FEED_H

#include "kernels/common/row_group.h"
#include "kernels/common/stream.h"
#include "kernels/common/tensor.h"

enum { ROWS_AHEAD = 2 };

/* Copies the pack at `from` to shared memory; the copy is asynchronous, where it is one at all.
 * WHOLE: as load_part has it. */
template <bool WHOLE, typename T>
static __device__ __forceinline__ void start_pack(pack<T> *to, const T *from, int64_t left,
                                                  bool packs) {
    if (WHOLE && left > 0)
        cp_async_16(to, from);
    else
        store_kept(to, load_part<WHOLE, false>(from, WHOLE ? 0 : left, packs, narrow<T>(0)));
}

/* ROWS_AHEAD rows of each of `sources` tensors, of which each lane holds HELD packs; elements that
 * there are not are 0. */
template <typename T, int HELD, bool WHOLE> struct row_feed {
    pack<T> *places;
    group_place<T> at;
    int sources;
    bool packs;

    /* Of pack `p` of the row that is read at that turn. */
    __device__ __forceinline__ pack<T> *place(int turn, int source, int p) const {
        const int row = turn % ROWS_AHEAD * sources + source;
        return places + (row * HELD + p) * GROUP_THREADS + threadIdx.x;
    }
    __device__ __forceinline__ void start(int turn, int source, const T *row,
                                          int64_t length) const {
        const int there = at.template held_of<HELD>(length);
#pragma unroll
        for (int p = 0; p < HELD; ++p)
            start_pack<WHOLE>(place(turn, source, p), row + at.column(p), there - at.column(p),
                              packs);
    }
    /* Waits for the rows of a turn, when ROWS_AHEAD were started, each with its commit. */
    __device__ __forceinline__ void wait() const {
        cp_async_wait<ROWS_AHEAD - 1>();
    }
    /* Starts to copy what a group's lanes hold of a row that all rows share, such as weights, for
     * the block: pack p of lane l goes to to[p lanes + l]. */
    __device__ __forceinline__ void start_shared(pack<T> *to, const T *row, int64_t d) const {
        for (int q = (int)threadIdx.x; q < HELD * at.lanes; q += GROUP_THREADS)
            start_pack<WHOLE>(to + q, row + q * pack<T>::size, d - q * pack<T>::size, packs);
    }
    /* Of a block's dynamic shared memory, the shared row included. */
    static size_t bytes(int sources, int lanes) {
        const int packs_of_block = HELD * (ROWS_AHEAD * sources * GROUP_THREADS + lanes);
        return (size_t)packs_of_block * PACK_BYTES;
    }
};

#endif
