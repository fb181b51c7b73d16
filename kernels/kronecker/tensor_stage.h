/*
 * One stage in a tile of kronecker v3_tensor, by mma: out[c, j] = sum over i of in[c, i] w[i, j]. A
 * warp takes all elements of some columns to registers before it writes over them, and no other
 * warp has them, so that a stage needs no second tile.
 *
 * mma's operands are matrices of 8 lines of a piece each, which run along i: a lane 4g + t has the
 * word t of line g.
 */
#ifndef ASSAY_KRONECKER_TENSOR_STAGE_H
#define ASSAY_KRONECKER_TENSOR_STAGE_H

#include "kernels/kronecker/tensor_tile.h"

constexpr int FACTOR_PAD = 8;

/* A factor in shared memory, as it is stored. Its lines are 16 bytes more apart, or 32 of fp32, so
 * that what eight lines, or four by eight columns, have lies in different banks. */
template <typename T, int N> struct tensor_factor {
    static constexpr int stride = N + FACTOR_PAD, elements = N * stride;
    T *data;

    __device__ __forceinline__ const T *at(int i, int j) const {
        return data + i * stride + j;
    }
};

/* Starts to copy a factor. */
template <int THREADS, typename T, int N>
static __device__ __forceinline__ void fetch_factor(const factor<const T> &w,
                                                    const tensor_factor<T, N> &to) {
    constexpr int ACROSS = N / PIECE<T>;
    const bool packs =
        (reinterpret_cast<uintptr_t>(w.w) / sizeof(T) | (uint64_t)w.row) % PIECE<T> == 0;
#pragma unroll 4
    for (int e = (int)threadIdx.x; e < N * ACROSS; e += THREADS) {
        const int i = e / ACROSS, j = e % ACROSS * PIECE<T>;
        const T *const from = w.w + i * w.row + j;
        T *const piece = to.data + i * tensor_factor<T, N>::stride + j;
        if (packs)
            cp_async_16(piece, from);
        else
            *reinterpret_cast<pack<T> *>(piece) = load_pack(from, PIECE<T>, false);
    }
}

/* A stage in the tile: how far apart its mode's elements are, 2^log_step, and its columns. */
struct tensor_mode {
    int log_step, columns;
};

/* What a warp has at a time: blocks of eight columns, word[b][k] the matrix of piece k. */
template <typename T, int N, bool LAST> struct tensor_item {
    typedef tile_places<T, N, LAST> places;
    static constexpr int PIECES = N / PIECE<T>;
    static constexpr int BLOCKS = PIECES >= 16 ? 2 : 4;
    static constexpr int COLUMNS = BLOCKS * BLOCK_COLUMNS;
    static constexpr bool BY_MATRICES = LAST || sizeof(T) < sizeof(float);
    static constexpr int TOGETHER = PIECES < 4 ? PIECES : 4; /* of a block in one ldmatrix */
    uint32_t word[BLOCKS][PIECES];

    /* The lane's part of the places that take() reads. */
    static __device__ __forceinline__ uint32_t own(const places &at) {
        const int lane = own_lane(), matrix = lane / 8 % TOGETHER;
        if (!BY_MATRICES) /* in bits: column lane / 4, element lane % 4 */
            return at.column(lane / 4) ^ at.element(lane % 4) ^ (uint32_t)(lane / 4 % 4 * 4);
        return LAST ? at.column(lane % 8) ^ at.element(matrix * PIECE<T>)
                    : at.element(matrix * 8 + lane % 8);
    }

    /* Of the item that begins with column `first`, at `base`. Columns that are not there are the
     * item's first ones. */
    __device__ __forceinline__ void take(const unsigned char *tile, const places &at, uint32_t own,
                                         uint32_t base, int first) {
        if constexpr (BY_MATRICES) {
            const int beside = own_lane() / 8 / TOGETHER;
            const uint32_t own_block = at.column(beside * BLOCK_COLUMNS);
            uint32_t four[BLOCKS * PIECES / 4][4];
#pragma unroll
            for (int call = 0; call < BLOCKS * PIECES / 4; ++call) {
                const int b = call * 4 / PIECES, k = call * 4 % PIECES;
                const bool there = first + (b + beside) * BLOCK_COLUMNS < at.columns;
                const uint32_t block = at.known_column(b * BLOCK_COLUMNS) ^ own_block;
                const void *const line =
                    tile + (base ^ own ^ at.known_element(k * PIECE<T>) ^ (there ? block : 0));
                if constexpr (LAST)
                    ldmatrix_x4(four[call], line);
                else
                    ldmatrix_x4_trans(four[call], line);
            }
#pragma unroll
            for (int m = 0; m < BLOCKS * PIECES; ++m)
                word[m / PIECES][m % PIECES] = four[m / 4][m % 4];
        } else {
#pragma unroll
            for (int b = 0; b < BLOCKS; ++b) {
                const bool there = first + b * BLOCK_COLUMNS < at.columns;
                const uint32_t block =
                    base ^ own ^ (there ? at.known_column(b * BLOCK_COLUMNS) : 0);
#pragma unroll
                for (int k = 0; k < PIECES; ++k)
                    word[b][k] = word_at(tile, block ^ at.known_element(k * PIECE<T>));
            }
        }
        __syncwarp(); /* all have read what any of them may write now */
    }
};

