/*
 * How a warp of v3 multiplies: its part of the tile lies in the registers of its lanes.
 *
 * A core has
 *     tile                        the square whose parts its warps multiply (v3_slice.h)
 *     storage                     the type of the operands
 *     BLOCKS                      that a multiprocessor must hold, whatever registers that leaves
 *     add<Left, Right>(a, row, b, column)
 *                                 sums += one slice's products of the part's rows from `row` of a
 *                                 with its columns from `column` of b, k ascending
 *     settle()                    called behind every RUN products of each element
 *     each<Left, Right>(visit)    visit(i, j, sum) for this lane's elements
 *
 * Lane numbering of the fragments: g = lane / 4, t = lane % 4 (kernels/common/tensor.h).
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_V3_CORE_H
#define ASSAY_MATMUL_ACCUMULATE_V3_CORE_H

#include "kernels/matmul_accumulate/v3_slice.h"

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

/* Four numbers that are neighbours in a slice, brought by one access. */
struct alignas(16) quad {
    float v[4];
};

static __device__ __forceinline__ quad quad_at(const float *x) {
    return load_whole(reinterpret_cast<const quad *>(x));
}

/*
 * Which row of the left operand, or column of the right one, is a lane's i-th, where LANES lanes
 * share them: LANES apart where a line of the slice is one row's k, so that they lie in different
 * banks, and four neighbours at a time where it is one k's rows.
 */
template <typename Slice, int LANES> static __device__ __forceinline__ int line_of(int own, int i) {
    return Slice::k_inner ? own + i * LANES : (i / 4 * LANES + own) * 4 + i % 4;
}

/* The i-th of the quads that a lane's rows have at k to k + 3: four k of row i, or of four rows,
 * i / 4 * 4 and on, k + i % 4. */
template <typename Slice, int LANES>
static __device__ __forceinline__ quad quad_of(const float *x, int row, int own, int i, int k) {
    return Slice::k_inner
               ? quad_at(x + Slice::at(row + line_of<Slice, LANES>(own, i), k))
               : quad_at(x + Slice::at(row + line_of<Slice, LANES>(own, i / 4 * 4), k + i % 4));
}

/*
 * fp32 on CUDA cores: a lane of a large tile has 8 x 8 elements. Shared memory is read 16 bytes at
 * a time, four k of a line or four lines of a k, or it would set the pace: 64 multiply-adds need 16
 * numbers. Sums of RUN products are added up: the error of k random products is √(RUN/k + 1/RUN) of
 * that of one chain, as a root mean square (measured in tests/sim/v3_matmul_accumulate.cu). The
 * totals are touched once in RUN steps; they need not stay in registers.
 */
template <typename Tile> struct fma_core {
    typedef Tile tile;
    typedef float storage;
    enum { LANE_ROWS = 8, LANE_COLUMNS = 4 };
    enum { ROWS = Tile::rows / LANE_ROWS, COLUMNS = Tile::columns / LANE_COLUMNS };
    enum { BLOCKS = 2 };
    float sum[ROWS][COLUMNS] = {}, total[ROWS][COLUMNS] = {};

    /* y[j][e]: the lane's column j at k + e. */
    template <typename Right>
    static __device__ __forceinline__ void load(float y[COLUMNS][4], const float *b, int column,
                                                int k) {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            const quad q = quad_of<Right, LANE_COLUMNS>(b, column, lane() % LANE_COLUMNS, j, k);
#pragma unroll
            for (int e = 0; e < 4; ++e)
                (Right::k_inner ? y[j][e] : y[j / 4 * 4 + e][j % 4]) = q.v[e];
        }
    }

    /* Row i's products at k + e. */
    __device__ __forceinline__ void multiply(int i, float x, const float y[COLUMNS][4], int e) {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
            sum[i][j] = fma_(x, y[j][e], sum[i][j]);
    }

    template <typename Left, typename Right>
    __device__ __forceinline__ void add(const float *a, int row, const float *b, int column) {
#pragma unroll 1
        for (int k = 0; k < Left::depth; k += 4) {
            float y[COLUMNS][4];
            load<Right>(y, b, column, k);
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                const quad q = quad_of<Left, LANE_ROWS>(a, row, lane() / LANE_COLUMNS, i, k);
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    if constexpr (Left::k_inner)
                        multiply(i, q.v[e], y, e);
                    else
                        multiply(i / 4 * 4 + e, q.v[e], y, i % 4);
            }
        }
    }

    __device__ __forceinline__ void settle() {
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) {
                total[i][j] += sum[i][j];
                sum[i][j] = 0;
            }
    }

    template <typename Left, typename Right, typename Visit>
    __device__ __forceinline__ void each(Visit visit) const {
        const int row = lane() / LANE_COLUMNS, column = lane() % LANE_COLUMNS;
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j)
                visit(line_of<Left, LANE_ROWS>(row, i), line_of<Right, LANE_COLUMNS>(column, j),
                      total[i][j] + sum[i][j]);
    }
};

/* The accumulators of m16n8 instructions. */
template <typename Tile, typename T = float> struct m16n8_sums {
    typedef Tile tile;
    enum { ROWS = Tile::rows / 16, COLUMNS = Tile::columns / 8, BLOCKS = 2 };
    T sum[ROWS][COLUMNS][4] = {};

    __device__ __forceinline__ void settle() {
    }

    template <typename Left, typename Right, typename Visit>
    __device__ __forceinline__ void each(Visit visit) const {
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

/* bf16 on tensor cores. */
template <typename Tile> struct bf16_core : m16n8_sums<Tile> {
    using m16n8_sums<Tile>::ROWS;
    using m16n8_sums<Tile>::COLUMNS;
    using m16n8_sums<Tile>::sum;
    typedef __nv_bfloat16 storage;

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
                    mma_m16n8k16_bf16(sum[i][j], x[i], y[j / 2] + j % 2 * 2);
        }
    }
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

    __device__ __forceinline__ void settle() {
    }

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

    template <typename Left, typename Right, typename Visit>
    __device__ __forceinline__ void each(Visit visit) const {
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
