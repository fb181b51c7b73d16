/* One-dimensional grids over more items than a grid may have threads. */
#ifndef ASSAY_DEVICE_GRID_H
#define ASSAY_DEVICE_GRID_H

#include "device/kernel.h"

static __host__ __device__ inline int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

static __host__ __device__ inline int64_t clamp(int64_t value, int64_t low, int64_t high) {
    const int64_t capped = value < high ? value : high;
    return capped > low ? capped : low;
}

/* Blocks for `items`, `per_block` each; when there are more items than a grid can hold, the kernel
 * must stride over the rest. On the simulated device that is soon, so that every kernel is seen to
 * stride. */
static inline dim3 linear_grid(int64_t items, int64_t per_block) {
    return dim3((unsigned)clamp(ceil_div(items, per_block), 0, ASSAY_MAX_GRID));
}

/* A grid for kernels that do not stride: each of these blocks has work in memory, of which there is
 * less than a grid has room. */
static inline dim3 whole_grid(int64_t blocks) {
    return dim3((unsigned)clamp(blocks, 0, INT32_MAX));
}

/* This thread's place in the grid, and how many threads the grid has. */
static __device__ __forceinline__ int64_t grid_thread() {
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ int64_t grid_threads() {
    return (int64_t)gridDim.x * blockDim.x;
}

#endif
