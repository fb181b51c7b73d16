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

static __host__ __device__ __forceinline__ constexpr int back_threads(int extent) {
    return extent == 32 ? 512 : 256;
}

/* Of dW, a warp has the rows of one of `down` groups and the columns of one of `across`; warps that
 * have the same ones take different columns of the states. */
static __host__ __device__ __forceinline__ constexpr int groups_down(int extent) {
    return extent >= 64 ? 2 : 1;
}
static __host__ __device__ __forceinline__ constexpr int groups_across(int extent) {
    return extent >= 64 ? 4 : extent == 32 ? 2 : 1;
}
static __host__ __device__ __forceinline__ constexpr int gradient_splits(int extent) {
    return back_threads(extent) / 32 / (groups_down(extent) * groups_across(extent));
}

template <int N> struct tensor_share {
    static constexpr int ACROSS = groups_across(N), GROUPS = groups_down(N) * ACROSS;
    static constexpr int SPLITS = gradient_splits(N);
    static constexpr int ROWS = N < 16 ? 1 : N / 16 / groups_down(N), COLUMNS = N / 8 / ACROSS;
    typedef float sums[ROWS][COLUMNS][4];
    int split, row, column; /* the first of the warp's */

    __device__ __forceinline__ tensor_share() {
        const int warp = (int)threadIdx.x / 32, group = warp % GROUPS;
        split = warp / GROUPS;
        row = group / ACROSS * ROWS * 16;
        column = group % ACROSS * COLUMNS * 8;
    }
};

/* Operands that run along columns: a piece of them and the next one, in that order, of elements
 * 8 i … 8 i + 7, and the same of the next eight. N = 8 has no others. */
template <typename T, int N, bool LAST> struct tensor_pair {
    typedef tile_places<T, N, LAST> places;
    static constexpr bool BY_MATRICES = !(LAST && sizeof(T) == sizeof(float));

    /* The lane's part of the places that take() reads, from element `first` on. */
    static __device__ __forceinline__ uint32_t own(const places &at, int first) {
        const int lane = own_lane(), g = lane / 4;
        if (!BY_MATRICES)
            return at.column(lane % 4) ^ at.element(g) ^ at.element(first) ^ (uint32_t)(g % 4 * 4);
        const uint32_t eight = N > 8 && lane / 16 != 0 ? at.element(8) : 0;
        return (LAST ? at.column(lane % 8) : at.element(lane % 8)) ^ eight ^ at.element(first);
    }

    /* With the columns at `base`; `next`: whether there is a second piece of them. */
    static __device__ __forceinline__ void take(const unsigned char *tile, const places &at,
                                                uint32_t own, uint32_t base, bool next, int i,
                                                uint32_t (&word)[4]) {
        const uint32_t place = base ^ own ^ at.known_element(8 * i);
        const uint32_t second = at.known_column(PIECE<T>);
        if constexpr (!BY_MATRICES) {
#pragma unroll
            for (int m = 0; m < 4; ++m)
                word[m] = word_at(tile, place ^ (m % 2 == 0 ? 0 : second) ^
                                            (m / 2 == 0 ? 0 : at.known_element(8)));
        } else {
            const void *const line =
                tile + (place ^ (own_lane() / 8 % 2 != 0 && next ? second : 0));
            if constexpr (N == 8) {
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
        }
        if (!next)
            word[1] = word[3] = 0;
    }
};

template <bool LAST, typename T, int N>
static __device__ __forceinline__ void
add_gradient(const unsigned char *in, const unsigned char *cotangent, const tensor_mode &s,
             const tensor_factor<T, N> &, typename tensor_share<N>::sums &sum) {
    typedef tensor_share<N> share;
    typedef tensor_pair<T, N, LAST> operands;
    const tile_places<T, N, LAST> at(s.log_step, s.columns);
    const share own;
    const uint32_t of_in = operands::own(at, own.row), of_cotangent = operands::own(at, own.column);
#pragma unroll 1
    for (int c = own.split * 2 * PIECE<T>; c < s.columns; c += share::SPLITS * 2 * PIECE<T>) {
        const uint32_t base = at.column(c);
        const bool next = c + PIECE<T> < s.columns;
        uint32_t right[(share::COLUMNS + 1) / 2][4];
#pragma unroll
        for (int j = 0; j < share::COLUMNS; j += 2)
            operands::take(cotangent, at, of_cotangent, base, next, j, right[j / 2]);
#pragma unroll
        for (int i = 0; i < share::ROWS; ++i) {
            uint32_t left[4];
            operands::take(in, at, of_in, base, next, 2 * i, left);
            const uint32_t a[4] = {left[0], left[2], left[1], left[3]};
#pragma unroll
            for (int j = 0; j < share::COLUMNS; ++j) {
                const uint32_t b[2] = {right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]};
                multiply(T(), sum[i][j], a, b);
            }
        }
    }
}

