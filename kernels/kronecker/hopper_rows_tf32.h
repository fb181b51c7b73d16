/*
 * The same of hopper_rows.h in TF32. There wgmma takes operands in shared memory only with their
 * lines along the sum, so V lies there transposed, W is in registers, and X V is put there
 * transposed. A block has one pair of warpgroups: two buffers and V are 192 KB.
 */
#ifndef ASSAY_KRONECKER_HOPPER_ROWS_TF32_H
#define ASSAY_KRONECKER_HOPPER_ROWS_TF32_H

#include "kernels/kronecker/hopper_rows.h"

constexpr int TF32_THREADS = 2 * ROW_GROUP;
constexpr int TF32_MATRIX = 4 * ROW_BOX; /* boxes of 32 columns */
constexpr int TF32_STEP = 8, TF32_STEPS = ROW_EXTENT / TF32_STEP;
constexpr size_t TF32_SHARED = TENSOR_ALIGNMENT + (size_t)(1 + ROW_BUFFERS) * TF32_MATRIX;

struct tf32_rows {
    state<const float> in;
    state<float> out;
    factor<const float> w, v;
    int64_t rows;
    bool in_packs, out_packs;
};

/* Where an element of a matrix lies. */
static __device__ __forceinline__ int tf32_place(int line, int column) {
    return column / 32 * ROW_BOX + line * TENSOR_LINE_BYTES +
           ((column % 32 / 4 ^ line % 8) * PACK_BYTES) + column % 4 * (int)sizeof(float);
}

/* V, transposed: eight of its columns and four of its lines a warp at a time. OPERAND: its columns
 * in such an order that a lane's sums of a product with V are its left operand of the next one: of
 * eight it has two neighbours of those, and t and t + 4 of this one's terms. */
template <bool OPERAND>
static __device__ __forceinline__ void transpose_factor(const factor<const float> &v,
                                                        unsigned char *matrix) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
#pragma unroll 16
    for (int n = warp; n < ROW_EXTENT * ROW_EXTENT / 32; n += TF32_THREADS / 32) {
        const int j = n % 16 * 8 + lane % 8, e = n / 16 * 4 + lane / 8;
        const int line = OPERAND ? j / 8 * 8 + j % 4 * 2 + j / 4 % 2 : j;
        *reinterpret_cast<float *>(matrix + tf32_place(line, e)) = v.w[e * v.row + j];
    }
}

/* A warpgroup starts to copy its lines of a row. */
static __device__ __forceinline__ void fetch_tf32_lines(const float *from, bool packs, int first,
                                                        unsigned char *matrix) {
    constexpr int PACKS = ROW_EXTENT / pack<float>::size;
    const int thread = (int)threadIdx.x % ROW_GROUP;
#pragma unroll 4
    for (int unit = thread; unit < ROW_LINES * PACKS; unit += ROW_GROUP) {
        const int line = first + unit / PACKS, column = unit % PACKS * pack<float>::size;
        const float *const piece = from + line * ROW_EXTENT + column;
        unsigned char *const to = matrix + tf32_place(line, column);
        if (packs)
            cp_async_16(to, piece);
        else
            for (int i = 0; i < pack<float>::size; ++i)
                cp_async_4(to + i * sizeof(float), piece + i);
    }
}

/* A warpgroup writes its lines of a matrix to a row. Calls `free` when it has read them. */
template <typename Free>
static __device__ __forceinline__ void store_tf32_lines(const unsigned char *matrix, int first,
                                                        float *row, bool packs, const Free &free) {
    constexpr int PACKS = ROW_EXTENT / pack<float>::size, TURNS = ROW_LINES * PACKS / ROW_GROUP;
    const int thread = (int)threadIdx.x % ROW_GROUP;
    float *const out = row + first * ROW_EXTENT;
    pack<float> pieces[TURNS];
#pragma unroll
    for (int n = 0; n < TURNS; ++n) {
        const int unit = thread + n * ROW_GROUP;
        pieces[n] = load_whole(reinterpret_cast<const pack<float> *>(
            matrix + tf32_place(first + unit / PACKS, unit % PACKS * pack<float>::size)));
    }
    free();
#pragma unroll
    for (int n = 0; n < TURNS; ++n)
        store_pack(out + (thread + n * ROW_GROUP) * pack<float>::size, pieces[n], pack<float>::size,
                   packs);
}

