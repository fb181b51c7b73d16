/*
 * v3's product in strict fp32: which tiles of v3_fma_tile.h, and what is done with their totals.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_V3_FMA_H
#define ASSAY_MATMUL_ACCUMULATE_V3_FMA_H

#include "kernels/matmul_accumulate/v3_fma_tile.h"

/* A thread's elements of the result, those of a column of the tile, `step` rows apart. */
template <typename Tile> struct fma_result {
    static constexpr int step = Tile::threads / Tile::columns, count = Tile::rows / step;
    static_assert(Tile::threads % Tile::columns == 0 && Tile::rows % step == 0, "whole rows");

    int64_t row, column;
    int first; /* in the tile's totals */
    float added[count];

    __device__ __forceinline__ explicit fma_result(tile_place at) {
        const int own_row = (int)threadIdx.x / Tile::columns;
        const int own_column = (int)threadIdx.x % Tile::columns;
        row = at.row + own_row;
        column = at.column + own_column;
        first = own_row * Tile::right_stride + own_column;
    }

    __device__ __forceinline__ bool has(const problem<float> &p, int i) const {
        return row + i * step < p.m && column < p.n;
    }

    __device__ __forceinline__ void read(const problem<float> &p) {
        const float *from = p.added.data + row * p.added.stride + column;
        if (p.added.data)
#pragma unroll
            for (int i = 0; i < count; ++i)
                added[i] = has(p, i) ? from[i * step * p.added.stride] : 0;
    }

    /* Writes the elements for which `wanted(row, column)`. */
    template <typename Wanted>
    __device__ __forceinline__ void store(const problem<float> &p, const float *totals,
                                          Wanted wanted) const {
        float *to = p.out.data + row * p.out.stride + column;
#pragma unroll
        for (int i = 0; i < count; ++i)
            if (has(p, i) && wanted(row + i * step, column)) {
                const float total = totals[first + i * step * Tile::right_stride];
                to[i * step * p.out.stride] =
                    p.added.data ? fma_(p.times, total, added[i]) : p.times * total;
            }
    }
};

template <typename Tile, bool LEFT_K, bool RIGHT_K>
static __global__ void __launch_bounds__(Tile::threads, Tile::blocks)
    multiply_strict_tile(problem<float> p) {
    ASSAY_DYNAMIC_SHARED(float, shared);
    const tile_place at = place_of<Tile::rows, Tile::columns>(blockIdx.x, p.m, p.n);
    fma_result<Tile> result(at);
    total_tile<Tile, LEFT_K, RIGHT_K>(p, at, shared, [&] { result.read(p); });
    result.store(p, shared, [](int64_t, int64_t) { return true; });
}

template <typename Tile> static int64_t fma_tiles(int64_t m, int64_t n) {
    return ceil_div(m, Tile::rows) * ceil_div(n, Tile::columns);
}

/* `left_k`, `right_k`: the operand's lines in memory are k. */
template <typename Tile>
static assay_status launch_strict(void *stream, const problem<float> &p, bool left_k,
                                  bool right_k) {
    const dim3 grid = whole_grid(fma_tiles<Tile>(p.m, p.n)), block(Tile::threads);
    if (left_k)
        return right_k ? ASSAY_LAUNCH(stream, grid, block, Tile::bytes,
                                      (multiply_strict_tile<Tile, true, true>), p)
                       : ASSAY_LAUNCH(stream, grid, block, Tile::bytes,
                                      (multiply_strict_tile<Tile, true, false>), p);
    return right_k ? ASSAY_LAUNCH(stream, grid, block, Tile::bytes,
                                  (multiply_strict_tile<Tile, false, true>), p)
                   : ASSAY_LAUNCH(stream, grid, block, Tile::bytes,
                                  (multiply_strict_tile<Tile, false, false>), p);
}

/* Those that are unrolled in part, so that caches of instructions hold them, copy between parts. */
typedef fma_tile<64, 128, 2, 8, 8, 4, 32, 3, 1, 8> fma_large;
typedef fma_tile<96, 96, 2, 6, 8, 8, 32, 2, 1, 8> fma_square;
typedef fma_tile<96, 96, 2, 6, 8, 8, 32, 2, 1, 32> fma_ragged; /* of lines not in packs */
typedef fma_tile<32, 64, 4, 4, 8, 8, 16, 3, 2, 8> fma_middle;
typedef fma_tile<16, 32, 2, 2, 2, 4, 32, 4, 1, 32> fma_small;

/* Microseconds that an H100's multiprocessor takes for a tile with k = 1024, about. Square tiles
 * are for results that large ones fill badly, as 1025 x 1025. */
enum { LARGE_TIME = 52, SQUARE_TIME = 64, MIDDLE_TIME = 17, SMALL_TIME = 8 };

struct fma_choice {
    int64_t time; /* until all multiprocessors are done, if k were 1024 */
    assay_status (*launch)(void *stream, const problem<float> &p, bool left_k, bool right_k);
};

template <typename Tile> static fma_choice choice_of(const problem<float> &p, int64_t time) {
    return {ceil_div(fma_tiles<Tile>(p.m, p.n), ASSAY_MULTIPROCESSORS) * time, launch_strict<Tile>};
}

/* Whether a tile's copies may have places between products, as far as the operands go. */
static inline bool in_packs(const problem<float> &p, bool left_k, bool right_k) {
    return (left_k || (p.left.packs && p.m % 4 == 0)) &&
           (right_k || (p.right.packs && p.n % 4 == 0));
}

/* Which tiles are done soonest; the time depends on m, n and k alone. */
static inline fma_choice strict_choice(const problem<float> &p, bool left_k, bool right_k) {
    const fma_choice square = in_packs(p, left_k, right_k) ? choice_of<fma_square>(p, SQUARE_TIME)
                                                           : choice_of<fma_ragged>(p, SQUARE_TIME);
    const fma_choice choices[] = {choice_of<fma_large>(p, LARGE_TIME), square,
                                  choice_of<fma_middle>(p, MIDDLE_TIME),
                                  choice_of<fma_small>(p, SMALL_TIME)};
    const fma_choice *best = choices;
    for (const fma_choice &c : choices)
        if (c.time < best->time)
            best = &c;
    return *best;
}

static inline assay_status multiply_strictly(const assay_call *call, const product<float> &asked) {
    const product<float> x = with_rows(asked);
    const problem<float> p = problem_of(x);
    const bool left_k = !x.left.transposed, right_k = x.right.transposed;
    return strict_choice(p, left_k, right_k).launch(call->stream, p, left_k, right_k);
}

#endif
