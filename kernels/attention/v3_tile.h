/*
 * Tiles of attention v3: rows of q, k, v or do in shared memory, and how they come there.
 *
 * A tile's rows have D elements, d or more; what lies beyond the tensor is 0. One pack behind each
 * row puts the rows that a warp reads together into different banks: a row is an odd number of
 * packs.
 */
#ifndef ASSAY_ATTENTION_V3_TILE_H
#define ASSAY_ATTENTION_V3_TILE_H

#include "kernels/attention/attention.h"
#include "kernels/common/tensor.h"

/* Registers have no index: nvcc must unroll the loops that run over them. A host's compiler that
 * did so, too, would take minutes. clang-format takes UNROLL for a statement: a loop around an
 * unrolled one has braces. */
#if defined(__CUDACC__)
#define UNROLL_PRAGMA(text) _Pragma(#text)
#define UNROLL              UNROLL_PRAGMA(unroll)
#define UNROLL_BY(times)    UNROLL_PRAGMA(unroll times)
#else
#define UNROLL
#define UNROLL_BY(times)
#endif

static constexpr int WARP = 32;
static constexpr int PACK_BYTES = 16; /* of one asynchronous copy */

template <typename T> static constexpr int pack = PACK_BYTES / (int)sizeof(T);
template <typename T, int D> static constexpr int tile_stride = D + pack<T>;

static __device__ __forceinline__ int lane() {
    return (int)threadIdx.x % WARP;
}
static __device__ __forceinline__ int warp() {
    return (int)threadIdx.x / WARP;
}

/* (heads, length, d) in global memory; `packs`: every row begins where a pack may. */
template <typename T> struct sequence {
    T *data;
    int64_t stride, length;
    int d;
    bool packs;
};

template <typename T> static inline sequence<T> sequence_of(const assay_tensor *t) {
    const rows<T> x = rows_of<T>(t);
    const bool packs =
        (uintptr_t)x.data % PACK_BYTES == 0 && (size_t)x.stride * sizeof(T) % PACK_BYTES == 0;
    return {x.data, x.stride, t->shape[2], (int)t->shape[3], packs};
}

template <typename T>
static __device__ __forceinline__ sequence<T> head_of(sequence<T> x, int64_t head) {
    x.data += head * x.length * x.stride;
    return x;
}

/* Starts to fetch ROWS rows from row `first` on, by all THREADS threads of the block. */
template <int ROWS, int D, int THREADS, typename T>
static __device__ __forceinline__ void fetch(const sequence<const T> &x, int64_t first, T *to) {
    constexpr int PACKS = D / pack<T>, STEP = THREADS / PACKS; /* rows at a time */
    static_assert(THREADS % PACKS == 0 && (ROWS % STEP == 0 || ROWS < STEP));
    const int row = (int)threadIdx.x / PACKS, column = (int)threadIdx.x % PACKS * pack<T>;
    if (ROWS < STEP && row >= ROWS)
        return;
    const int wanted = (int)clamp(x.d - column, 0, pack<T>);
    const int left = (int)clamp(x.length - first - row, 0, ROWS);
    const T *from = x.data + (first + row) * x.stride + column;
    to += row * tile_stride<T, D> + column;
    if (x.packs) {
        UNROLL
        for (int i = 0; i < ROWS; i += STEP) {
            const int valid = i < left ? wanted : 0;
            cp_async_16(to + i * tile_stride<T, D>, valid > 0 ? from + i * x.stride : x.data,
                        valid * (int)sizeof(T));
        }
        return;
    }
    UNROLL_BY(1)
    for (int i = 0; i < ROWS; i += STEP) {
        UNROLL_BY(1)
        for (int v = 0; v < pack<T>; ++v)
            to[i * tile_stride<T, D> + v] =
                i < left && v < wanted ? from[i * x.stride + v] : narrow<T>(0);
    }
}

/*
 * Runs step(t, stage) for the tiles begin <= t < end while start(t + 1, the other stage) brings the
 * next. Copies that the block started before are complete at the first step.
 */
template <typename Start, typename Step>
static __device__ __forceinline__ void through_tiles(int64_t begin, int64_t end, Start start,
                                                     Step step) {
    if (begin < end)
        start(begin, 0);
    cp_async_commit();
    for (int64_t t = begin; t < end; ++t) {
        const int stage = (int)(t - begin) % 2;
        cp_async_wait<0>();
        /* All threads have tile t, and have left tile t - 1, whose stage is the next to fill. */
        __syncthreads();
        if (t + 1 < end)
            start(t + 1, 1 - stage);
        cp_async_commit();
        step(t, stage);
    }
    cp_async_wait<0>(); /* nothing is under way, even where there was no tile */
}

/*
 * Runs first(t), then second(t), for the tiles 0 <= t < end, each of which needs a tile of its own:
 * start_second(t) brings the one while first(t) runs, start_first(t + 1) the other while second(t)
 * does, so that each has one stage.
 */
template <typename StartFirst, typename First, typename StartSecond, typename Second>
static __device__ __forceinline__ void through_pairs(int64_t end, StartFirst start_first,
                                                     First first, StartSecond start_second,
                                                     Second second) {
    if (end > 0)
        start_first(0);
    cp_async_commit();
    for (int64_t t = 0; t < end; ++t) {
        cp_async_wait<0>();
        __syncthreads(); /* all threads have the first tile, and have left the second */
        start_second(t);
        cp_async_commit();
        first(t);
        cp_async_wait<0>();
        __syncthreads();
        if (t + 1 < end)
            start_first(t + 1);
        cp_async_commit();
        second(t);
    }
    cp_async_wait<0>(); /* as above */
}

#endif
