/*
 * Backward of two modes of 128 x 128 in TF32, by wgmma, in three kernels, each of which has a row's
 * matrices in shared memory, of fp32 too many for one:
 *
 *     S = X V,    dW += S dY^T
 *     dS^T = dY^T W^T,    dV += X^T dS
 *     dS^T = dY^T W^T,    dX^T = V dS^T
 *
 * In TF32 wgmma takes operands in shared memory only with their lines along the sum. Where they are
 * not, left operands come to registers by ordinary loads, which may go across lines.
 *
 * Bytes: x and dy in, thrice dy and twice x, dx out; 64 KB a block for each factor's partial
 * gradient. Flops: as v1, and dS twice.
 */
#ifndef ASSAY_KRONECKER_HOPPER_BACK_TF32_H
#define ASSAY_KRONECKER_HOPPER_BACK_TF32_H

#include "kernels/kronecker/hopper_rows_tf32.h"

struct tf32_back {
    state<const float> x, dy;
    state<float> dx;
    factor<const float> w, v;
    float *dw, *dv; /* partial: (blocks, 128, 128) each */
    int64_t rows;
    bool x_packs, dy_packs, dx_packs;
};

/* A lane's left operand: by steps of k. */
typedef uint32_t tf32_operand[TF32_STEPS][4];

/* A lane's place: its line of its warpgroup's products, and the one 8 behind; its column of four.
 */
struct tf32_lane {
    int line, t;

    __device__ __forceinline__ tf32_lane() {
        const int thread = (int)made_anew(threadIdx.x);
        line = thread / 32 * 16 + thread % 32 / 4;
        t = thread % 4;
    }
};

/* The left operand whose lines are a matrix's columns. */
static __device__ __forceinline__ void take_columns(const unsigned char *matrix, tf32_operand &to) {
    const tf32_lane own;
#pragma unroll
    for (int s = 0; s < TF32_STEPS; ++s)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            to[s][i] = *reinterpret_cast<const uint32_t *>(
                matrix + tf32_place(s * TF32_STEP + own.t + i / 2 * 4, own.line + i % 2 * 8));
}

/* A lane's sums as a matrix; TRANSPOSED: its columns are the matrix's lines. */
template <bool TRANSPOSED>
static __device__ __forceinline__ void put_tf32_sums(const float (&sums)[ROW_SUMS],
                                                     unsigned char *matrix) {
    const tf32_lane own;
#pragma unroll
    for (int i = 0; i < ROW_SUMS; i += 2) {
        const int line = own.line + i / 2 % 2 * 8, column = i / 4 * 8 + 2 * own.t;
        if constexpr (TRANSPOSED) {
            *reinterpret_cast<float *>(matrix + tf32_place(column, line)) = sums[i];
            *reinterpret_cast<float *>(matrix + tf32_place(column + 1, line)) = sums[i + 1];
        } else {
            *reinterpret_cast<float2 *>(matrix + tf32_place(line, column)) =
                make_float2(sums[i], sums[i + 1]);
        }
    }
}

static __device__ __forceinline__ void put_tf32_partial(const float (&sums)[ROW_SUMS],
                                                        float *partial) {
    const tf32_lane own;
    float *const to = partial + (int64_t)blockIdx.x * ROW_EXTENT * ROW_EXTENT;
#pragma unroll
    for (int i = 0; i < ROW_SUMS; i += 2)
        *reinterpret_cast<float2 *>(to + (own.line + i / 2 % 2 * 8) * ROW_EXTENT + i / 4 * 8 +
                                    2 * own.t) = make_float2(sums[i], sums[i + 1]);
}

/* A factor as it is. */
static __device__ __forceinline__ void take_factor(const factor<const float> &f,
                                                   unsigned char *matrix) {
#pragma unroll 8
    for (int n = (int)threadIdx.x; n < ROW_EXTENT * ROW_EXTENT; n += TF32_THREADS) {
        const int line = n / ROW_EXTENT, column = n % ROW_EXTENT;
        *reinterpret_cast<float *>(matrix + tf32_place(line, column)) = f.w[line * f.row + column];
    }
}

/* sums = left right, the right one in shared memory; ADDS: plus what they are. */
template <bool ADDS>
static __device__ __forceinline__ void multiply_tf32(const tf32_operand &left, uint64_t right,
                                                     float (&sums)[ROW_SUMS]) {
    wgmma_fence();
#pragma unroll
    for (int s = 0; s < TF32_STEPS; ++s)
        wgmma_tf32(sums, left[s], tf32_step(right, s), ADDS || s > 0);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_results(sums);
}

/* dW. V is transposed, and its columns stand so that the sums of S are a left operand. */
static __global__ void __launch_bounds__(TF32_THREADS, 1) first_gradient_tf32(tf32_back p) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    unsigned char *const v = shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT;
    unsigned char *const x = v + TF32_MATRIX, *const dy = x + TF32_MATRIX;
    const int group = (int)threadIdx.x / ROW_GROUP, first = group * ROW_LINES;
    const auto group_barrier = [&] { barrier_sync(1 + group, ROW_GROUP); };
    const auto fetch = [&](const state<const float> &from, bool packs, int64_t row,
                           unsigned char *to) {
        if (row < p.rows)
            fetch_tf32_lines(from.data + row * from.stride, packs, first, to);
        cp_async_commit();
    };
    int64_t row = blockIdx.x;
    fetch(p.x, p.x_packs, row, x);
    fetch(p.dy, p.dy_packs, row, dy);
    transpose_factor<true>(p.v, v);
    fence_proxy_async();
    __syncthreads();
    const uint64_t of_v = wgmma_descriptor(shared_address(v), 0);
    const uint64_t of_dy = wgmma_descriptor(shared_address(dy), 0);
    const uint64_t lines = wgmma_descriptor(shared_address(x + first * TENSOR_LINE_BYTES), 0);
    float dw[ROW_SUMS] = {};
