/*
 * Where there are few rows, SPLITS warps of a block have the same ones, and take turns at what is
 * streamed. Their sums are added up at the end, in the order of the warps, through the memory that
 * the tiles had. Each lane leaves its registers there for its fellow of the first of these warps.
 */
#ifndef ASSAY_ATTENTION_V3_SPLITS_H
#define ASSAY_ATTENTION_V3_SPLITS_H

#include "kernels/attention/v3_plan_fp32.h"

/* The warp's number among those that share its rows. */
template <typename Plan> static __device__ __forceinline__ int split() {
    return warp() % Plan::SPLITS;
}

/* Elements of shared memory: `tiles` of them, and later all sums in their place. */
template <typename Plan> static constexpr int splits_shared(int tiles) {
    constexpr int sums = Plan::WARPS * Plan::WARP_ROWS * Plan::COLUMNS;
    return Plan::SPLITS > 1 && sums > tiles ? sums : tiles;
}

/* The register number `i` of a lane that a fellow left. */
static __device__ __forceinline__ float *left_by(float *shared, int warp, int count, int i) {
    return shared + (warp * count + i) * WARP + lane();
}

/* In the first warp of those that share rows, the sums of all; all threads of the block call it. */
template <typename Plan, typename Sums>
static __device__ __forceinline__ void add_splits(Sums &sums, float *shared) {
    constexpr int COUNT = Sums::HEIGHT * Sums::WIDTH;
    __syncthreads(); /* the tiles, or earlier sums, are no longer needed */
    if (split<Plan>() > 0) {
        UNROLL
        for (int i = 0; i < COUNT; ++i)
            *left_by(shared, warp(), COUNT, i) = sums.at(i / Sums::WIDTH, i % Sums::WIDTH);
    }
    __syncthreads();
    if (split<Plan>() > 0)
        return;
    UNROLL_BY(1)
    for (int s = 1; s < Plan::SPLITS; ++s) {
        UNROLL
        for (int i = 0; i < COUNT; ++i)
            sums.at(i / Sums::WIDTH, i % Sums::WIDTH) += *left_by(shared, warp() + s, COUNT, i);
    }
}

/* 2^(product factor) */
struct exponent {
    float factor, least; /* as exp2_product has them */
};

static __device__ __forceinline__ float exp2_of(float product, const exponent &e) {
    return exp2_product(product, e.factor, e.least);
}

/* Makes the largest product of a row, and its sum relative to that, those of all that share it; o
 * is multiplied to fit. */
template <typename Plan, typename Sums>
static __device__ __forceinline__ void merge_rows(Sums &o, const exponent &to_log2, float largest[],
                                                  float sum[], float *shared) {
    constexpr int COUNT = 2 * Sums::HEIGHT;
    __syncthreads(); /* the tiles are no longer needed */
    UNROLL
    for (int r = 0; r < Sums::HEIGHT; ++r) {
        *left_by(shared, warp(), COUNT, 2 * r) = largest[r];
        *left_by(shared, warp(), COUNT, 2 * r + 1) = sum[r];
    }
    __syncthreads();
    const int first = warp() - split<Plan>();
    UNROLL
    for (int r = 0; r < Sums::HEIGHT; ++r) {
        float top = NO_SCORE, total = 0;
        for (int s = 0; s < Plan::SPLITS; ++s)
            top = fmaxf(top, *left_by(shared, first + s, COUNT, 2 * r));
        const float base = exp_base(top);
        for (int s = 0; s < Plan::SPLITS; ++s)
            total = fma_(*left_by(shared, first + s, COUNT, 2 * r + 1),
                         exp2_of(*left_by(shared, first + s, COUNT, 2 * r) - base, to_log2), total);
        const float shrink = exp2_of(largest[r] - base, to_log2);
        UNROLL
        for (int c = 0; c < Sums::WIDTH; ++c)
            o.at(r, c) *= shrink;
        largest[r] = top;
        sum[r] = total;
    }
}

#endif
