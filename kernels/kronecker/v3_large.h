/*
 * Stages whose mode fits in no tile: tiled products straight from global memory. Columns are the
 * places (row, l, r) of a state, each with the extent of the mode.
 */
#ifndef ASSAY_KRONECKER_V3_LARGE_H
#define ASSAY_KRONECKER_V3_LARGE_H

#include "kernels/common/partials.h"
#include "kernels/kronecker/v3_plan.h"

enum { EDGE = 32, EDGE_LANES = 8 };

/* A state as a matrix (extent, columns). */
template <typename T> struct column_view {
    state<T> s;
    int64_t left, extent, right, columns;
};

template <typename T>
static __device__ __forceinline__ T *element(const column_view<T> &v, int64_t i, int64_t column) {
    const int64_t r = column % v.right, l = column / v.right % v.left;
    const int64_t row = column / v.right / v.left;
    return v.s.data + row * v.s.stride + (l * v.extent + i) * v.right + r;
}

template <typename T> using edge_tile = T[EDGE][EDGE + 1];

/* tile[i][c] = element (i0 + i, c0 + c), or with `columns_first` tile[c][i]; 0 outside. Threads run
 * along what is contiguous in memory. */
template <typename T>
static __device__ __forceinline__ void load_edge(const column_view<const T> &v, int64_t i0,
                                                 int64_t c0, int64_t c_end, bool columns_first,
                                                 edge_tile<T> &tile) {
    for (int k = (int)threadIdx.y; k < EDGE; k += EDGE_LANES) {
        const int i = v.right == 1 ? (int)threadIdx.x : k, c = v.right == 1 ? k : (int)threadIdx.x;
        const bool inside = i0 + i < v.extent && c0 + c < c_end;
        const T value = inside ? *element(v, i0 + i, c0 + c) : T(0);
        tile[columns_first ? c : i][columns_first ? i : c] = value;
    }
}

template <typename T>
static __device__ __forceinline__ void load_factor(factor<const T> w, int64_t i0, int64_t p,
                                                   int64_t j0, int64_t q, edge_tile<T> &tile) {
    for (int k = (int)threadIdx.y; k < EDGE; k += EDGE_LANES) {
        const int i = w.row == 1 ? (int)threadIdx.x : k, j = w.row == 1 ? k : (int)threadIdx.x;
        const bool inside = i0 + i < p && j0 + j < q;
        tile[i][j] = inside ? w.w[(i0 + i) * w.row + (j0 + j) * w.column] : T(0);
    }
}

/* sum[k] += sum over t of a[t][y + 8 k] b[t][x]: a thread's column of the product of two tiles. */
template <typename T>
static __device__ __forceinline__ void multiply_edges(const edge_tile<T> &a, const edge_tile<T> &b,
                                                      T (&sum)[EDGE / EDGE_LANES]) {
    for (int t = 0; t < EDGE; ++t)
        for (int k = 0; k < EDGE / EDGE_LANES; ++k)
            sum[k] = fma_(a[t][threadIdx.y + k * EDGE_LANES], b[t][threadIdx.x], sum[k]);
}

/* out[j, column] = sum over i of w[i, j] in[i, column]. */
template <typename T>
static __global__ void contract_large(column_view<const T> in, factor<const T> w,
                                      column_view<T> out) {
    __shared__ edge_tile<T> a, b;
    const int64_t across = (out.extent + EDGE - 1) / EDGE;
    const int64_t tiles = (out.columns + EDGE - 1) / EDGE * across;
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int64_t j0 = tile % across * EDGE, c0 = tile / across * EDGE;
        T sum[EDGE / EDGE_LANES] = {};
        for (int64_t i0 = 0; i0 < in.extent; i0 += EDGE) {
            load_factor(w, i0, in.extent, j0, out.extent, a);
            load_edge(in, i0, c0, in.columns, false, b);
            __syncthreads();
            multiply_edges(a, b, sum);
            __syncthreads();
        }
        for (int k = 0; k < EDGE / EDGE_LANES; ++k) {
            const int64_t j = j0 + threadIdx.y + k * EDGE_LANES, c = c0 + threadIdx.x;
            if (j < out.extent && c < out.columns)
                *element(out, j, c) = sum[k];
        }
    }
}

