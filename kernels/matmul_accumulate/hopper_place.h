/* Which tile of the result a block of a persistent kernel computes. */
#ifndef ASSAY_MATMUL_ACCUMULATE_HOPPER_PLACE_H
#define ASSAY_MATMUL_ACCUMULATE_HOPPER_PLACE_H

#include "device/grid.h"

constexpr int ROWS = 128 /* of a tile */, BAND_ROWS = 8 /* tiles */;

/* A tile's first element. */
struct hopper_place {
    int32_t row, column;
};

/* Tiles of ROWS by COLUMNS in a result (m, n). */
template <int COLUMNS> static __host__ __device__ int64_t hopper_tiles(int64_t m, int64_t n) {
    return ceil_div(m, ROWS) * ceil_div(n, COLUMNS);
}

/* Tiles are numbered down the columns of a band of rows, so that those under way at a time share
 * operands in L2. */
template <int COLUMNS>
static __device__ __forceinline__ hopper_place hopper_place_of(int64_t tile, int64_t m, int64_t n) {
    const int64_t across = ceil_div(n, COLUMNS), down = ceil_div(m, ROWS);
    const int64_t band = tile / (BAND_ROWS * across), inside = tile % (BAND_ROWS * across);
    const int64_t height = clamp(down - band * BAND_ROWS, 1, BAND_ROWS);
    return {(int32_t)((band * BAND_ROWS + inside % height) * ROWS),
            (int32_t)(inside / height * COLUMNS)};
}

/* visit(place) for this block's tiles. */
template <int COLUMNS, typename Visit>
static __device__ __forceinline__ void each_tile(int64_t m, int64_t n, Visit visit) {
    for (int64_t tile = blockIdx.x; tile < hopper_tiles<COLUMNS>(m, n); tile += gridDim.x)
        visit(hopper_place_of<COLUMNS>(tile, m, n));
}

#endif
