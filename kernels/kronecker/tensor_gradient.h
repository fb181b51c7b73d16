/*
 * Backward of a pass of kronecker v3_tensor. A tile of the pass's input makes the states before its
 * stages again; all but the first and the last of them wait in global memory. Then the tile's
 * cotangent walks back through the stages, and at each the products of the two are added to dW,
 *
 *     dW[i, j] = sum over columns c of in[c, i] cotangent[c, j],
 *
 * which stays in registers from tile to tile: a warp has some j, and some of the columns. At the
 * end the warps' sums are added in order, and a second kernel adds the blocks'.
 */
#ifndef ASSAY_KRONECKER_TENSOR_GRADIENT_H
#define ASSAY_KRONECKER_TENSOR_GRADIENT_H

#include "kernels/common/partials.h"
#include "kernels/kronecker/tensor_stage.h"

constexpr int BACK_THREADS = 256, BACK_WARPS = BACK_THREADS / 32;

template <int N> struct gradient_share {
    static constexpr int GROUPS = N == 128 ? 8 : N == 64 ? 4 : 1; /* of j */
    static constexpr int SPLITS = BACK_WARPS / GROUPS;            /* of the columns */
    static constexpr int ROWS = N < 16 ? 1 : N / 16, COLUMNS = N / 8 / GROUPS;
    typedef float sums[ROWS][COLUMNS][4];
};

/* Matrices of two blocks of columns and 8 i, as operands that are summed over the columns. */
template <int N, bool LAST>
static __device__ __forceinline__ void take_pair(const unsigned char *tile, const tile_stage<N> &s,
                                                 int block, int i, uint32_t (&word)[4]) {
    const int lane = (int)threadIdx.x % 32, matrix = lane / 8 % 4;
    const int b = block + matrix % 2;
    const void *const line = tile + s.line_at(b < s.blocks ? b : block,
                                              N < 16 ? 0 : i + matrix / 2, lane % 8);
    if constexpr (N < 16) {
        uint32_t two[2];
        if (LAST)
            ldmatrix_x2_trans(two, line);
        else
            ldmatrix_x2(two, line);
        word[0] = two[0];
        word[1] = two[1];
        word[2] = word[3] = 0;
    } else if (LAST) {
        ldmatrix_x4_trans(word, line);
    } else {
        ldmatrix_x4(word, line);
    }
    if (block + 1 >= s.blocks)
        word[1] = word[3] = 0;
}

template <int N, bool LAST>
static __device__ __forceinline__ void add_gradient(const unsigned char *in,
                                                    const unsigned char *cotangent,
                                                    const tile_stage<N> &s,
                                                    typename gradient_share<N>::sums &sum) {
    typedef gradient_share<N> share;
    const int warp = (int)threadIdx.x / 32, group = warp % share::GROUPS;
#pragma unroll 1
    for (int block = warp / share::GROUPS * 2; block < s.blocks; block += share::SPLITS * 2) {
        uint32_t right[(share::COLUMNS + 1) / 2][4];
#pragma unroll
        for (int j = 0; j < share::COLUMNS; j += 2)
            take_pair<N, LAST>(cotangent, s, block, group * share::COLUMNS + j, right[j / 2]);
#pragma unroll
        for (int i = 0; i < share::ROWS; ++i) {
            uint32_t left[4];
            take_pair<N, LAST>(in, s, block, 2 * i, left);
            const uint32_t a[4] = {left[0], left[2], left[1], left[3]};
#pragma unroll
            for (int j = 0; j < share::COLUMNS; ++j) {
                const uint32_t b[2] = {right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]};
                mma_m16n8k16_bf16(sum[i][j], a, b);
            }
        }
    }
}

/* The block's dW of a stage: its warps' sums in order. */
template <int N>
static __device__ __forceinline__ void put_gradient(const typename gradient_share<N>::sums &sum,
                                                    float *shared, float *partial) {
    typedef gradient_share<N> share;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    float *const own = shared + warp / share::GROUPS * N * N;
#pragma unroll
    for (int i = 0; i < share::ROWS; ++i)
#pragma unroll
        for (int j = 0; j < share::COLUMNS; ++j)
#pragma unroll
            for (int e = 0; e < (N < 16 ? 2 : 4); ++e)
                own[(16 * i + lane / 4 + e / 2 * 8) * N +
                    (warp % share::GROUPS * share::COLUMNS + j) * 8 + lane % 4 * 2 + e % 2] =
                    sum[i][j][e];
    __syncthreads();
    for (int e = (int)threadIdx.x; e < N * N; e += BACK_THREADS) {
        float total = shared[e];
        for (int split = 1; split < share::SPLITS; ++split)
            total += shared[split * N * N + e];
        partial[e] = total;
    }
    __syncthreads();
}

