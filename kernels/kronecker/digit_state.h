/*
 * A stage's states in global memory as digits' kernels see them. A column is a place of (row, left,
 * right); its elements, the extents of the mode at hand, lie `right` apart. A tile is LINES
 * neighbouring columns.
 */
#ifndef ASSAY_KRONECKER_DIGIT_STATE_H
#define ASSAY_KRONECKER_DIGIT_STATE_H

#include "kernels/kronecker/digit_slice.h"
#include "kernels/kronecker/stages.h"

/* Of a stage; columns = rows left right. */
struct digit_axes {
    uint32_t columns, left, right;
};

/* A state whose mode has `extent` elements. `outer`: how far apart neighbouring places of (row,
 * left) are; 0 where rows are farther apart than that. `packs`: so may be loaded what lies side by
 * side, extents where right is 1, else columns. `pairs`: so may be stored extents where right is 1.
 */
template <typename T> struct digit_state {
    T *data;
    int64_t stride, outer;
    int32_t extent;
    bool packs, pairs;
};

/* Whether a call's stage has few enough columns for 32 bits. */
static inline bool has_digit_axes(const stage &s, int64_t rows) {
    return rows * s.left < INT32_MAX / s.right;
}

static inline digit_axes axes_of(const stage &s, int64_t rows) {
    return {(uint32_t)(rows * s.left * s.right), (uint32_t)s.left, (uint32_t)s.right};
}

template <typename T>
static inline digit_state<T> digit_state_of(const state<T> &of, const stage &s, int64_t extent) {
    const int64_t run = s.right > 1 ? s.right : extent;
    const uintptr_t address = (uintptr_t)of.data / sizeof(T);
    const int64_t step = extent * s.right;
    return {of.data,
            of.stride,
            s.left == 1                  ? of.stride
            : of.stride == s.left * step ? step
                                         : 0,
            (int32_t)extent,
            address % 4 == 0 && of.stride % 4 == 0 && run % 4 == 0,
            address % 2 == 0 && of.stride % 2 == 0 && run % 2 == 0};
}

/* Where column c begins. LAST: right is 1. */
template <bool LAST, typename T>
static __device__ __forceinline__ int64_t column_at(const digit_axes &a, const digit_state<T> &s,
                                                    uint32_t c) {
    const uint32_t outer = LAST ? c : c / a.right, r = LAST ? 0 : c - outer * a.right;
    if (s.outer != 0)
        return outer * s.outer + r;
    const uint32_t row = outer / a.left;
    return row * s.stride + (int64_t)(outer - row * a.left) * s.extent * a.right + r;
}

/* A warpgroup starts to copy the tile that begins with column `first`: of each column extents
 * `low` to low + EXTENTS - 1, zeros where there are none. In shared memory lines that are `stride`
 * apart hold what lies side by side in global memory. */
template <bool LAST, int EXTENTS>
static __device__ __forceinline__ void
fetch_columns(const digit_axes &a, const digit_state<const float> &s, uint32_t first, int low,
              float *tile, int stride) {
    constexpr int ACROSS = (LAST ? EXTENTS : LINES) / 4, DOWN = LAST ? LINES : EXTENTS;
    constexpr int AT_ONCE = GROUP / ACROSS;
    const int thread = (int)threadIdx.x % GROUP, quad = thread % ACROSS * 4;
    /* All of the tile is there, and its lines are evenly apart: addresses cost little. */
    if (s.packs && first + LINES <= a.columns && low + EXTENTS <= s.extent &&
        (!LAST || s.outer != 0)) {
        const int line = thread / ACROSS;
        const int64_t apart = LAST ? s.outer : (int64_t)a.right;
        const float *from =
            LAST ? s.data + ((int64_t)(first + (uint32_t)line) * apart + low + quad)
                 : s.data + (column_at<LAST>(a, s, first + (uint32_t)quad) + (low + line) * apart);
#pragma unroll
        for (int i = 0; i < DOWN / AT_ONCE; ++i, from += AT_ONCE * apart)
            cp_async_16(tile + (line + i * AT_ONCE) * stride + quad, from);
        return;
    }
    const auto copy = [&](int down, int64_t from, int there) {
        float *const to = tile + down * stride + quad;
        if (s.packs) {
            cp_async_16(to, there > 0 ? s.data + from : s.data, there > 0 ? 16 : 0);
            return;
        }
        for (int e = 0; e < 4; ++e)
            cp_async_4(to + e, e < there ? s.data + from + e : s.data, e < there ? 4 : 0);
    };
    if constexpr (LAST) {
#pragma unroll 2
        for (int line = thread / ACROSS; line < DOWN; line += GROUP / ACROSS) {
            const uint32_t c = first + (uint32_t)line;
            const bool inside = c < a.columns;
            copy(line, inside ? column_at<LAST>(a, s, c) + low + quad : 0,
                 inside ? s.extent - low - quad : 0);
        }
        return;
    }
    const uint32_t c = first + (uint32_t)quad;
    if (s.packs) {
        const bool inside = c < a.columns;
        const int64_t column = inside ? column_at<LAST>(a, s, c) : 0;
#pragma unroll 4
        for (int k = thread / ACROSS; k < DOWN; k += GROUP / ACROSS)
            copy(k, column + (int64_t)(low + k) * a.right, inside && low + k < s.extent ? 4 : 0);
        return;
    }
    for (int e = 0; e < 4; ++e) {
        const bool inside = c + e < a.columns;
        const int64_t column = inside ? column_at<LAST>(a, s, c + e) : 0;
        for (int k = thread / ACROSS; k < DOWN; k += GROUP / ACROSS) {
            const bool there = inside && low + k < s.extent;
            cp_async_4(tile + k * stride + quad + e,
                       there ? s.data + column + (int64_t)(low + k) * a.right : s.data,
                       there ? 4 : 0);
        }
    }
}

#endif
