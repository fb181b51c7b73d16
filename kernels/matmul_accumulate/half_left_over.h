/*
 * Elements that three fp16 products do not prove (half_digits.h), which six bf16 products compute
 * then: a bit for each, by tile and thread, and for each tile of the result, and each tile's rows
 * and columns, whether there are any.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_HALF_LEFT_OVER_H
#define ASSAY_MATMUL_ACCUMULATE_HALF_LEFT_OVER_H

#include "kernels/matmul_accumulate/digit_tile.h"
#include "kernels/matmul_accumulate/half_digits.h"

static_assert(SUMS == 64, "a bit for each element of a thread");

struct left_over {
    uint64_t *elements; /* [tiles][GROUPS * GROUP] */
    int32_t *tiles, *rows, *columns;
    int64_t down, across; /* tiles */

    __device__ __forceinline__ int64_t tile(hopper_place at) const {
        return at.row / ROWS * across + at.column / COLUMNS;
    }
    __device__ __forceinline__ uint64_t *of_thread(hopper_place at) const {
        return elements + tile(at) * GROUPS * GROUP + (threadIdx.x - GROUP);
    }
};

static inline left_over place_left_over(int64_t m, int64_t n, char *base, size_t *used) {
    const int64_t down = ceil_div(m, ROWS), across = ceil_div(n, COLUMNS);
    left_over to = {};
    to.down = down;
    to.across = across;
    to.elements = take<uint64_t>(base, used, down * across * GROUPS * GROUP);
    to.tiles = take<int32_t>(base, used, down * across + down + across);
    to.rows = to.tiles ? to.tiles + down * across : NULL;
    to.columns = to.tiles ? to.rows + down : NULL;
    return to;
}

static __global__ void forget_left_over(left_over of) {
    for (int64_t i = grid_thread(); i < of.down * of.across + of.down + of.across;
         i += grid_threads())
        of.tiles[i] = 0;
}

/* Three products take what they prove, and note what they leave. */
struct proven_elements {
    const int32_t *left_small, *right_small;
    left_over left;
    uint64_t leaves;

    __device__ __forceinline__ bool wants(hopper_place) const {
        return true;
    }
    __device__ __forceinline__ void begin(hopper_place) {
        leaves = 0;
    }
    __device__ __forceinline__ bool takes(int e, int64_t row, int64_t column, float sum) {
        const bool proven = is_proven(sum, left_small[row], right_small[column]);
        leaves |= (uint64_t)!proven << e;
        return proven;
    }
    __device__ __forceinline__ void end(hopper_place at) const {
        *left.of_thread(at) = leaves;
        if (leaves) {
            atomicOr(left.tiles + left.tile(at), 1);
            atomicOr(left.rows + at.row / ROWS, 1);
            atomicOr(left.columns + at.column / COLUMNS, 1);
        }
    }
};

/* Six products take the others. */
struct left_elements {
    left_over left;
    uint64_t taken;

    __device__ __forceinline__ bool wants(hopper_place at) const {
        return left.tiles[left.tile(at)] != 0;
    }
    __device__ __forceinline__ void begin(hopper_place at) {
        taken = *left.of_thread(at);
    }
    __device__ __forceinline__ bool takes(int e, int64_t, int64_t, float) const {
        return taken >> e & 1;
    }
    __device__ __forceinline__ void end(hopper_place) const {
    }
};

#endif
