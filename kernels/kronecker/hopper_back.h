/*
 * Backward of two modes of 128 x 128 in bf16, by wgmma. With X (i, e) a row of x, dY (a, j) its
 * cotangent, W (i, a) the first factor and V (e, j) the last one,
 *
 *     S = X V,   dW += S dY^T,   dS = W dY,   dX = dS V^T,   dV += X^T dS.
 *
 * A block's two warpgroups have 64 lines each of every product. S and dS go from the sums to the
 * left operand within registers, rounded to bf16; only dV's right operand goes by shared memory. dW
 * and dV stay in registers until the last row, and a second kernel adds the blocks'.
 *
 * Bytes: x and dy in, dx out, once; 128 KB a block for partial gradients. Flops: as v1.
 */
#ifndef ASSAY_KRONECKER_HOPPER_BACK_H
#define ASSAY_KRONECKER_HOPPER_BACK_H

#include "kernels/kronecker/hopper_rows.h"
#include "kernels/kronecker/strip_sums.h"

constexpr int BACK_THREADS = 2 * ROW_GROUP;
constexpr int BACK_BUFFER = 2 * ROW_MATRIX; /* a row of x, and of dy */
constexpr size_t BACK_SHARED = TENSOR_ALIGNMENT + 3 * ROW_MATRIX + ROW_BUFFERS * BACK_BUFFER;

struct hopper_back {
    state<const bf16> x, dy;
    state<bf16> dx;
    factor<const bf16> w, v;
    float *dw, *dv; /* partial: (blocks, 128, 128) each */
    int64_t rows;
    bool x_packs, dy_packs, dx_packs;
};

/* A lane's sums, rounded, as wgmma takes a left operand: by steps of k. */
typedef uint32_t row_operand[ROW_STEPS][4];

static __device__ __forceinline__ void round_sums(const float (&sums)[ROW_SUMS], row_operand &to) {
#pragma unroll
    for (int s = 0; s < ROW_STEPS; ++s)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const __nv_bfloat162 two =
                __floats2bfloat162_rn(sums[8 * s + 2 * i], sums[8 * s + 2 * i + 1]);
            memcpy(&to[s][i], &two, sizeof two);
        }
}

/* A lane's part of 128 x 128 partial sums. */
static __device__ __forceinline__ void put_partial(const float (&sums)[ROW_SUMS], int line,
                                                   float *partial) {
    const int t = (int)threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < ROW_SUMS; i += 2)
        *reinterpret_cast<float2 *>(partial + (line + i / 2 % 2 * 8) * ROW_EXTENT + i / 4 * 8 +
                                    2 * t) = make_float2(sums[i], sums[i + 1]);
}

static __global__ void __launch_bounds__(BACK_THREADS, 1) backward_rows(hopper_back p) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    unsigned char *const v = shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT;
    unsigned char *const w = v + ROW_MATRIX, *const ds = w + ROW_MATRIX;
    unsigned char *const buffers = ds + ROW_MATRIX;
    const int group = (int)threadIdx.x / ROW_GROUP, first = group * ROW_LINES;
    const auto fetch = [&](int64_t row, int buffer) {
        unsigned char *const to = buffers + buffer * BACK_BUFFER;
        if (row < p.rows) {
            fetch_row_lines<BACK_THREADS, ROW_EXTENT>(p.x.data + row * p.x.stride, ROW_EXTENT,
                                                      p.x_packs, 0, to);
            fetch_row_lines<BACK_THREADS, ROW_EXTENT>(p.dy.data + row * p.dy.stride, ROW_EXTENT,
                                                      p.dy_packs, 0, to + ROW_MATRIX);
        }
        cp_async_commit();
    };
    fetch_row_lines<BACK_THREADS, ROW_EXTENT>(p.v.w, p.v.row, factor_takes_packs(p.v), 0, v);
    fetch_row_lines<BACK_THREADS, ROW_EXTENT>(p.w.w, p.w.row, factor_takes_packs(p.w), 0, w);
    int64_t row = blockIdx.x;
    fetch(row, 0);
    /* Of operands whose lines are along k, and of those whose lines are not. */
    constexpr uint64_t along = ROW_STEP * sizeof(bf16) >> 4, box = ROW_BOX >> 4;
    constexpr uint64_t across = ROW_STEP * TENSOR_LINE_BYTES >> 4;
    const uint64_t of_v = wgmma_descriptor(shared_address(v), ROW_BOX);
    const uint64_t of_ds = wgmma_descriptor(shared_address(ds), ROW_BOX);
    const uint64_t w_lines = wgmma_descriptor(shared_address(w + first * TENSOR_LINE_BYTES), 0);
    float dw[ROW_SUMS] = {}, dv[ROW_SUMS] = {};
#pragma unroll 1
    for (int buffer = 0; row < p.rows; row += gridDim.x, buffer ^= 1) {
        unsigned char *const x = buffers + buffer * BACK_BUFFER, *const dy = x + ROW_MATRIX;
        fetch(row + gridDim.x, buffer ^ 1);
        cp_async_wait<1>();
        fence_proxy_async();
        __syncthreads();
        const uint64_t of_x = wgmma_descriptor(shared_address(x), ROW_BOX);
        const uint64_t of_dy = wgmma_descriptor(shared_address(dy), ROW_BOX);
        const uint64_t x_lines = of_x + (uint64_t)(first * TENSOR_LINE_BYTES >> 4);
        const uint64_t x_columns = of_x + group * box;
        float sums[ROW_SUMS];
        row_operand left;
        wgmma_fence();
#pragma unroll
        for (int s = 0; s < ROW_STEPS; ++s)
            wgmma<bf16, false, true>(sums, x_lines + s / 4 * box + s % 4 * along, of_v + s * across,
                                     s > 0);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_results(sums);
        round_sums(sums, left);
        wgmma_fence();
#pragma unroll
        for (int s = 0; s < ROW_STEPS; ++s)
            wgmma<bf16, false, true>(sums, w_lines + s / 4 * box + s % 4 * along,
                                     of_dy + s * across, s > 0);
        wgmma_commit();
#pragma unroll
        for (int s = 0; s < ROW_STEPS; ++s)
            wgmma<bf16, false>(dw, left[s], of_dy + s / 4 * box + s % 4 * along, true);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_results(sums);
        wgmma_results(dw);
        round_sums(sums, left);
        put_row_sums(sums, first, ds);
        fence_proxy_async();
        __syncthreads();
        wgmma_fence();
#pragma unroll
        for (int s = 0; s < ROW_STEPS; ++s)
            wgmma<bf16, false>(sums, left[s], of_v + s / 4 * box + s % 4 * along, s > 0);
        wgmma_commit();
#pragma unroll
        for (int s = 0; s < ROW_STEPS; ++s)
            wgmma<bf16, true, true>(dv, x_columns + s * across, of_ds + s * across, true);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_results(sums);
        wgmma_results(dv);
        __syncthreads(); /* both have read X, where dX passes on its way out */
        put_row_sums(sums, first, x);
        barrier_sync(1 + group, ROW_GROUP);
        store_row_lines(x, first, p.dx.data + row * p.dx.stride, p.dx_packs,
                        [] { __syncthreads(); });
    }
    cp_async_wait<0>();
    const int line = first + (int)threadIdx.x % ROW_GROUP / 32 * 16 + (int)threadIdx.x % 32 / 4;
    const int64_t own = (int64_t)blockIdx.x * ROW_EXTENT * ROW_EXTENT;
    put_partial(dw, line, p.dw + own);
    put_partial(dv, line, p.dv + own);
}

#endif
