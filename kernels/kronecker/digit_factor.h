/*
 * A factor, or its transpose, as the right operand of digits' products: COLUMNS of its columns in
 * shared memory, a column a line.
 */
#ifndef ASSAY_KRONECKER_DIGIT_FACTOR_H
#define ASSAY_KRONECKER_DIGIT_FACTOR_H

#include "kernels/kronecker/digit_slice.h"
#include "kernels/kronecker/stages.h"

/* In shared memory, behind one another: the boxes, and what a result's column takes. */
template <int SLICES, int COLUMNS> struct factor_boxes {
    static constexpr int slice_bytes = DIGITS * COLUMNS * TENSOR_LINE_BYTES;
    static constexpr int box_bytes = SLICES * slice_bytes;
    static constexpr int bytes = box_bytes + COLUMNS * 4 * (int)sizeof(uint32_t);
    static constexpr int raw_stride = SLICES * SLICE + 1; /* odd: lanes' columns in other banks */
    static_assert(COLUMNS * raw_stride * (int)sizeof(float) <= box_bytes, "numbers fit in there");
    unsigned char *boxes;

    __device__ __forceinline__ float *raw() const { /* the numbers, before there are boxes */
        return reinterpret_cast<float *>(boxes);
    }
    __device__ __forceinline__ unsigned char *slice(int s) const {
        return boxes + s * slice_bytes;
    }
    __device__ __forceinline__ int32_t *power() const {
        return reinterpret_cast<int32_t *>(boxes + box_bytes);
    }
    __device__ __forceinline__ float *scale() const { /* 2^power where that is plain */
        return reinterpret_cast<float *>(power() + COLUMNS);
    }
    __device__ __forceinline__ uint32_t *largest() const {
        return reinterpret_cast<uint32_t *>(scale() + COLUMNS);
    }
    __device__ __forceinline__ uint32_t *smallest() const {
        return largest() + COLUMNS;
    }
};

/* Columns first … first + COLUMNS - 1 of a factor (p, q); there are zeros beyond p and q. */
struct factor_part {
    factor<const float> w;
    int p, q, first;

    __device__ __forceinline__ bool has(int k, int column) const {
        return k < p && first + column < q;
    }
    __device__ __forceinline__ const float *at(int k, int column) const {
        return w.w + (k * w.row + (first + column) * w.column);
    }
};

/* The block starts to copy the numbers to where the boxes will be, column by column, so that
 * neighbouring threads take neighbours in global memory and meet different banks. */
template <int SLICES, int COLUMNS, int BLOCK>
static __device__ __forceinline__ void fetch_factor(const factor_part &of,
                                                    const factor_boxes<SLICES, COLUMNS> &to) {
    constexpr int DEPTH = SLICES * SLICE, STRIDE = factor_boxes<SLICES, COLUMNS>::raw_stride;
    float *const raw = to.raw();
    const bool k_inner = of.w.row == 1;
#pragma unroll 4
    for (int e = (int)threadIdx.x; e < COLUMNS * DEPTH; e += BLOCK) {
        const int k = k_inner ? e % DEPTH : e / COLUMNS, column = k_inner ? e / DEPTH : e % COLUMNS;
        const bool there = of.has(k, column);
        cp_async_4(raw + column * STRIDE + k, there ? of.at(k, column) : of.w.w, there ? 4 : 0);
    }
}

/* Whether some column is marked, and whether the power of some is not plain. */
struct factor_kind {
    bool marked, odd;
};

/* Numbers that fetch_factor() copied. */
template <int SLICES, int COLUMNS> struct fetched_factor {
    const float *raw;

    /* The 16 k of a column from `first` on, in the order of their places. */
    template <bool K_INNER>
    __device__ __forceinline__ void take(int column, int first, float (&x)[STEP]) const {
        const float *const from = raw + column * factor_boxes<SLICES, COLUMNS>::raw_stride + first;
#pragma unroll
        for (int place = 0; place < STEP; ++place)
            x[place] = from[k_at<K_INNER>(place)];
    }
};

/* All threads of the block split the factor, whose copies are complete: a thread takes 16 k of a
 * column at a time from `numbers`, which k `K_INNER` says (k_at()). It begins with a barrier, and
 * ends with one behind which products may begin. */
template <int SLICES, int COLUMNS, bool K_INNER, int BLOCK, class Numbers>
static __device__ __forceinline__ factor_kind split_factor(const factor_boxes<SLICES, COLUMNS> &to,
                                                           const Numbers &numbers) {
    constexpr int UNITS = COLUMNS * SLICES * STEPS, TURNS = (UNITS + BLOCK - 1) / BLOCK;
    for (int j = (int)threadIdx.x; j < COLUMNS; j += BLOCK) {
        to.largest()[j] = 0;
        to.smallest()[j] = UINT32_MAX;
    }
    __syncthreads();
    float x[TURNS][STEP];
#pragma unroll
    for (int turn = 0; turn < TURNS; ++turn) {
        const int u = (int)threadIdx.x + turn * BLOCK, column = u % COLUMNS;
        if (u >= UNITS)
            break;
        numbers.template take<K_INNER>(column, u / COLUMNS * STEP, x[turn]);
        extremes found;
#pragma unroll
        for (int place = 0; place < STEP; ++place)
            found.add(x[turn][place]);
        atomicMax(to.largest() + column, found.largest);
        atomicMin(to.smallest() + column, found.smallest);
    }
    __syncthreads();
    bool marked = false, odd = false;
    for (int j = (int)threadIdx.x; j < COLUMNS; j += BLOCK) {
        const int32_t power = power_of(to.largest()[j], to.smallest()[j]);
        to.power()[j] = power;
        to.scale()[j] = is_plain(power) ? plain_power(power) : 0;
        marked = marked || power == MARKED;
        odd = odd || !is_plain(power);
    }
#pragma unroll
    for (int turn = 0; turn < TURNS; ++turn) {
        const int u = (int)threadIdx.x + turn * BLOCK, column = u % COLUMNS;
        const int k = u / COLUMNS * STEP;
        if (u >= UNITS)
            break;
        scale_line(power_of(to.largest()[column], to.smallest()[column]), x[turn]);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            pack_bits bits[DIGITS];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                uint32_t pair[DIGITS];
                split_two(x[turn][8 * half + 2 * i], x[turn][8 * half + 2 * i + 1], pair);
#pragma unroll
                for (int g = 0; g < DIGITS; ++g)
                    bits[g].word[i] = pair[g];
            }
#pragma unroll
            for (int g = 0; g < DIGITS; ++g)
                *reinterpret_cast<pack_bits *>(to.slice(k / SLICE) +
                                               g * COLUMNS * TENSOR_LINE_BYTES +
                                               box_place(column, k % SLICE + 8 * half)) = bits[g];
        }
    }
    fence_proxy_async();
    factor_kind kind;
    kind.marked = __syncthreads_or(marked) != 0;
    kind.odd = __syncthreads_or(odd) != 0;
    return kind;
}

#endif
