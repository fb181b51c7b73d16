/*
 * Two modes of 128 x 128 in one pass, in bf16, by wgmma: a row of the state is a matrix X (i, e),
 * and what comes out is W^T (X V), V (e, j) the last factor and W (i, a) the first one.
 *
 * Two warpgroups have a row, 64 of its lines each, and a block two such pairs, so that products of
 * one go on beside what the other does without them. All operands lie in shared memory, as boxes of
 * 64 columns, and the factors stay there. A warpgroup's lines of X are read by its own products
 * alone: its lines of X V take their place, rounded to bf16, and then its lines of the result. So a
 * row needs one buffer, and the next one arrives in a second.
 *
 * Bytes: the state in and out once. Flops: as v1.
 */
#ifndef ASSAY_KRONECKER_HOPPER_ROWS_H
#define ASSAY_KRONECKER_HOPPER_ROWS_H

#include "kernels/common/hopper.h"
#include "kernels/common/pack.h"
#include "kernels/common/tensor.h"
#include "kernels/kronecker/stages.h"

typedef __nv_bfloat16 bf16;

constexpr int ROW_EXTENT = 128, ROW_GROUP = 128; /* threads of a warpgroup */
constexpr int ROW_PAIRS = 2, ROW_THREADS = ROW_PAIRS * 2 * ROW_GROUP;
constexpr int ROW_LINES = 64;                                   /* of a warpgroup */
constexpr int ROW_BOX = ROW_EXTENT * TENSOR_LINE_BYTES;         /* 64 columns of all lines */
constexpr int ROW_MATRIX = 2 * ROW_BOX, ROW_BUFFERS = 2;        /* of a pair */
constexpr int ROW_STEP = 16, ROW_STEPS = ROW_EXTENT / ROW_STEP; /* of k, of a wgmma */
constexpr int ROW_SUMS = ROW_EXTENT / 2;                        /* a lane's */
constexpr size_t ROW_SHARED = TENSOR_ALIGNMENT + (size_t)(2 + ROW_PAIRS * ROW_BUFFERS) * ROW_MATRIX;

struct hopper_rows {
    state<const bf16> in;
    state<bf16> out;
    factor<const bf16> w, v;
    int64_t rows;
    bool in_packs, out_packs;
};

/* Where 16 bytes of a matrix lie: eight columns of a line. */
static __device__ __forceinline__ int row_place(int line, int eight) {
    return eight / 8 * ROW_BOX + line * TENSOR_LINE_BYTES + ((eight % 8 ^ line % 8) * PACK_BYTES);
}

/* THREADS threads start to copy lines, `apart` in memory. */
template <int THREADS, int LINES>
static __device__ __forceinline__ void fetch_row_lines(const bf16 *from, int64_t apart, bool packs,
                                                       int first, unsigned char *matrix) {
    constexpr int PACKS = ROW_EXTENT / pack<bf16>::size;
    const int thread = (int)threadIdx.x % THREADS;
#pragma unroll 4
    for (int unit = thread; unit < LINES * PACKS; unit += THREADS) {
        const int line = first + unit / PACKS, eight = unit % PACKS;
        const bf16 *const piece = from + line * apart + eight * pack<bf16>::size;
        unsigned char *const to = matrix + row_place(line, eight);
        if (packs)
            cp_async_16(to, piece);
        else
            *reinterpret_cast<pack<bf16> *>(to) = load_pack(piece, pack<bf16>::size, false);
    }
}

/* A lane's sums as its warpgroup's lines of a matrix. */
static __device__ __forceinline__ void put_row_sums(const float (&sums)[ROW_SUMS], int first,
                                                    unsigned char *matrix) {
    const int thread = (int)made_anew(threadIdx.x); /* places would be in registers all along */
    const int lane = thread % 32, t = lane % 4;
    const int line = first + thread % ROW_GROUP / 32 * 16 + lane / 4;
#pragma unroll
    for (int j = 0; j < ROW_EXTENT / 8; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half)
            *reinterpret_cast<__nv_bfloat162 *>(matrix + row_place(line + 8 * half, j) + 4 * t) =
                __floats2bfloat162_rn(sums[4 * j + 2 * half], sums[4 * j + 2 * half + 1]);
}