/* partial[split, i, j] = sum over the split's columns of in[i, column] cotangent[j, column]. */
template <typename T>
static __global__ void gradient_large(column_view<const T> in, column_view<const T> cotangent,
                                      int64_t splits, T *partial) {
    __shared__ edge_tile<T> a, b;
    const int64_t p = in.extent, q = cotangent.extent, across = (q + EDGE - 1) / EDGE;
    const int64_t tiles = (p + EDGE - 1) / EDGE * across;
    const int64_t width = (in.columns + splits - 1) / splits;
    for (int64_t item = blockIdx.x; item < tiles * splits; item += gridDim.x) {
        const int64_t split = item / tiles, tile = item % tiles;
        const int64_t i0 = tile / across * EDGE, j0 = tile % across * EDGE;
        const int64_t end = min((split + 1) * width, in.columns);
        T sum[EDGE / EDGE_LANES] = {};
        for (int64_t c0 = split * width; c0 < end; c0 += EDGE) {
            load_edge(in, i0, c0, end, true, a);
            load_edge(cotangent, j0, c0, end, true, b);
            __syncthreads();
            multiply_edges(a, b, sum);
            __syncthreads();
        }
        for (int k = 0; k < EDGE / EDGE_LANES; ++k) {
            const int64_t i = i0 + threadIdx.y + k * EDGE_LANES, j = j0 + threadIdx.x;
            if (i < p && j < q)
                partial[(split * p + i) * q + j] = sum[k];
        }
    }
}

static inline int64_t large_tiles(int64_t a, int64_t b) {
    return ceil_div(a, EDGE) * ceil_div(b, EDGE);
}

/* Partial gradients of a large stage: as many as fill the GPU, each of at least 8 tiles. */
static inline int64_t large_splits(int64_t rows, const stage &s) {
    const int64_t columns = rows * s.left * s.right;
    return clamp(WANTED_BLOCKS / large_tiles(s.p, s.q), 1, ceil_div(columns, 8 * EDGE));
}

/* One stage with extents p -> q; the transposed factor and swapped extents give the adjoint. */
template <typename T>
static assay_status launch_contract_large(void *stream, const stage &s, int64_t rows,
                                          factor<const T> w, int64_t p, int64_t q,
                                          state<const T> in, state<T> out) {
    const int64_t columns = rows * s.left * s.right;
    return ASSAY_LAUNCH(stream, linear_grid(large_tiles(q, columns), 1), dim3(EDGE, EDGE_LANES), 0,
                        (contract_large<T>),
                        (column_view<const T>{in, s.left, p, s.right, columns}), w,
                        (column_view<T>{out, s.left, q, s.right, columns}));
}

template <typename T>
static assay_status launch_gradient_large(void *stream, const stage &s, int64_t rows,
                                          state<const T> in, state<const T> cotangent, T *partial,
                                          factor<T> dw) {
    const int64_t columns = rows * s.left * s.right, splits = large_splits(rows, s);
    const assay_status status = ASSAY_LAUNCH(
        stream, linear_grid(large_tiles(s.p, s.q) * splits, 1), dim3(EDGE, EDGE_LANES), 0,
        (gradient_large<T>), (column_view<const T>{in, s.left, s.p, s.right, columns}),
        (column_view<const T>{cotangent, s.left, s.q, s.right, columns}), splits, partial);
    if (status != ASSAY_OK)
        return status;
    return launch_sum_partials<T>(stream, partial, splits, s.p * s.q, dw.w, s.q, dw.row);
}

#endif