/* An operand's descriptor from step s of k on. */
static __device__ __forceinline__ uint64_t tf32_step(uint64_t descriptor, int s) {
    constexpr uint64_t box = ROW_BOX >> 4, along = TF32_STEP * sizeof(float) >> 4;
    return descriptor + s / 4 * box + s % 4 * along;
}

static __global__ void __launch_bounds__(TF32_THREADS, 1) forward_tf32_rows(tf32_rows p) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    unsigned char *const v = shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT;
    unsigned char *const buffers = v + TF32_MATRIX;
    const int group = (int)threadIdx.x / ROW_GROUP, first = group * ROW_LINES;
    const int lane = (int)threadIdx.x % 32, t_of_lane = lane % 4;
    const int line = first + (int)threadIdx.x % ROW_GROUP / 32 * 16 + lane / 4; /* and 8 behind */
    const auto group_barrier = [&] { barrier_sync(1 + group, ROW_GROUP); };
    const auto fetch = [&](int64_t from, int buffer) {
        if (from < p.rows)
            fetch_tf32_lines(p.in.data + from * p.in.stride, p.in_packs, first,
                             buffers + buffer * TF32_MATRIX);
        cp_async_commit();
    };
    int64_t row = blockIdx.x;
    fetch(row, 0);
    transpose_factor<false>(p.v, v);
    /* W^T; of each step's eight k a lane has two neighbours, as it has of sums. */
    uint32_t w[TF32_STEPS][4];
#pragma unroll
    for (int s = 0; s < TF32_STEPS; ++s)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            w[s][i] = __float_as_uint(
                p.w.w[(s * TF32_STEP + t_of_lane + i / 2 * 4) * p.w.row + line + i % 2 * 8]);
    fence_proxy_async();
    __syncthreads();
    const uint64_t of_v = wgmma_descriptor(shared_address(v), 0);
    for (int buffer = 0; row < p.rows; row += gridDim.x, buffer ^= 1) {
        unsigned char *const matrix = buffers + buffer * TF32_MATRIX;
        fetch(row + gridDim.x, buffer ^ 1);
        cp_async_wait<1>();
        fence_proxy_async();
        group_barrier();
        float sums[ROW_SUMS];
        const uint64_t lines =
            wgmma_descriptor(shared_address(matrix + first * TENSOR_LINE_BYTES), 0);
        const uint64_t all = wgmma_descriptor(shared_address(matrix), 0);
        wgmma_fence();
#pragma unroll
        for (int s = 0; s < TF32_STEPS; ++s)
            wgmma_tf32(sums, tf32_step(lines, s), tf32_step(of_v, s), s > 0);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_results(sums);
        __syncthreads(); /* both have read X */
        const int t = (int)made_anew((uint32_t)t_of_lane), own = (int)made_anew((uint32_t)line);
#pragma unroll
        for (int i = 0; i < ROW_SUMS; ++i)
            *reinterpret_cast<float *>(
                matrix + tf32_place(i / 4 * 8 + 2 * t + i % 2, own + i / 2 % 2 * 8)) = sums[i];
        fence_proxy_async();
        __syncthreads();
        wgmma_fence();
#pragma unroll
        for (int s = 0; s < TF32_STEPS; ++s)
            wgmma_tf32(sums, w[s], tf32_step(all, s), s > 0);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_results(sums);
        __syncthreads(); /* both have read X V */
#pragma unroll
        for (int i = 0; i < ROW_SUMS; i += 2)
            *reinterpret_cast<float2 *>(matrix +
                                        tf32_place(own + i / 2 % 2 * 8, i / 4 * 8 + 2 * t)) =
                make_float2(sums[i], sums[i + 1]);
        group_barrier();
        store_tf32_lines(matrix, first, p.out.data + row * p.out.stride, p.out_packs,
                         group_barrier);
    }
    cp_async_wait<0>();
}

#endif