/* A warpgroup writes its lines of a matrix to a row. Calls `free` when it has read them. */
template <typename Free>
static __device__ __forceinline__ void store_row_lines(const unsigned char *matrix, int first,
                                                       bf16 *row, bool packs, const Free &free) {
    constexpr int PACKS = ROW_EXTENT / pack<bf16>::size, TURNS = ROW_LINES * PACKS / ROW_GROUP;
    const int thread = (int)threadIdx.x % ROW_GROUP;
    bf16 *const out = row + first * ROW_EXTENT;
    pack<bf16> pieces[TURNS];
#pragma unroll
    for (int n = 0; n < TURNS; ++n) {
        const int unit = thread + n * ROW_GROUP;
        pieces[n] = load_whole(reinterpret_cast<const pack<bf16> *>(
            matrix + row_place(first + unit / PACKS, unit % PACKS)));
    }
    free();
#pragma unroll
    for (int n = 0; n < TURNS; ++n)
        store_pack(out + (thread + n * ROW_GROUP) * pack<bf16>::size, pieces[n], pack<bf16>::size,
                   packs);
}

static __device__ __forceinline__ bool factor_takes_packs(const factor<const bf16> &f) {
    return (reinterpret_cast<uintptr_t>(f.w) / sizeof(bf16) | (uint64_t)f.row) % pack<bf16>::size ==
           0;
}

static __global__ void __launch_bounds__(ROW_THREADS, 1) forward_rows(hopper_rows p) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    unsigned char *const v = shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT;
    unsigned char *const w = v + ROW_MATRIX;
    const int pair = (int)threadIdx.x / (2 * ROW_GROUP), group = (int)threadIdx.x / ROW_GROUP % 2;
    const int first = group * ROW_LINES;
    unsigned char *const buffers = w + ROW_MATRIX + pair * ROW_BUFFERS * ROW_MATRIX;
    const auto group_barrier = [&] { barrier_sync(1 + 2 * pair + group, ROW_GROUP); };
    const auto pair_barrier = [&] { barrier_sync(1 + 2 * ROW_PAIRS + pair, 2 * ROW_GROUP); };
    const int64_t step = (int64_t)gridDim.x * ROW_PAIRS;
    int64_t row = (int64_t)blockIdx.x + (int64_t)gridDim.x * pair;
    const auto fetch = [&](int64_t from, int buffer) {
        if (from < p.rows)
            fetch_row_lines<ROW_GROUP, ROW_LINES>(p.in.data + from * p.in.stride, ROW_EXTENT,
                                                  p.in_packs, first, buffers + buffer * ROW_MATRIX);
        cp_async_commit();
    };
    fetch_row_lines<ROW_THREADS, ROW_EXTENT>(p.v.w, p.v.row, factor_takes_packs(p.v), 0, v);
    fetch_row_lines<ROW_THREADS, ROW_EXTENT>(p.w.w, p.w.row, factor_takes_packs(p.w), 0, w);
    cp_async_commit();
    fetch(row, 0);
    cp_async_wait<1>();
    fence_proxy_async();
    __syncthreads();
    const uint64_t of_v = wgmma_descriptor(shared_address(v), ROW_BOX);
    const uint64_t of_w = wgmma_descriptor(shared_address(w + group * ROW_BOX), ROW_BOX);
    constexpr uint64_t across = ROW_STEP * TENSOR_LINE_BYTES >> 4, along = ROW_STEP * 2 >> 4;
    for (int buffer = 0; row < p.rows; row += step, buffer ^= 1) {
        unsigned char *const matrix = buffers + buffer * ROW_MATRIX;
        fetch(row + step, buffer ^ 1);
        cp_async_wait<1>();
        fence_proxy_async();
        group_barrier();
        float sums[ROW_SUMS];
        const uint64_t lines =
            wgmma_descriptor(shared_address(matrix + first * TENSOR_LINE_BYTES), 0);
        const uint64_t all = wgmma_descriptor(shared_address(matrix), ROW_BOX);
        wgmma_fence();
#pragma unroll
        for (int s = 0; s < ROW_STEPS; ++s)
            wgmma<bf16, false, true>(sums, lines + s / 4 * (ROW_BOX >> 4) + s % 4 * along,
                                     of_v + s * across, s > 0);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_results(sums);
        put_row_sums(sums, first, matrix);
        fence_proxy_async();
        pair_barrier();
        wgmma_fence();
#pragma unroll
        for (int s = 0; s < ROW_STEPS; ++s)
            wgmma<bf16, true, true>(sums, of_w + s * across, all + s * across, s > 0);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_results(sums);
        pair_barrier(); /* both have read X V */
        put_row_sums(sums, first, matrix);
        group_barrier();
        store_row_lines(matrix, first, p.out.data + row * p.out.stride, p.out_packs, group_barrier);
    }
    cp_async_wait<0>();
}

#endif