/* A tile between two of its stages, as it lies in shared memory. */
static __device__ __forceinline__ void save_tile(const unsigned char *tile, int pieces,
                                                 unsigned char *saved) {
    for (int c = (int)threadIdx.x; c < pieces; c += BACK_THREADS)
        reinterpret_cast<pack_bits *>(saved)[c] =
            load_whole(reinterpret_cast<const pack_bits *>(tile) + c);
}
static __device__ __forceinline__ void fetch_saved(const unsigned char *saved, int pieces,
                                                   unsigned char *tile) {
    for (int c = (int)threadIdx.x; c < pieces; c += BACK_THREADS)
        cp_async_16(tile + c * PACK_BYTES, saved + c * PACK_BYTES);
    cp_async_commit();
}

struct tensor_back {
    const bf16 *in, *cotangent;
    bf16 *out;
    int64_t in_stride, cotangent_stride, out_stride;
    bool in_packs, cotangent_packs, out_packs;
    unsigned char *saved; /* M - 2 tiles a block */
    float *partial;       /* (M, blocks, N, N) */
};

template <int N, int M>
static __global__ void __launch_bounds__(BACK_THREADS)
    backward_tensor(tensor_back call, tensor_factors w, tensor_pass p, int tile_bytes) {
    typedef gradient_share<N> share;
    constexpr int LOG = log2_of(N), FACTOR = tensor_factor<N>::elements;
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    unsigned char *const state = shared, *const cotangent = shared + tile_bytes;
    bf16 *const factors = reinterpret_cast<bf16 *>(shared + 2 * tile_bytes);
    bf16 *const adjoints = factors + (M - 1) * FACTOR;
    for (int m = 0; m < M; ++m) {
        if (m + 1 < M)
            put_tensor_factor<N, BACK_THREADS>(w.of[m], false, {factors + m * FACTOR});
        put_tensor_factor<N, BACK_THREADS>(w.of[m], true, {adjoints + m * FACTOR});
    }
    unsigned char *const saved =
        call.saved + (M > 2 ? (int64_t)blockIdx.x * (M - 2) * tile_bytes : 0);
    typename share::sums sums[M] = {};
    for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        const tensor_view x = view_of(p, LOG, call.in_stride, tile),
                          dy = view_of(p, LOG, call.cotangent_stride, tile),
                          dx = view_of(p, LOG, call.out_stride, tile);
        fetch_tile<BACK_THREADS>(call.in, call.in_packs, x, state);
        fetch_tile<BACK_THREADS>(call.cotangent, call.cotangent_packs, dy, cotangent);
        cp_async_wait<1>();
        __syncthreads();
#pragma unroll 1
        for (int m = 0; m + 1 < M; ++m) {
            if (m > 0) {
                save_tile(state, x.pieces, saved + (m - 1) * tile_bytes);
                __syncthreads();
            }
            contract_stage<N, BACK_WARPS>(state, stage_of<N>(x, m), {factors + m * FACTOR});
            __syncthreads();
        }
        cp_async_wait<0>();
        __syncthreads();
#pragma unroll
        for (int m = M - 1; m >= 0; --m) {
            const tile_stage<N> s = stage_of<N>(x, m);
            if (m == 0 && s.log_step == 0)
                add_gradient<N, true>(state, cotangent, s, sums[m]);
            else
                add_gradient<N, false>(state, cotangent, s, sums[m]);
            __syncthreads();
            if (m == 1)
                fetch_tile<BACK_THREADS>(call.in, call.in_packs, x, state);
            else if (m > 1)
                fetch_saved(saved + (m - 2) * tile_bytes, x.pieces, state);
            contract_stage<N, BACK_WARPS>(cotangent, s, {adjoints + m * FACTOR});
            cp_async_wait<0>();
            __syncthreads();
        }
        store_tile<BACK_THREADS>(cotangent, dx, call.out, call.out_packs);
        __syncthreads();
    }
#pragma unroll
    for (int m = 0; m < M; ++m)
        put_gradient<N>(sums[m], reinterpret_cast<float *>(shared),
                        call.partial + ((int64_t)m * gridDim.x + blockIdx.x) * N * N);
}

struct tensor_gradients {
    const float *partial;
    int64_t blocks;
    factor<bf16> dw[MOST_PASS_MODES];
};

static __global__ void sum_tensor_gradients(tensor_gradients all, int extent) {
    const int64_t size = (int64_t)extent * extent;
    const factor<bf16> &dw = all.dw[blockIdx.y];
    add_partials<bf16>(all.partial + blockIdx.y * all.blocks * size, all.blocks, size, dw.w, extent,
                       dw.row);
}

#endif
