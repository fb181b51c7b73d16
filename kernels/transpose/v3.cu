/*
 * transpose v3, tiled: a block turns a tile of 32 x 32 elements in shared memory, whose rows have
 * one element more than they need, so that neither its rows nor its columns meet in a bank (16-bit
 * elements: two at most). Warps read and write 32 elements of a row each.
 *
 * Against v1: reads are as wide as writes. Bytes: every element is read and written once, whole
 * sectors but at the edges. No flops.
 */
#include "kernels/transpose/matrices.h"

enum { TILE = 32, STEP = 8 }; /* a block has TILE x STEP threads */

/* Room for a tile, as bits. No template: gcc keeps a template's variables out of the section in
 * which the simulated device watches shared memory. */
static __device__ __forceinline__ uint16_t (&tile_of(uint16_t))[TILE][TILE + 1] {
    __shared__ uint16_t tile[TILE][TILE + 1];
    return tile;
}
static __device__ __forceinline__ uint32_t (&tile_of(uint32_t))[TILE][TILE + 1] {
    __shared__ uint32_t tile[TILE][TILE + 1];
    return tile;
}
static __device__ __forceinline__ uint64_t (&tile_of(uint64_t))[TILE][TILE + 1] {
    __shared__ uint64_t tile[TILE][TILE + 1];
    return tile;
}

/* Tiles of a matrix, one row of tiles after the other. */
struct split {
    int64_t across, tiles; /* of one matrix */
};

template <typename U>
static __global__ void turn(matrix<const U> from, matrix<U> to, sizes s, split cut) {
    auto &tile = tile_of(U());
    for (int64_t t = blockIdx.x; t < s.matrices * cut.tiles; t += gridDim.x) {
        const int64_t m = t / cut.tiles, down = t % cut.tiles / cut.across * TILE,
                      along = t % cut.tiles % cut.across * TILE;
        for (int k = (int)threadIdx.y; k < TILE; k += STEP) {
            const int64_t i = down + k, j = along + threadIdx.x;
            if (i < s.rows && j < s.columns)
                tile[k][threadIdx.x] = from.row(m * s.rows + i)[j];
        }
        __syncthreads();
        for (int k = (int)threadIdx.y; k < TILE; k += STEP) {
            const int64_t j = along + k, i = down + threadIdx.x;
            if (i < s.rows && j < s.columns)
                to.row(m * s.columns + j)[i] = tile[threadIdx.x][k];
        }
        __syncthreads();
    }
}

template <typename U> static assay_status run(const assay_call *call, assay_stage stage) {
    const assay_tensor *from = source_of(call, stage);
    const sizes s = sizes_of(from);
    const int64_t across = ceil_div(s.columns, TILE);
    const split cut = {across, across * ceil_div(s.rows, TILE)};
    return ASSAY_LAUNCH(call->stream, linear_grid(s.matrices * cut.tiles, 1), dim3(TILE, STEP), 0,
                        (turn<U>), matrix_of<const U>(from), matrix_of<U>(&call->out[0]), s, cut);
}

/* Elements are copied as bits: only their size counts. */
static assay_status run_as_bits(const assay_call *call, assay_stage stage) {
    switch (assay_dtype_size(call->params->dtype)) {
    case sizeof(uint16_t):
        return run<uint16_t>(call, stage);
    case sizeof(uint32_t):
        return run<uint32_t>(call, stage);
    default:
        return run<uint64_t>(call, stage);
    }
}

static assay_status forward(const assay_call *call) {
    return run_as_bits(call, ASSAY_FORWARD);
}

static assay_status backward(const assay_call *call) {
    return run_as_bits(call, ASSAY_BACKWARD);
}

ASSAY_VARIANT(transpose, v3) = {
    .op = "transpose",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "tiled: 32 x 32 elements through shared memory",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
