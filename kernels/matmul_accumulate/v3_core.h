/*
 * How a warp of v3 multiplies on tensor cores: its part of the tile lies in the registers of its
 * lanes.
 *
 * A core has
 *     tile                        the square whose parts its warps multiply (v3_slice.h)
 *     storage                     the type of the operands
 *     BLOCKS                      that a multiprocessor must hold, whatever registers that leaves
 *     add<Left, Right>(a, row, b, column)
 *                                 sums += one slice's products of the part's rows from `row` of a
 *                                 with its columns from `column` of b, k ascending
 *     each(visit)                 visit(i, j, sum) for this lane's elements
 *
 * Lane numbering of the fragments: g = lane / 4, t = lane % 4 (kernels/common/tensor.h).
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_V3_CORE_H
#define ASSAY_MATMUL_ACCUMULATE_V3_CORE_H

#include "kernels/matmul_accumulate/v3_slice.h"

#include <type_traits>

static __device__ __forceinline__ int lane() {
    return (int)threadIdx.x % WARP;
}

/* This warp's part of a tile. */
template <typename Tile> static __device__ __forceinline__ int warp_row() {
    return (int)threadIdx.x / WARP % Tile::down * Tile::rows;
}
template <typename Tile> static __device__ __forceinline__ int warp_column() {
    return (int)threadIdx.x / WARP / Tile::down * Tile::columns;
}

/* The accumulators of m16n8 instructions. */
template <typename Tile, typename T = float> struct m16n8_sums {
    typedef Tile tile;
    enum { ROWS = Tile::rows / 16, COLUMNS = Tile::columns / 8, BLOCKS = 2 };
    T sum[ROWS][COLUMNS][4] = {};

    template <typename Visit> __device__ __forceinline__ void each(Visit visit) const {
        const int g = lane() / 4, t = lane() % 4;
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j)
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    visit(16 * i + g + 8 * (e / 2), 8 * j + 2 * t + e % 2, sum[i][j][e]);
    }
};

/* bf16 and f16 on tensor cores. */
template <typename Tile, typename T> struct m16n8k16_core : m16n8_sums<Tile> {
    using m16n8_sums<Tile>::ROWS;
    using m16n8_sums<Tile>::COLUMNS;
    using m16n8_sums<Tile>::sum;
    typedef T storage;

    static __device__ __forceinline__ void multiply(float c[4], const uint32_t a[4],
                                                    const uint32_t b[2]) {
        if constexpr (std::is_same_v<T, __half>)
            mma_m16n8k16_f16(c, a, b);
        else
            mma_m16n8k16_bf16(c, a, b);
    }

    /* Four 8 x 8 matrices; this lane's one begins at (row, k). */
    template <typename Slice>
    static __device__ __forceinline__ void load(uint32_t r[4], const storage *x, int row, int k) {
        const int line = lane() % 8;
        if constexpr (Slice::k_inner)
            ldmatrix_x4(r, x + Slice::at(row + line, k));
        else
            ldmatrix_x4_trans(r, x + Slice::at(row, k + line));
    }

    template <typename Left, typename Right>
    __device__ __forceinline__ void add(const storage *a, int row, const storage *b, int column) {
        const int low = lane() / 8 % 2 * 8, high = lane() / 16 * 8;
#pragma unroll
        for (int k = 0; k < Left::depth; k += 16) {
            uint32_t x[ROWS][4], y[COLUMNS / 2][4];
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
                load<Left>(x[i], a, row + 16 * i + low, k + high);
#pragma unroll
            for (int j = 0; j < COLUMNS / 2; ++j)
                load<Right>(y[j], b, column + 16 * j + high, k + low);
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j)
                    multiply(sum[i][j], x[i], y[j / 2] + j % 2 * 2);
        }
    }
};

/* As cores are handed on: by their tile alone. */
template <typename T> struct m16n8k16 {
    template <typename Tile> using core = m16n8k16_core<Tile, T>;
};

/* fp32 operands cut to TF32, on tensor cores. */
template <typename Tile> struct tf32_core : m16n8_sums<Tile> {
    using m16n8_sums<Tile>::ROWS;
    using m16n8_sums<Tile>::COLUMNS;
    using m16n8_sums<Tile>::sum;
    typedef float storage;

    template <typename Left, typename Right>
    __device__ __forceinline__ void add(const float *a, int row, const float *b, int column) {
        const int g = lane() / 4, t = lane() % 4;
#pragma unroll
        for (int k = 0; k < Left::depth; k += 8) {
            uint32_t x[ROWS][4], y[COLUMNS][2];
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    x[i][e] = __float_as_uint(
                        a[Left::at(row + 16 * i + g + e % 2 * 8, k + t + e / 2 * 4)]);
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j)
#pragma unroll
                for (int e = 0; e < 2; ++e)
                    y[j][e] = __float_as_uint(b[Right::at(column + 8 * j + g, k + t + e * 4)]);
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j)
                    mma_m16n8k8_tf32(sum[i][j], x[i], y[j]);
        }
    }
};

/* fp64 on tensor cores, which round as chains of multiply-adds do. */
template <typename Tile> struct f64_core {
    typedef Tile tile;
    typedef double storage;
    enum { ROWS = Tile::rows / 8, COLUMNS = Tile::columns / 8, BLOCKS = 1 };
    double sum[ROWS][COLUMNS][2] = {};

    template <typename Left, typename Right>
    __device__ __forceinline__ void add(const double *a, int row, const double *b, int column) {
        const int g = lane() / 4, t = lane() % 4;
#pragma unroll
        for (int k = 0; k < Left::depth; k += 4) {
            double x[ROWS], y[COLUMNS];
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
                x[i] = a[Left::at(row + 8 * i + g, k + t)];
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j)
                y[j] = b[Right::at(column + 8 * j + g, k + t)];
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j)
                    mma_m8n8k4_f64(sum[i][j], x[i], y[j]);
        }
    }

    template <typename Visit> __device__ __forceinline__ void each(Visit visit) const {
        const int g = lane() / 4, t = lane() % 4;
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j)
#pragma unroll
                for (int e = 0; e < 2; ++e)
                    visit(8 * i + g, 8 * j + 2 * t + e, sum[i][j][e]);
    }
};

#endif
