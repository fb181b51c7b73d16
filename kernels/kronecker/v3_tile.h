/* The work of a block of kronecker v3 on its tile: fetch, contract, sum its gradients. A tile
 * in shared memory is (units, extents, columns), packed. */
#ifndef ASSAY_KRONECKER_V3_TILE_H
#define ASSAY_KRONECKER_V3_TILE_H

#include "kernels/kronecker/v3_plan.h"

/* The factors of a pass, in the order of its stages. */
template <typename T> struct factors { factor<const T> of[MAX_STAGES]; };

/* A tile's place in the state. */
struct window {
    int64_t row, left, column;
    int units, columns;
};

static __device__ __forceinline__ window window_of(const pass &p, const tiling &t, int64_t tile) {
    const int64_t chunk = tile % t.chunks, group = tile / t.chunks;
    window v;
    v.column = chunk * t.columns;
    v.row = p.left > 1 ? group / t.groups : group * t.units;
    v.left = p.left > 1 ? group % t.groups * t.units : 0;
    const int64_t units = p.left > 1 ? p.left - v.left : p.rows - v.row;
    v.units = units < t.units ? (int)units : t.units;
    v.columns = p.right - v.column < t.columns ? (int)(p.right - v.column) : t.columns;
    return v;
}

/* Where element `e` of the tile lies in a state that has `size` elements a unit and column. */
template <typename T>
static __device__ __forceinline__ T *place(state<T> s, const pass &p, const window &v, int size,
                                           int e) {
    const int64_t unit_step = p.left > 1 ? size * p.right : s.stride;
    const int span = size * v.columns, unit = e / span, inside = e % span;
    return s.data + v.row * s.stride + v.left * size * p.right + unit * unit_step +
           inside / v.columns * p.right + v.column + inside % v.columns;
}

template <typename T>
static __device__ __forceinline__ void load_tile(state<const T> from, const pass &p,
                                                 const window &v, int size, T *tile) {
    for (int e = (int)threadIdx.x; e < v.units * size * v.columns; e += THREADS)
        tile[e] = *place(from, p, v, size, e);
}

template <typename T>
static __device__ __forceinline__ void store_tile(const T *tile, const pass &p, const window &v,
                                                  int size, state<T> to) {
    for (int e = (int)threadIdx.x; e < v.units * size * v.columns; e += THREADS)
        *place(to, p, v, size, e) = tile[e];
}

/* A stage over a whole tile. */
struct extent {
    int left, p, q, right;
};

static __device__ __forceinline__ extent extent_of(const tile_stage &s, const window &v) {
    return {v.units * s.left, s.p, s.q, s.right * v.columns};
}

static __device__ __forceinline__ extent transposed(const extent &x) {
    return {x.left, x.q, x.p, x.right};
}

static __device__ __forceinline__ int split_in(int n, int parts) {
    return (n + parts - 1) / parts;
}

/* out[l, first + j, r] = sum over i of in[l, i, r] w[i, j] for j < count. A thread holds a 4 x 4
 * block: elements `js` apart in j and `cs` apart in the columns (l, r), so that neighbouring
 * threads touch neighbouring words. Places beyond the edge repeat the last one and are dropped. */