#pragma unroll 1
    for (; row < p.rows; row += gridDim.x) {
        cp_async_wait<1>();
        fence_proxy_async();
        group_barrier();
        float s[ROW_SUMS];
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < TF32_STEPS; ++k)
            wgmma_tf32(s, tf32_step(lines, k), tf32_step(of_v, k), k > 0);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_results(s);
        group_barrier(); /* all have read x */
        fetch(p.x, p.x_packs, row + gridDim.x, x);
        /* Without the bits that wgmma ignores: registers of their own, or nvcc lacks some. */
        tf32_operand left;
#pragma unroll
        for (int i = 0; i < ROW_SUMS; ++i)
            left[i / 4][i % 2 * 2 + i / 2 % 2] = __float_as_uint(s[i]) & 0xffffe000;
        cp_async_wait<1>();
        fence_proxy_async();
        __syncthreads();
        multiply_tf32<true>(left, of_dy, dw);
        __syncthreads(); /* both have read dY */
        fetch(p.dy, p.dy_packs, row + gridDim.x, dy);
    }
    cp_async_wait<0>();
    put_tf32_partial(dw, p.dw);
}

/* dV. */
static __global__ void __launch_bounds__(TF32_THREADS, 1) last_gradient_tf32(tf32_back p) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    unsigned char *const w = shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT;
    unsigned char *const x = w + TF32_MATRIX, *const dy = x + TF32_MATRIX;
    const int first = (int)threadIdx.x / ROW_GROUP * ROW_LINES;
    const auto fetch = [&](const state<const float> &from, bool packs, int64_t row,
                           unsigned char *to) {
        if (row < p.rows)
            fetch_tf32_lines(from.data + row * from.stride, packs, first, to);
        cp_async_commit();
    };
    int64_t row = blockIdx.x;
    fetch(p.dy, p.dy_packs, row, dy);
    fetch(p.x, p.x_packs, row, x);
    take_factor(p.w, w);
    fence_proxy_async();
    const uint64_t of_w = wgmma_descriptor(shared_address(w), 0);
    const uint64_t of_ds = wgmma_descriptor(shared_address(dy), 0);
    float dv[ROW_SUMS] = {};
#pragma unroll 1
    for (; row < p.rows; row += gridDim.x) {
        cp_async_wait<0>();
        __syncthreads();
        tf32_operand left;
        take_columns(dy, left);
        float ds[ROW_SUMS];
        multiply_tf32<false>(left, of_w, ds);
        __syncthreads(); /* both have read dY, where dS^T goes */
        put_tf32_sums<false>(ds, dy);
        take_columns(x, left);
        fence_proxy_async();
        __syncthreads();
        fetch(p.x, p.x_packs, row + gridDim.x, x);
        multiply_tf32<true>(left, of_ds, dv);
        __syncthreads(); /* both have read dS^T */
        fetch(p.dy, p.dy_packs, row + gridDim.x, dy);
    }
    cp_async_wait<0>();
    put_tf32_partial(dv, p.dv);
}

/* dX. */
static __global__ void __launch_bounds__(TF32_THREADS, 1) cotangent_tf32(tf32_back p) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    unsigned char *const w = shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT;
    unsigned char *const buffers = w + TF32_MATRIX;
    const int first = (int)threadIdx.x / ROW_GROUP * ROW_LINES;
    const auto fetch = [&](int64_t row, int buffer) {
        if (row < p.rows)
            fetch_tf32_lines(p.dy.data + row * p.dy.stride, p.dy_packs, first,
                             buffers + buffer * TF32_MATRIX);
        cp_async_commit();
    };
    int64_t row = blockIdx.x;
    fetch(row, 0);
    take_factor(p.w, w);
    tf32_operand v;
    {
        const tf32_lane own;
#pragma unroll
        for (int s = 0; s < TF32_STEPS; ++s)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                v[s][i] = __float_as_uint(
                    p.v.w[(own.line + i % 2 * 8) * p.v.row + s * TF32_STEP + own.t + i / 2 * 4]);
    }
    fence_proxy_async();
    const uint64_t of_w = wgmma_descriptor(shared_address(w), 0);
#pragma unroll 1
    for (int buffer = 0; row < p.rows; row += gridDim.x, buffer ^= 1) {
        unsigned char *const matrix = buffers + buffer * TF32_MATRIX;
        fetch(row + gridDim.x, buffer ^ 1);
        cp_async_wait<1>();
        __syncthreads();
        float sums[ROW_SUMS];
        {
            tf32_operand left;
            take_columns(matrix, left);
            multiply_tf32<false>(left, of_w, sums);
        }
        __syncthreads(); /* both have read dY */
        put_tf32_sums<true>(sums, matrix);
        fence_proxy_async();
        __syncthreads();
        multiply_tf32<false>(v, wgmma_descriptor(shared_address(matrix), 0), sums);
        __syncthreads(); /* both have read dS */
        put_tf32_sums<true>(sums, matrix);
        __syncthreads();
        store_tf32_lines(matrix, first, p.dx.data + row * p.dx.stride, p.dx_packs,
                         [] { __syncthreads(); });
    }
    cp_async_wait<0>();
}

#endif
