/*
 * A copy of an operand in fp32 with its lines along k, from lines across k: wgmma takes TF32 from
 * shared memory only so. A block turns tiles of 64 x 64 numbers, whose rows in shared memory have
 * one number more, so that neither they nor their columns meet in a bank.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_HOPPER_TURN_H
#define ASSAY_MATMUL_ACCUMULATE_HOPPER_TURN_H

#include "kernels/matmul_accumulate/product.h"

constexpr int TURN_SIDE = 64, TURN_WIDTH = 32, TURN_STEP = 8;

/* No template: gcc keeps a template's variables out of the section in which the simulated device
 * watches shared memory. */
static __global__ void turn_lines(matrix<const float> from, float *to, int64_t stride, int64_t rows,
                                  int64_t depth) {
    __shared__ float tile[TURN_SIDE][TURN_SIDE + 1];
    const int64_t across = ceil_div(rows, TURN_SIDE);
    const int x = (int)threadIdx.x, y = (int)threadIdx.y;
    for (int64_t t = blockIdx.x; t < across * ceil_div(depth, TURN_SIDE); t += gridDim.x) {
        const int64_t row = t % across * TURN_SIDE, k = t / across * TURN_SIDE;
#pragma unroll
        for (int i = 0; i < TURN_SIDE; i += TURN_STEP)
#pragma unroll
            for (int j = 0; j < TURN_SIDE; j += TURN_WIDTH)
                if (k + y + i < depth && row + x + j < rows)
                    tile[y + i][x + j] = from.data[(k + y + i) * from.stride + row + x + j];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TURN_SIDE; i += TURN_STEP)
#pragma unroll
            for (int j = 0; j < TURN_SIDE; j += TURN_WIDTH)
                if (row + y + i < rows && k + x + j < depth)
                    to[(row + y + i) * stride + k + x + j] = tile[x + j][y + i];
        __syncthreads();
    }
}

/* Of `rows` lines in the copy, `stride` apart. */
static inline assay_status launch_turn(void *stream, const matrix<const float> &from, float *to,
                                       int64_t stride, int64_t rows, int64_t depth) {
    const int64_t tiles = ceil_div(rows, TURN_SIDE) * ceil_div(depth, TURN_SIDE);
    return ASSAY_LAUNCH(stream, linear_grid(tiles, 1), dim3(TURN_WIDTH, TURN_STEP), 0, turn_lines,
                        from, to, stride, rows, depth);
}

#endif
