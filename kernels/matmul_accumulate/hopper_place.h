/* Which tile of the result a block of a persistent kernel computes. */
#ifndef ASSAY_MATMUL_ACCUMULATE_HOPPER_PLACE_H
#define ASSAY_MATMUL_ACCUMULATE_HOPPER_PLACE_H

#include "device/grid.h"

constexpr int ROWS = 128 /* of a tile */, BAND_ROWS = 8 /* tiles */;

/* A tile's first element. */
struct hopper_place {
    int32_t row, column;
};

/* Places of DOWN tiles of ROWS by COLUMNS below each other in a result (m, n). */
template <int COLUMNS, int DOWN = 1>
static __host__ __device__ int64_t hopper_tiles(int64_t m, int64_t n) {
    return ceil_div(m, DOWN * ROWS) * ceil_div(n, COLUMNS);
}

/* They are numbered down the columns of a band of rows, so that those under way at a time share
 * operands in L2. */
template <int COLUMNS, int DOWN = 1>
static __device__ __forceinline__ hopper_place hopper_place_of(int64_t tile, int64_t m, int64_t n) {
    constexpr int band_rows = BAND_ROWS / DOWN;
    const int64_t across = ceil_div(n, COLUMNS), down = ceil_div(m, DOWN * ROWS);
    const int64_t band = tile / (band_rows * across), inside = tile % (band_rows * across);
    const int64_t height = clamp(down - band * band_rows, 1, band_rows);
    return {(int32_t)((band * band_rows + inside % height) * DOWN * ROWS),
            (int32_t)(inside / height * COLUMNS)};
}

/* visit(place) for this block's tiles; DOWN blocks, a cluster, go down from place to place. */
template <int COLUMNS, int DOWN = 1, typename Visit>
static __device__ __forceinline__ void each_tile(int64_t m, int64_t n, Visit visit) {
    for (int64_t tile = blockIdx.x / DOWN; tile < hopper_tiles<COLUMNS, DOWN>(m, n);
         tile += gridDim.x / DOWN) {
        hopper_place at = hopper_place_of<COLUMNS, DOWN>(tile, m, n);
        at.row += (int32_t)(blockIdx.x % DOWN * ROWS);
        visit(at);
    }
}

#endif