/* The matrices of 16 outputs from `out` on and of two pieces of their sums: those of the first
 * eight, and of the others. N = 8 has one matrix. An output is a column of the factor, with ADJOINT
 * a line. */
template <bool ADJOINT, typename T, int N>
static __device__ __forceinline__ void take_factor(const tensor_factor<T, N> &f, int out, int k,
                                                   uint32_t (&low)[2], uint32_t (&high)[2]) {
    const int lane = own_lane();
    if constexpr (N == 8) {
        uint32_t one[1];
        if (ADJOINT)
            ldmatrix_x1(one, f.at(lane % 8, 0));
        else
            ldmatrix_x1_trans(one, f.at(lane % 8, 0));
        low[0] = one[0];
        low[1] = high[0] = high[1] = 0;
        return;
    }
    uint32_t word[4];
    const int piece = 2 * k + lane / 8 % 2;
    if constexpr (ADJOINT)
        ldmatrix_x4(word, f.at(out + lane / 16 * 8 + lane % 8, piece * PIECE<T>));
    else if constexpr (sizeof(T) < sizeof(float))
        ldmatrix_x4_trans(word, f.at(piece * PIECE<T> + lane % 8, out + lane / 16 * 8));
    else
#pragma unroll
        for (int m = 0; m < 4; ++m)
            memcpy(&word[m],
                   f.at((2 * k + m % 2) * PIECE<T> + lane % 4, out + m / 2 * 8 + lane / 4),
                   sizeof word[m]);
    low[0] = word[0];
    low[1] = word[1];
    high[0] = word[2];
    high[1] = word[3];
}

/* Of a stage that is not the last axis: D (j, columns) = the factor times the item, else D
 * (columns, j) = the item times the factor. */
