/* Copies that products make for products to come (fusions.h, ahead.h), in v3_hopper's kernels. */
#ifndef ASSAY_TRANSFORMER_HOPPER_AHEAD_H
#define ASSAY_TRANSFORMER_HOPPER_AHEAD_H

#include "kernels/common/pack.h"
#include "kernels/matmul_accumulate/hopper_widths.h"
#include "kernels/transformer/fusions.h"

template <int COPIERS, int ELEMENTS>
static __device__ __forceinline__ void copy_piece(const float *from, bf16 *to, int64_t first,
                                                  int64_t elements) {
    constexpr int PACKS = ELEMENTS / 8 / COPIERS, NEXT = COPIERS * 8;
    pack<float> held[PACKS][2];
    const int64_t at = first + (int64_t)(threadIdx.x % COPIERS) * 8;
#pragma unroll
    for (int k = 0; k < PACKS; ++k)
#pragma unroll
        for (int half = 0; half < 2; ++half)
            if (at + k * NEXT < elements)
                held[k][half] = load_whole(
                    reinterpret_cast<const pack<float> *>(from + at + k * NEXT + 4 * half));
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        pack<bf16> p;
        for (int v = 0; v < 8; ++v)
            p.v[v] = narrow<bf16>(held[k][v / 4].v[v % 4]);
        if (at + k * NEXT < elements)
            store_pack(to + at + k * NEXT, p, 8, true);
    }
}

/* Every `step`-th piece from the first one on. */
template <int COPIERS, int ELEMENTS>
static __device__ __forceinline__ void copy_pieces(const copies_ahead &all, int64_t first,
                                                   int64_t step) {
    int which = 0;
    for (int64_t piece = all.first + first; piece < all.last; piece += step) {
        while (piece >= all.end[which])
            ++which;
        const int64_t before = which > 0 ? all.end[which - 1] : 0;
        copy_piece<COPIERS, ELEMENTS>(all.from[which], all.to[which], (piece - before) * ELEMENTS,
                                      all.elements[which]);
    }
}

/* ---- idle warps: threads 64 to 127 of each block's first warpgroup ---- */

enum { AHEAD_THREADS = 64 };

static __device__ __forceinline__ void copy_ahead(const copies_ahead &all) {
    if (!all.spare)
        copy_pieces<AHEAD_THREADS, AHEAD_PIECE>(all, blockIdx.x, gridDim.x);
}

/* ---- spare blocks: those that have no tile of the last turn ---- */

/* By both of its warpgroups that have multiplied. */
static __device__ __forceinline__ void copy_to_spare(const copies_ahead &all, int64_t tiles,
                                                     int group) {
    const int64_t busy = tiles % gridDim.x, rank = (int64_t)blockIdx.x - busy;
    if (all.spare && rank >= 0)
        copy_pieces<GROUP, SPARE_PIECE>(all, rank * 2 + group, (gridDim.x - busy) * 2);
}

/*
 * How much they copy while the others multiply: in a microsecond, 25 KB each, but 1,600 KB at most.
 * With 40 and 2,400, which memory would allow, products wait for the same memory: forward of
 * small, medium, large and xl at b = 4, t = 128 takes 812, 2,182, 4,637 and 8,701 us on an H100,
 * so 803, 2,191, 4,438 and 8,256, and without copies by products 948, 2,524, 5,050 and 9,482.
 */
static constexpr int64_t SPARE_RATE = 25 << 10, SPARE_RATE_OF_ALL = 1600 << 10; /* bytes a us */
/* Before the first tile's products begin, and behind the last one's: */
static constexpr int64_t SPARE_START = 2000; /* ns */

/* Of a tile with 64 slices: hopper_widths.h. */
static constexpr int64_t WIDE_NS = 42200;

static inline int64_t time_of_tile(int columns) {
    return columns == wide_tile::columns     ? WIDE_TIME
           : columns == middle_tile::columns ? MIDDLE_TIME
           : columns == narrow_tile::columns ? NARROW_TIME
                                             : THIN_TIME;
}

static inline int64_t spare_pieces(int64_t tiles, int columns, int64_t slices) {
    const int64_t spare =
        (ASSAY_MULTIPROCESSORS - tiles % ASSAY_MULTIPROCESSORS) % ASSAY_MULTIPROCESSORS;
    const int64_t ns =
        SPARE_START + slices * time_of_tile(columns) * WIDE_NS / (64 * (int64_t)WIDE_TIME);
    const int64_t bytes = clamp(spare * SPARE_RATE, 0, SPARE_RATE_OF_ALL) * ns / 1000;
    return bytes / (SPARE_PIECE * (int64_t)sizeof(float));
}

/* Cuts what a launch of so many tiles may copy down to what it copies. */
static inline void take_spare(copies_ahead *all, int64_t tiles, int columns, int64_t slices) {
    if (all->spare)
        all->last = clamp(all->last, all->first, all->first + spare_pieces(tiles, columns, slices));
}

#endif
