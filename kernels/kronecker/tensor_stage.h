/*
 * One stage in a tile of kronecker v3_tensor, by mma: out[c, j] = sum over i of in[c, i] f[j, i]. A
 * warp takes all elements of some blocks of columns to registers before it writes over them, and no
 * other warp has them, so that a stage needs no second tile.
 */
#ifndef ASSAY_KRONECKER_TENSOR_STAGE_H
#define ASSAY_KRONECKER_TENSOR_STAGE_H

#include "kernels/kronecker/tensor_tile.h"

/* A factor in shared memory: lines of the elements of one sum, 16 bytes more apart, so that eight
 * lines' pieces lie in different banks. */
template <int N> struct tensor_factor {
    static constexpr int stride = N + PIECE, elements = N * stride;
    bf16 *data;

    __device__ __forceinline__ const bf16 *line(int j, int k) const {
        return data + j * stride + 8 * k;
    }
};

/* The factor, or with `adjoint` its transpose, as lines of sums. */
template <int N, int THREADS>
static __device__ __forceinline__ void put_tensor_factor(const factor<const bf16> &w, bool adjoint,
                                                         const tensor_factor<N> &to) {
    for (int e = (int)threadIdx.x; e < N * N; e += THREADS) {
        const int i = e / N, j = e % N;
        to.data[adjoint ? i * tensor_factor<N>::stride + j : j * tensor_factor<N>::stride + i] =
            w.w[i * w.row + j];
    }
}

static __device__ __forceinline__ uint32_t two_bf16(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    uint32_t word;
    memcpy(&word, &pair, sizeof word);
    return word;
}

constexpr int ITEM = 4; /* blocks of columns that a warp has at a time */

/* The matrices of an item: word[b][k] of block b and elements 8 k … 8 k + 7. Blocks that are not
 * there are the first one. */
template <int N, bool LAST>
static __device__ __forceinline__ void take_item(const unsigned char *tile, const tile_stage<N> &s,
                                                 int first, uint32_t (&word)[ITEM][N / 8]) {
    constexpr int K = N / 8;
    const int lane = (int)threadIdx.x % 32;
    uint32_t four[ITEM * K / 4][4];
#pragma unroll
    for (int call = 0; call < ITEM * K / 4; ++call) {
        const int matrix = call * 4 + lane / 8, b = first + matrix / K;
        const void *const line =
            tile + s.line_at(b < s.blocks ? b : first, matrix % K, lane % 8);
        if (LAST)
            ldmatrix_x4(four[call], line);
        else
            ldmatrix_x4_trans(four[call], line);
    }
#pragma unroll
    for (int m = 0; m < ITEM * K; ++m)
        word[m / K][m % K] = four[m / 4][m % 4];
    __syncwarp(); /* all have read what any of them may write now */
}

/* The factor's matrices of 16 lines from `line` on and elements 16 k …: those of eight lines
 * first, or with N = 8 one matrix. */