template <bool LAST, bool ADJOINT, int WARPS, typename T, int N>
static __device__ __forceinline__ void contract(unsigned char *tile, const tensor_mode &s,
                                                const tensor_factor<T, N> &f) {
    typedef tensor_item<T, N, LAST> item;
    constexpr int STEPS = N == 8 ? 1 : N / PIECE<T> / 2, HALVES = N == 8 ? 1 : 2;
    const tile_places<T, N, LAST> at(s.log_step, s.columns);
    const int g = own_lane() / 4, pair = own_lane() % 4 * 2;
    const uint32_t take = item::own(at), within = (uint32_t)(pair * (int)sizeof(T) % PACK_BYTES);
    const uint32_t put =
        (LAST ? at.column(g) ^ at.element(pair) : at.element(g) ^ at.column(pair)) ^ within;
#pragma unroll 1
    for (int first = (int)threadIdx.x / 32 * item::COLUMNS; first < s.columns;
         first += WARPS * item::COLUMNS) {
        const uint32_t base = at.column(first);
        item in;
        in.take(tile, at, take, base, first);
#pragma unroll
        for (int m = 0; m < N; m += 16) {
            float sum[2 * item::BLOCKS][4] = {};
#pragma unroll
            for (int k = 0; k < STEPS; ++k) {
                uint32_t low[2], high[2];
                take_factor<ADJOINT>(f, m, k, low, high);
                const auto word = [&](int b, int piece) {
                    return N == 8 && piece > 0 ? 0 : in.word[b][2 * k + (N == 8 ? 0 : piece)];
                };
                if constexpr (LAST) {
#pragma unroll
                    for (int b = 0; b < item::BLOCKS; b += 2) {
                        const uint32_t a[4] = {word(b, 0), word(b + 1, 0), word(b, 1),
                                               word(b + 1, 1)};
                        multiply(T(), sum[b], a, low);
                        if (N > 8)
                            multiply(T(), sum[b + 1], a, high);
                    }
                } else {
                    const uint32_t a[4] = {low[0], high[0], low[1], high[1]};
#pragma unroll
                    for (int b = 0; b < item::BLOCKS; ++b) {
                        const uint32_t right[2] = {word(b, 0), word(b, 1)};
                        multiply(T(), sum[b], a, right);
                    }
                }
            }
#pragma unroll
            for (int b = 0; b < item::BLOCKS; ++b) {
                if (first + b * BLOCK_COLUMNS >= s.columns)
                    break;
                const uint32_t block = base ^ put ^ at.known_column(b * BLOCK_COLUMNS);
#pragma unroll
                for (int half = 0; half < HALVES; ++half) {
                    const float *const two =
                        LAST ? sum[b / 2 * 2 + half] + b % 2 * 2 : sum[b] + 2 * half;
                    put_two(T(), tile + (block ^ at.known_element(m + 8 * half)), two[0], two[1]);
                }
            }
        }
    }
}

template <bool ADJOINT, int WARPS, typename T, int N>
static __device__ __forceinline__ void contract_stage(unsigned char *tile, const tensor_mode &s,
                                                      const tensor_factor<T, N> &f) {
    if (s.log_step == 0)
        contract<true, ADJOINT, WARPS>(tile, s, f);
    else
        contract<false, ADJOINT, WARPS>(tile, s, f);
}

/* The factors of a pass, in the order of its stages. */
template <typename T> struct tensor_factors { factor<const T> of[MOST_PASS_MODES]; };

/* Stage `mode` of a pass. */
template <int N>
static __device__ __forceinline__ tensor_mode stage_of(const tensor_view &v, int mode) {
    return {v.log_columns + mode * log2_of(N), v.elements / N};
}

/* Of forward: more where a tile, or factors, leave no room for a second block. */
template <typename T>
static __host__ __device__ __forceinline__ constexpr int tensor_threads(int extent) {
    if (sizeof(T) == sizeof(float))
        return extent == 64 ? 256 : 512;
    return extent == 16 ? 512 : 256;
}
template <typename T>
static __host__ __device__ __forceinline__ constexpr int tensor_blocks(int extent) {
    return tensor_threads<T>(extent) == 512 ? 1 : 2;
}

template <typename T> struct tensor_states {
    const T *in;
    T *out;
    int64_t in_stride, out_stride;
    bool in_packs, out_packs;
};

template <typename T, int N>
static __global__ void __launch_bounds__(tensor_threads<T>(N), tensor_blocks<T>(N))
    forward_tensor(tensor_states<T> call, tensor_factors<T> w, tensor_pass p) {
    constexpr int THREADS = tensor_threads<T>(N), FACTOR = tensor_factor<T, N>::elements;
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    T *const factors = reinterpret_cast<T *>(
        shared + (sizeof(T) << (log2_of(N) * p.modes + p.log_columns + p.log_units)));
    for (int m = 0; m < p.modes; ++m)
        fetch_factor<THREADS>(w.of[m], tensor_factor<T, N>{factors + m * FACTOR});
    for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        const tensor_view from = view_of(p, log2_of(N), call.in_stride, tile),
                          to = view_of(p, log2_of(N), call.out_stride, tile);
        fetch_tile<THREADS>(call.in, call.in_packs, from, shared);
        cp_async_wait<0>();
        __syncthreads();
        for (int m = 0; m < p.modes; ++m) {
            contract_stage<false, THREADS / 32>(shared, stage_of<N>(from, m),
                                                tensor_factor<T, N>{factors + m * FACTOR});
            __syncthreads();
        }
        store_tile<THREADS>(shared, to, call.out, call.out_packs);
        __syncthreads();
    }
}

#endif