template <typename T>
static __device__ __forceinline__ void contract_slice(const T *in, factor<const T> w, T *out,
                                                      const extent &x, int first, int count) {
    const int columns = x.left * x.right;
    const int js = split_in(count, BLOCK_EDGE), cs = split_in(columns, BLOCK_EDGE);
    for (int item = (int)threadIdx.x; item < js * cs; item += THREADS) {
        const int j = x.right < warpSize ? item % js : item / cs;
        const int column = x.right < warpSize ? item / js : item % cs;
        int from[BLOCK_EDGE], weight[BLOCK_EDGE];
        T sum[BLOCK_EDGE][BLOCK_EDGE] = {};
        for (int u = 0; u < BLOCK_EDGE; ++u) {
            const int c = min(column + u * cs, columns - 1);
            from[u] = c / x.right * x.p * x.right + c % x.right;
            weight[u] = min(j + u * js, count - 1);
        }
        for (int i = 0; i < x.p; ++i) {
            T a[BLOCK_EDGE], b[BLOCK_EDGE];
            for (int u = 0; u < BLOCK_EDGE; ++u) {
                a[u] = in[from[u] + i * x.right];
                b[u] = w.w[i * w.row + weight[u] * w.column];
            }
            for (int u = 0; u < BLOCK_EDGE; ++u)
                for (int v = 0; v < BLOCK_EDGE; ++v)
                    sum[u][v] = fma_(a[u], b[v], sum[u][v]);
        }
        for (int u = 0; u < BLOCK_EDGE; ++u) {
            const int c = column + u * cs;
            if (c >= columns)
                break;
            T *to = out + (c / x.right * x.q + first) * x.right + c % x.right;
            for (int v = 0; v < BLOCK_EDGE; ++v)
                if (j + v * js < count)
                    to[(j + v * js) * x.right] = sum[u][v];
        }
    }
}

/* The whole stage: slices of the factor, as wide as `room` elements allow, come through shared
 * memory; a factor with no room for one column is read where it is. Ends with a barrier. */
template <typename T>
static __device__ __forceinline__ void contract_tile(const T *in, factor<const T> w, T *out,
                                                     const extent &x, T *slice, int room) {
    const int width = min(room / x.p, x.q);
    if (width == 0) {
        contract_slice(in, w, out, x, 0, x.q);
        __syncthreads();
        return;
    }
    for (int first = 0; first < x.q; first += width) {
        const int count = min(width, x.q - first);
        for (int e = (int)threadIdx.x; e < x.p * count; e += THREADS)
            slice[e] = w.w[e / count * w.row + (first + e % count) * w.column];
        __syncthreads();
        contract_slice(in, factor<const T>{slice, count, 1}, out, x, first, count);
        __syncthreads();
    }
}

/* Adds the tile's part of dW to the block's partial sums, (splits, p, q): a thread has a 4 x 4
 * block of dW and one split of the columns, the same ones for every tile. The first tile of a block
 * writes, as the workspace holds nothing yet. */
template <typename T>
static __device__ __forceinline__ void gradient_tile(const T *in, const T *cotangent,
                                                     const extent &x, int splits, bool first,
                                                     T *partial) {
    const int columns = x.left * x.right;
    const int is = split_in(x.p, BLOCK_EDGE), js = split_in(x.q, BLOCK_EDGE), blocks = is * js;
    for (int item = (int)threadIdx.x; item < blocks * splits; item += THREADS) {
        const int split = x.right < warpSize ? item / blocks : item % splits;
        const int block = x.right < warpSize ? item % blocks : item / splits;
        const int i = block / js, j = block % js;
        int row[BLOCK_EDGE], column[BLOCK_EDGE];
        T sum[BLOCK_EDGE][BLOCK_EDGE] = {};
        for (int u = 0; u < BLOCK_EDGE; ++u) {
            row[u] = min(i + u * is, x.p - 1) * x.right;
            column[u] = min(j + u * js, x.q - 1) * x.right;
        }
        for (int c = split; c < columns; c += splits) {
            const int l = c / x.right, r = c % x.right;
            const T *a = in + l * x.p * x.right + r, *b = cotangent + l * x.q * x.right + r;
            for (int u = 0; u < BLOCK_EDGE; ++u)
                for (int v = 0; v < BLOCK_EDGE; ++v)
                    sum[u][v] = fma_(a[row[u]], b[column[v]], sum[u][v]);
        }
        for (int u = 0; u < BLOCK_EDGE; ++u) {
            for (int v = 0; v < BLOCK_EDGE; ++v) {
                if (i + u * is >= x.p || j + v * js >= x.q)
                    continue;
                T *to = partial + ((int64_t)split * x.p + i + u * is) * x.q + j + v * js;
                *to = first ? sum[u][v] : *to + sum[u][v];
            }
        }
    }
}

#endif