/* The block's dW of a stage: its warps' sums in order. */
template <int N>
static __device__ __forceinline__ void put_gradient(const typename tensor_share<N>::sums &sum,
                                                    float *shared, float *partial) {
    typedef tensor_share<N> share;
    const share own;
    const int lane = own_lane();
    float *const to = shared + own.split * N * N;
#pragma unroll
    for (int i = 0; i < share::ROWS; ++i)
#pragma unroll
        for (int j = 0; j < share::COLUMNS; ++j)
#pragma unroll
            for (int e = 0; e < (N == 8 ? 2 : 4); ++e)
                to[(own.row + 16 * i + lane / 4 + e / 2 * 8) * N + own.column + 8 * j +
                   lane % 4 * 2 + e % 2] = sum[i][j][e];
    __syncthreads();
    for (int e = (int)threadIdx.x; e < N * N; e += back_threads(N)) {
        float total = shared[e];
        for (int split = 1; split < share::SPLITS; ++split)
            total += shared[split * N * N + e];
        partial[e] = total;
    }
    __syncthreads();
}

/* A tile between two of its stages, as it lies in shared memory. */
template <int THREADS>
static __device__ __forceinline__ void save_tile(const unsigned char *tile, int pieces,
                                                 unsigned char *saved) {
    for (int c = (int)threadIdx.x; c < pieces; c += THREADS)
        reinterpret_cast<pack_bits *>(saved)[c] =
            load_whole(reinterpret_cast<const pack_bits *>(tile) + c);
}
template <int THREADS>
static __device__ __forceinline__ void fetch_saved(const unsigned char *saved, int pieces,
                                                   unsigned char *tile) {
    for (int c = (int)threadIdx.x; c < pieces; c += THREADS)
        cp_async_16(tile + c * PACK_BYTES, saved + c * PACK_BYTES);
    cp_async_commit();
}

template <typename T> struct tensor_back {
    const T *in, *cotangent;
    T *out;
    int64_t in_stride, cotangent_stride, out_stride;
    bool in_packs, cotangent_packs, out_packs;
    unsigned char *saved; /* M - 2 tiles a block */
    float *partial;       /* (M, blocks, N, N) */
};

template <typename T, int N, int M>
static __global__ void __launch_bounds__(back_threads(N), N == 64 ? 2 : 1)
    backward_tensor(tensor_back<T> call, tensor_factors<T> w, tensor_pass p, int tile_bytes) {
    typedef tensor_factor<T, N> factor_lines;
    constexpr int LOG = log2_of(N), FACTOR = factor_lines::elements;
    constexpr int THREADS = back_threads(N), WARPS = THREADS / 32;
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    unsigned char *const state = shared, *const cotangent = shared + tile_bytes;
    T *const factors = reinterpret_cast<T *>(shared + 2 * tile_bytes);
    for (int m = 0; m < M; ++m)
        fetch_factor<THREADS>(w.of[m], factor_lines{factors + m * FACTOR});
    unsigned char *const saved =
        call.saved + (M > 2 ? (int64_t)blockIdx.x * (M - 2) * tile_bytes : 0);
    typename tensor_share<N>::sums sums[M] = {};
    for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        const tensor_view x = view_of(p, LOG, call.in_stride, tile),
                          dy = view_of(p, LOG, call.cotangent_stride, tile),
                          dx = view_of(p, LOG, call.out_stride, tile);
        const int pieces = x.elements / PIECE<T>;
        fetch_tile<THREADS>(call.in, call.in_packs, x, state);
        fetch_tile<THREADS>(call.cotangent, call.cotangent_packs, dy, cotangent);
        cp_async_wait<1>();
        __syncthreads();
#pragma unroll 1
        for (int m = 0; m + 1 < M; ++m) {
            if (m > 0) {
                save_tile<THREADS>(state, pieces, saved + (m - 1) * tile_bytes);
                __syncthreads();
            }
            contract_stage<false, WARPS>(state, stage_of<N>(x, m),
                                         factor_lines{factors + m * FACTOR});
            __syncthreads();
        }
        cp_async_wait<0>();
        __syncthreads();
#pragma unroll
        for (int m = M - 1; m >= 0; --m) {
            const tensor_mode s = stage_of<N>(x, m);
            const factor_lines own = {factors + m * FACTOR};
            if (m == 0 && s.log_step == 0)
                add_gradient<true>(state, cotangent, s, own, sums[m]);
            else
                add_gradient<false>(state, cotangent, s, own, sums[m]);
            __syncthreads();
            if (m == 1)
                fetch_tile<THREADS>(call.in, call.in_packs, x, state);
            else if (m > 1)
                fetch_saved<THREADS>(saved + (m - 2) * tile_bytes, pieces, state);
            contract_stage<true, WARPS>(cotangent, s, own);
            cp_async_wait<0>();
            __syncthreads();
        }
        store_tile<THREADS>(cotangent, dx, call.out, call.out_packs);
        __syncthreads();
    }
#pragma unroll
    for (int m = 0; m < M; ++m)
        put_gradient<N>(sums[m], reinterpret_cast<float *>(shared),
                        call.partial + ((int64_t)m * gridDim.x + blockIdx.x) * N * N);
}

template <typename T> struct tensor_gradients {
    const float *partial;
    int64_t blocks;
    factor<T> dw[MOST_PASS_MODES];
};

template <typename T>
static __global__ void sum_tensor_gradients(tensor_gradients<T> all, int extent) {
    const int64_t size = (int64_t)extent * extent;
    const factor<T> &dw = all.dw[blockIdx.y];
    add_partials<T>(all.partial + blockIdx.y * all.blocks * size, all.blocks, size, dw.w, extent,
                    dw.row);
}

#endif