template <int N>
static __device__ __forceinline__ void take_factor(const tensor_factor<N> &f, int line, int k,
                                                   uint32_t (&low)[2], uint32_t (&high)[2]) {
    const int lane = (int)threadIdx.x % 32;
    if constexpr (N == 8) {
        uint32_t one[1];
        ldmatrix_x1(one, f.line(lane % 8, 0));
        low[0] = one[0];
        low[1] = high[0] = high[1] = 0;
    } else {
        uint32_t four[4];
        ldmatrix_x4(four, f.line(line + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
        low[0] = four[0];
        low[1] = four[1];
        high[0] = four[2];
        high[1] = four[3];
    }
}

/* The columns of a stage that is not the last axis: D (j, columns) = f times the item. */
template <int N, int WARPS>
static __device__ __forceinline__ void contract_inner(unsigned char *tile, const tile_stage<N> &s,
                                                      const tensor_factor<N> &f) {
    constexpr int STEPS = N < 16 ? 1 : N / 16;
    const int lane = (int)threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll 1
    for (int first = (int)threadIdx.x / 32 * ITEM; first < s.blocks; first += WARPS * ITEM) {
        uint32_t in[ITEM][N / 8];
        take_item<N, false>(tile, s, first, in);
#pragma unroll
        for (int m = 0; m < STEPS; ++m) {
            float sum[ITEM][4] = {};
#pragma unroll
            for (int k = 0; k < STEPS; ++k) {
                uint32_t low[2], high[2];
                take_factor(f, 16 * m, k, low, high);
                const uint32_t a[4] = {low[0], high[0], low[1], high[1]};
#pragma unroll
                for (int b = 0; b < ITEM; ++b) {
                    const uint32_t right[2] = {in[b][2 * k], N < 16 ? 0 : in[b][N < 16 ? 0 : 2 * k + 1]};
                    mma_m16n8k16_bf16(sum[b], a, right);
                }
            }
#pragma unroll
            for (int b = 0; b < ITEM; ++b) {
                if (first + b >= s.blocks)
                    break;
#pragma unroll
                for (int half = 0; half < (N < 16 ? 1 : 2); ++half)
                    *reinterpret_cast<uint32_t *>(tile +
                                                  s.line_at(first + b, 2 * m + half, g) + 4 * t) =
                        two_bf16(sum[b][2 * half], sum[b][2 * half + 1]);
            }
        }
    }
}

/* The columns of the last axis: D (columns, j) = the item times f. */
template <int N, int WARPS>
static __device__ __forceinline__ void contract_last(unsigned char *tile, const tile_stage<N> &s,
                                                     const tensor_factor<N> &f) {
    constexpr int STEPS = N < 16 ? 1 : N / 16;
    const int lane = (int)threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll 1
    for (int first = (int)threadIdx.x / 32 * ITEM; first < s.blocks; first += WARPS * ITEM) {
        uint32_t in[ITEM][N / 8];
        take_item<N, true>(tile, s, first, in);
#pragma unroll
        for (int n = 0; n < STEPS; ++n) {
            float sum[ITEM / 2][2][4] = {};
#pragma unroll
            for (int k = 0; k < STEPS; ++k) {
                uint32_t low[2], high[2];
                take_factor(f, 16 * n, k, low, high);
#pragma unroll
                for (int b = 0; b < ITEM; b += 2) {
                    constexpr int UPPER = N < 16 ? 0 : 1;
                    const uint32_t a[4] = {in[b][2 * k], in[b + 1][2 * k],
                                           N < 16 ? 0 : in[b][2 * k + UPPER],
                                           N < 16 ? 0 : in[b + 1][2 * k + UPPER]};
                    mma_m16n8k16_bf16(sum[b / 2][0], a, low);
                    if (N >= 16)
                        mma_m16n8k16_bf16(sum[b / 2][1], a, high);
                }
            }
#pragma unroll
            for (int b = 0; b < ITEM; ++b) {
                if (first + b >= s.blocks)
                    break;
#pragma unroll
                for (int half = 0; half < (N < 16 ? 1 : 2); ++half)
                    *reinterpret_cast<uint32_t *>(tile +
                                                  s.line_at(first + b, 2 * n + half, g) + 4 * t) =
                        two_bf16(sum[b / 2][half][b % 2 * 2], sum[b / 2][half][b % 2 * 2 + 1]);
            }
        }
    }
}

template <int N, int WARPS>
static __device__ __forceinline__ void contract_stage(unsigned char *tile, const tile_stage<N> &s,
                                                      const tensor_factor<N> &f) {
    if (s.log_step == 0)
        contract_last<N, WARPS>(tile, s, f);
    else
        contract_inner<N, WARPS>(tile, s, f);
}

/* The factors of a pass, in the order of its stages. */
struct tensor_factors {
    factor<const bf16> of[MOST_PASS_MODES];
};

/* Stage `mode` of a pass whose tile has so many units. */
template <int N>
static __device__ __forceinline__ tile_stage<N> stage_of(const tensor_view &v, int mode) {
    return {v.log_columns + mode * log2_of(N), v.pieces / N};
}

constexpr int tensor_threads(int extent) {
    return extent == 16 ? 512 : 256;
}

template <int N>
static __global__ void __launch_bounds__(tensor_threads(N), N == 16 ? 1 : 2)
    forward_tensor(const bf16 *in, int64_t in_stride, bool in_packs, tensor_factors w, bf16 *out,
                   int64_t out_stride, bool out_packs, tensor_pass p) {
    constexpr int THREADS = tensor_threads(N);
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    bf16 *const factors = reinterpret_cast<bf16 *>(
        shared + ((size_t)sizeof(bf16) << (log2_of(N) * p.modes + p.log_columns + p.log_units)));
    for (int m = 0; m < p.modes; ++m)
        put_tensor_factor<N, THREADS>(w.of[m], false, {factors + m * tensor_factor<N>::elements});
    for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        const tensor_view from = view_of(p, log2_of(N), in_stride, tile),
                          to = view_of(p, log2_of(N), out_stride, tile);
        fetch_tile<THREADS>(in, in_packs, from, shared);
        cp_async_wait<0>();
        __syncthreads();
        for (int m = 0; m < p.modes; ++m) {
            contract_stage<N, THREADS / 32>(shared, stage_of<N>(from, m),
                                            {factors + m * tensor_factor<N>::elements});
            __syncthreads();
        }
        store_tile<THREADS>(shared, to, out, out_packs);
        __syncthreads();
    }
}

#endif
