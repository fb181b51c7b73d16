/*
 * The step of attention v2 between its products: softmax of rows of scores, and its gradient, with
 * a warp for each row. P and dS may lie where the scores and dP did: a thread reads an element
 * before it writes it, and no other thread does either.
 */
#ifndef ASSAY_ATTENTION_V2_SOFTMAX_H
#define ASSAY_ATTENTION_V2_SOFTMAX_H

#include "kernels/attention/attention.h"

enum { LANES = 32, ROWS_PER_BLOCK = 4 };
static constexpr unsigned ALL_LANES = 0xffffffff;

/* A NaN is dropped where it meets a number, as by fmaxf. */
static __device__ __forceinline__ float warp_max(float x) {
    for (int step = LANES / 2; step > 0; step /= 2)
        x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, step));
    return x;
}

static __device__ __forceinline__ float warp_sum(float x) {
    for (int step = LANES / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(ALL_LANES, x, step);
    return x;
}

/* The block's first row, the thread's warp's, of a grid over rows. */
static __device__ __forceinline__ int64_t first_row() {
    return (int64_t)blockIdx.x * ROWS_PER_BLOCK + threadIdx.y;
}
static __device__ __forceinline__ int64_t row_step() {
    return (int64_t)gridDim.x * ROWS_PER_BLOCK;
}

/* p and lse of `scores`, heads * sq rows. Scores of invisible keys are not read. The maximum loses
 * a NaN, the sum does not. */
template <typename T>
static __global__ void softmax(sizes n, int64_t heads, const float *scores, T *p, rows<float> lse) {
    const int lane = (int)threadIdx.x;
    for (int64_t r = first_row(); r < heads * n.sq; r += row_step()) {
        const int64_t keys = visible_keys(n, r % n.sq);
        const float *s = scores + r * n.sk;
        float maximum = NO_SCORE, sum = 0;
        for (int64_t j = lane; j < keys; j += LANES)
            maximum = fmaxf(maximum, s[j]);
        const float base = exp_base(warp_max(maximum));
        for (int64_t j = lane; j < keys; j += LANES)
            sum += exp_(s[j] - base);
        sum = warp_sum(sum);
        const float inverse = sum == 0 ? 0.0f : 1.0f / sum;
        for (int64_t j = lane; j < n.sk; j += LANES)
            p[r * n.sk + j] = narrow<T>(j < keys ? exp_(s[j] - base) * inverse : 0.0f);
        if (lane == 0)
            row(lse, r / n.sq)[r % n.sq] = base + log_(sum);
    }
}

/* P = exp(S - lse) and dS = P (dP - Δ), of heads * sq rows. */
template <typename T>
static __global__ void softmax_gradient(sizes n, int64_t heads, const float *scores,
                                        const float *dp, rows<const T> o, rows<const T> dout,
                                        rows<const float> lse, T *p, T *ds) {
    const int lane = (int)threadIdx.x;
    for (int64_t r = first_row(); r < heads * n.sq; r += row_step()) {
        const float row_lse = row(lse, r / n.sq)[r % n.sq];
        const int64_t keys = row_lse == NO_SCORE ? 0 : visible_keys(n, r % n.sq);
        float delta = 0;
        for (int64_t c = lane; c < n.d; c += LANES)
            delta = fma_(widen(row(dout, r)[c]), widen(row(o, r)[c]), delta);
        delta = warp_sum(delta);
        for (int64_t j = lane; j < n.sk; j += LANES) {
            const int64_t e = r * n.sk + j;
            const float probability = j < keys ? exp_(scores[e] - row_lse) : 0.0f;
            const float gradient = j < keys ? probability * (dp[e] - delta) : 0.0f;
            p[e] = narrow<T>(probability);
            ds[e] = narrow<T>(gradient);
        }
    }
}

/* Launches one of the kernels above. */
#define LAUNCH_ROWS(call, n, heads, ...)                                                           \
    ASSAY_LAUNCH((call)->stream, linear_grid((heads) * (n).sq, ROWS_PER_BLOCK),                    \
                 dim3(LANES, ROWS_PER_BLOCK), 0, __VA_ARGS__)

#endif
