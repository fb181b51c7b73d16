/*
 * Passes of kronecker v3 whose extents are all multiples of eight. A thread holds a block of a
 * stage's output in registers, 8 j by 8 (backward 4) columns, reads the stage's input and its
 * factor from shared memory 16 bytes at a time, and after a barrier writes the block over the
 * input: a tile needs one buffer. `columns` are all places but the mode's own, (left, right) of the
 * tile.
 *
 * A stage whose right is 1 reads packs along the mode; the others read packs along right.
 */
#ifndef ASSAY_KRONECKER_V3_EIGHTS_H
#define ASSAY_KRONECKER_V3_EIGHTS_H

#include "kernels/common/tensor.h"
#include "kernels/kronecker/v3_eights_plan.h"
#include "kernels/kronecker/v3_tile.h"

/* n / d by one multiplication, exact for n d < 2^32. */
struct divisor {
    unsigned d, inverse;
};

static __device__ __forceinline__ divisor divisor_of(int d) {
    return {(unsigned)d, d > 1 ? 0xffffffffu / (unsigned)d + 1 : 0};
}
static __device__ __forceinline__ int quotient(int n, divisor by) {
    return by.d > 1 ? (int)__umulhi((unsigned)n, by.inverse) : n;
}

template <typename T> static __device__ __forceinline__ pack<T> pack_at(const T *from) {
    return load_whole(reinterpret_cast<const pack<T> *>(from));
}
template <typename T> static __device__ __forceinline__ void put_pack(T *to, const pack<T> &p) {
    *reinterpret_cast<pack<T> *>(to) = p;
}

static __device__ __forceinline__ void copy_element(float *shared, const float *global) {
    cp_async_4(shared, global);
}
static __device__ __forceinline__ void copy_element(double *shared, const double *global) {
    cp_async_8(shared, global);
}

/* Whether packs may be read from and written to every row. */
template <typename T> static inline bool takes_packs(state<T> s, int64_t rows) {
    return (uintptr_t)s.data % PACK_BYTES == 0 &&
           (rows <= 1 || s.stride * (int64_t)sizeof(T) % PACK_BYTES == 0);
}

/* Where the tile's unit `unit` begins in a state of `size` elements a unit and column. */
template <typename T>
static __device__ __forceinline__ T *unit_at(state<T> s, const pass &p, const window &v, int size,
                                             int unit) {
    const int64_t row = p.left > 1 ? v.row : v.row + unit;
    const int64_t l = p.left > 1 ? v.left + unit : 0;
    return s.data + row * s.stride + l * size * p.right + v.column;
}

/* The runs of a tile in memory: packs of a run, and of a unit. */
struct runs {
    divisor run, unit;
    int packs;
};

template <typename T>
static __device__ __forceinline__ runs runs_of(const pass &p, const window &v, int size) {
    const int unit = size * v.columns / pack<T>::size;
    return {divisor_of(p.right == 1 ? unit : v.columns / pack<T>::size), divisor_of(unit),
            v.units * unit};
}

/* Pack k of a tile. */
template <typename T>
static __device__ __forceinline__ T *pack_place(state<T> s, const pass &p, const window &v,
                                                const runs &r, int size, int k) {
    const int unit = quotient(k, r.unit), inside = k - unit * (int)r.unit.d;
    const int run = quotient(inside, r.run), place = inside - run * (int)r.run.d;
    return unit_at(s, p, v, size, unit) + run * p.right + place * pack<T>::size;
}

/* Starts to fetch the tile. */
template <typename T>
static __device__ __forceinline__ void fetch_tile(state<const T> from, bool packs, const pass &p,
                                                  const window &v, int size, T *tile) {
    const runs r = runs_of<T>(p, v, size);
    for (int k = (int)threadIdx.x; k < r.packs; k += (int)blockDim.x) {
        const T *const source = pack_place(from, p, v, r, size, k);
        T *const to = tile + padded<T>(k * pack<T>::size);
        if (packs)
            cp_async_16(to, source);
        else
            for (int e = 0; e < pack<T>::size; ++e)
                copy_element(to + e, source + e);
    }
    cp_async_commit();
}

template <typename T>
static __device__ __forceinline__ void put_tile(const T *tile, const pass &p, const window &v,
                                                int size, state<T> to, bool packs) {
    const runs r = runs_of<T>(p, v, size);
    for (int k = (int)threadIdx.x; k < r.packs; k += (int)blockDim.x)
        store_pack(pack_place(to, p, v, r, size, k), pack_at(tile + padded<T>(k * pack<T>::size)),
                   pack<T>::size, packs);
}

/* w, or its transpose, into shared memory. */
template <typename T>
static __device__ __forceinline__ void put_factor(factor<const T> w, int p, int q, T *to) {
    for (int e = (int)threadIdx.x; e < p * q; e += (int)blockDim.x)
        to[e] = w.w[e / q * w.row + e % q * w.column];
}

/* A thread's share of a stage: its columns are packs (right > 1) or single ones (right = 1), `step`
 * apart; its j are two packs, q / 2 apart. */
template <typename T> struct share {
    int j, column, step, columns; /* columns: how many packs or single ones there are */
    bool some;
};

template <typename T, bool ALONG, int PACKS>
static __device__ __forceinline__ share<T> share_of(const extent &x) {
    constexpr int V = pack<T>::size, EACH = ALONG ? PACKS * V : PACKS;
    const int groups = x.q / (2 * V), index = (int)threadIdx.x;
    share<T> s;
    s.columns = ALONG ? x.left : x.left * x.right / V;
    s.step = split_in(s.columns, EACH);
    s.column = index / groups;
    s.j = index % groups * V;
    s.some = s.column < s.step;
    return s;
}

/* Where pack `g` of the columns begins in a state of `extent`: (left, extent, right). */
template <typename T>
static __device__ __forceinline__ int column_pack(const extent &x, int extent, int g) {
    const int across = x.right / pack<T>::size, l = g / across;
    return l * extent * x.right + (g - l * across) * pack<T>::size;
}

template <typename T, int PACKS> using block = T[PACKS * pack<T>::size][2 * pack<T>::size];

/* sum[c][j] over i of in[i, c] w[i, j]; the second half of j is q / 2 on. */
template <typename T, int PACKS>
static __device__ __forceinline__ void multiply_across(const T *in, const T *w, const extent &x,
                                                       const share<T> &s, block<T, PACKS> &sum) {
    constexpr int V = pack<T>::size;
    int from[PACKS];
#pragma unroll
    for (int u = 0; u < PACKS; ++u)
        from[u] = column_pack<T>(x, x.p, min(s.column + u * s.step, s.columns - 1));
    w += s.j;
#pragma unroll 8
    for (int i = 0; i < x.p; ++i) {
        const pack<T> low = pack_at(w + i * x.q), high = pack_at(w + i * x.q + x.q / 2);
#pragma unroll
        for (int u = 0; u < PACKS; ++u) {
            const pack<T> a = pack_at(in + padded<T>(from[u] + i * x.right));
#pragma unroll
            for (int c = 0; c < V; ++c)
#pragma unroll
                for (int j = 0; j < V; ++j) {
                    sum[u * V + c][j] = fma_(a.v[c], low.v[j], sum[u * V + c][j]);
                    sum[u * V + c][V + j] = fma_(a.v[c], high.v[j], sum[u * V + c][V + j]);
                }
        }
    }
}

/* The same where right is 1: columns are x.p elements apart, packs run along i. */
template <typename T, int PACKS>
static __device__ __forceinline__ void multiply_along(const T *in, const T *w, const extent &x,
                                                      const share<T> &s, block<T, PACKS> &sum) {
    constexpr int V = pack<T>::size, COLUMNS = PACKS * V;
    w += s.j;
#pragma unroll 2
    for (int i = 0; i < x.p; i += V) {
        pack<T> a[COLUMNS];
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
            a[c] = pack_at(in + padded<T>(min(s.column + c * s.step, s.columns - 1) * x.p + i));
#pragma unroll
        for (int v = 0; v < V; ++v) {
            const T *const row = w + (i + v) * x.q;
            const pack<T> low = pack_at(row), high = pack_at(row + x.q / 2);
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
#pragma unroll
                for (int j = 0; j < V; ++j) {
                    sum[c][j] = fma_(a[c].v[v], low.v[j], sum[c][j]);
                    sum[c][V + j] = fma_(a[c].v[v], high.v[j], sum[c][V + j]);
                }
        }
    }
}

template <typename T, int PACKS>
static __device__ __forceinline__ void put_across(const block<T, PACKS> &sum, const extent &x,
                                                  const share<T> &s, T *out) {
    constexpr int V = pack<T>::size;
#pragma unroll
    for (int u = 0; u < PACKS; ++u) {
        if (s.column + u * s.step >= s.columns)
            break;
        const int to = column_pack<T>(x, x.q, s.column + u * s.step) + s.j * x.right;
#pragma unroll
        for (int j = 0; j < 2 * V; ++j) {
            pack<T> column;
#pragma unroll
            for (int c = 0; c < V; ++c)
                column.v[c] = sum[u * V + c][j];
            put_pack(out + padded<T>(to + (j / V * (x.q / 2) + j % V) * x.right), column);
        }
    }
}

template <typename T, int PACKS>
static __device__ __forceinline__ void put_along(const block<T, PACKS> &sum, const extent &x,
                                                 const share<T> &s, T *out) {
    constexpr int V = pack<T>::size;
#pragma unroll
    for (int c = 0; c < PACKS * V; ++c) {
        if (s.column + c * s.step >= s.columns)
            break;
        const int to = (s.column + c * s.step) * x.q + s.j;
        pack<T> low, high;
#pragma unroll
        for (int j = 0; j < V; ++j) {
            low.v[j] = sum[c][j];
            high.v[j] = sum[c][V + j];
        }
        put_pack(out + padded<T>(to), low);
        put_pack(out + padded<T>(to + x.q / 2), high);
    }
}

/* The block straight to memory, to the state behind stage `e` of the pass. */
template <typename T, int PACKS>
static __device__ __forceinline__ void put_across(const block<T, PACKS> &sum, const extent &x,
                                                  const share<T> &s, const pass &p, const window &v,
                                                  int left, state<T> to, bool packs) {
    constexpr int V = pack<T>::size;
    const int across = x.right / V, size = left * x.q * (x.right / v.columns);
    const int64_t step = x.right / v.columns * p.right;
#pragma unroll
    for (int u = 0; u < PACKS; ++u) {
        const int g = s.column + u * s.step;
        if (g >= s.columns)
            break;
        const int l = g / across, r = (g - l * across) * V, unit = l / left;
        T *const first = unit_at(to, p, v, size, unit) + (l - unit * left) * x.q * step +
                         r / v.columns * p.right + r % v.columns + s.j * step;
#pragma unroll
        for (int j = 0; j < 2 * V; ++j) {
            pack<T> column;
#pragma unroll
            for (int c = 0; c < V; ++c)
                column.v[c] = sum[u * V + c][j];
            store_pack(first + (j / V * (x.q / 2) + j % V) * step, column, V, packs);
        }
    }
}

/* One stage from `in` to `out`, which may be the same buffer. Begins where all of `in` is there,
 * and ends with a barrier. */
template <typename T, int PACKS>
static __device__ __forceinline__ void contract_eights(const T *in, const T *w, const extent &x,
                                                       T *out) {
    block<T, PACKS> sum = {};
    if (x.right == 1) {
        const share<T> s = share_of<T, true, PACKS>(x);
        if (s.some)
            multiply_along<T, PACKS>(in, w, x, s, sum);
        __syncthreads();
        if (s.some)
            put_along<T, PACKS>(sum, x, s, out);
    } else {
        const share<T> s = share_of<T, false, PACKS>(x);
        if (s.some)
            multiply_across<T, PACKS>(in, w, x, s, sum);
        __syncthreads();
        if (s.some)
            put_across<T, PACKS>(sum, x, s, out);
    }
    __syncthreads();
}

/* The last stage of a tile, whose result goes to memory: `left` is that of one unit. Ends where the
 * tile may be overwritten. */
template <typename T, int PACKS>
static __device__ __forceinline__ void finish_eights(T *tile, const T *w, const extent &x,
                                                     const pass &p, const window &v, int left,
                                                     state<T> to, bool packs) {
    if (x.right == 1) {
        contract_eights<T, PACKS>(tile, w, x, tile);
        put_tile(tile, p, v, left * x.q, to, packs);
        __syncthreads();
        return;
    }
    block<T, PACKS> sum = {};
    const share<T> s = share_of<T, false, PACKS>(x);
    if (s.some)
        multiply_across<T, PACKS>(tile, w, x, s, sum);
    __syncthreads();
    if (s.some)
        put_across<T, PACKS>(sum, x, s, p, v, left, to, packs);
}

template <typename T>
static __global__ void __launch_bounds__(MOST_THREADS)
    forward_eights(state<const T> in, bool in_packs, factors<T> w, state<T> out, bool out_packs,
                   pass p, tiling t, int buffer) {
    ASSAY_DYNAMIC_SHARED(T, tile);
    T *const weights = tile + buffer;
    T *to = weights;
    for (int i = 0; i < p.count; ++i) {
        put_factor(w.of[i], p.stages[i].p, p.stages[i].q, to);
        to += p.stages[i].p * p.stages[i].q;
    }
    for (int64_t index = blockIdx.x; index < t.tiles; index += gridDim.x) {
        const window v = window_of(p, t, index);
        fetch_tile(in, in_packs, p, v, before(p.stages[0]), tile);
        cp_async_wait<0>();
        __syncthreads();
        const T *from = weights;
        for (int i = 0; i + 1 < p.count; ++i) {
            contract_eights<T, FORWARD_PACKS>(tile, from, extent_of(p.stages[i], v), tile);
            from += p.stages[i].p * p.stages[i].q;
        }
        const tile_stage &last = p.stages[p.count - 1];
        finish_eights<T, FORWARD_PACKS>(tile, from, extent_of(last, v), p, v, last.left, out,
                                        out_packs);
    }
}

/* Adds to sum[i][j] the products of in[i0 + i, c] and cotangent[j0 + j, c] over every `splits`-th
 * pack of columns (right > 1) or column, from `split` on. */
template <typename T, int ROWS, int COLUMNS>
static __device__ __forceinline__ void add_gradient(const T *in, const T *cotangent,
                                                    const extent &x, int i0, int j0, int split,
                                                    int splits, T (&sum)[ROWS][COLUMNS]) {
    constexpr int V = pack<T>::size;
    if (x.right == 1) {
        for (int c = split; c < x.left; c += splits) {
            pack<T> a[ROWS / V], b[COLUMNS / V];
#pragma unroll
            for (int i = 0; i < ROWS / V; ++i)
                a[i] = pack_at(in + padded<T>(c * x.p + i0 + i * V));
#pragma unroll
            for (int j = 0; j < COLUMNS / V; ++j)
                b[j] = pack_at(cotangent + padded<T>(c * x.q + j0 + j * V));
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j)
                    sum[i][j] = fma_(a[i / V].v[i % V], b[j / V].v[j % V], sum[i][j]);
        }
        return;
    }
    const divisor across = divisor_of(x.right / V);
    for (int g = split; g < x.left * x.right / V; g += splits) {
        const int l = quotient(g, across), r = (g - l * (int)across.d) * V;
        const int a0 = (l * x.p + i0) * x.right + r, b0 = (l * x.q + j0) * x.right + r;
        pack<T> b[COLUMNS];
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
            b[j] = pack_at(cotangent + padded<T>(b0 + j * x.right));
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const pack<T> a = pack_at(in + padded<T>(a0 + i * x.right));
#pragma unroll
            for (int v = 0; v < V; ++v)
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j)
                    sum[i][j] = fma_(a.v[v], b[j].v[v], sum[i][j]);
        }
    }
}

/* A thread's place in a stage's dW: block (i0, j0), and which of `splits` parts of the columns. */
struct gradient_share {
    int i0, j0, split, splits;
    bool some;
};

template <int ROWS, int COLUMNS>
static __device__ __forceinline__ gradient_share gradient_share_of(const tile_stage &s) {
    const int across = s.q / COLUMNS, blocks = s.p / ROWS * across;
    gradient_share g;
    g.splits = (int)blockDim.x / blocks;
    g.split = (int)threadIdx.x % g.splits;
    const int block = (int)threadIdx.x / g.splits;
    g.i0 = block / across * ROWS;
    g.j0 = block % across * COLUMNS;
    g.some = block < blocks;
    return g;
}

/* The block's dW: the sum over the splits in ascending order. */
template <typename T, int ROWS, int COLUMNS>
static __device__ __forceinline__ void put_gradient(const T (&sum)[ROWS][COLUMNS],
                                                    const tile_stage &s, T *shared, T *partial) {
    const gradient_share g = gradient_share_of<ROWS, COLUMNS>(s);
    const int size = s.p * s.q;
    if (g.some)
        for (int i = 0; i < ROWS; ++i)
            for (int j = 0; j < COLUMNS; ++j)
                shared[g.split * size + (g.i0 + i) * s.q + g.j0 + j] = sum[i][j];
    __syncthreads();
    for (int e = (int)threadIdx.x; e < size; e += (int)blockDim.x) {
        T total = shared[e];
        for (int split = 1; split < g.splits; ++split)
            total += shared[split * size + e];
        partial[e] = total;
    }
    __syncthreads();
}

/*
 * Backward of a pass of STAGES stages. Buffer 0 holds x, and in its place the input of the last
 * stage; buffer 1 of a pass of three that of the second; the last buffer the cotangent. x is
 * fetched again for the first stage's dW, from L2. Every thread keeps a block of each dW in
 * registers over all tiles.
 */
template <typename T, int STAGES>
static __global__ void __launch_bounds__(GRADIENT_THREADS, 2)
    backward_eights(state<const T> in, bool in_packs, factors<T> w, state<const T> cotangent,
                    bool cotangent_packs, state<T> out, bool out_packs, T *partial, pass p,
                    tiling t, int buffer) {
    constexpr int ROWS = gradient_rows(STAGES), COLUMNS = gradient_columns(STAGES);
    constexpr int BUFFERS = STAGES == 1 ? 2 : STAGES, PACKS = BACKWARD_PACKS;
    ASSAY_DYNAMIC_SHARED(T, shared);
    T *const x = shared, *const second = shared + buffer,
             *const dy = shared + (BUFFERS - 1) * buffer;
    const T *weights[STAGES], *adjoints[STAGES];
    T *to = shared + BUFFERS * buffer;
#pragma unroll
    for (int i = 0; i < STAGES; ++i) {
        const tile_stage &s = p.stages[i];
        weights[i] = to;
        if (i + 1 < STAGES) {
            put_factor(w.of[i], s.p, s.q, to);
            to += s.p * s.q;
        }
        adjoints[i] = to;
        put_factor(transposed(w.of[i]), s.q, s.p, to);
        to += s.p * s.q;
    }

    T sum[STAGES][ROWS][COLUMNS] = {};
    for (int64_t index = blockIdx.x; index < t.tiles; index += gridDim.x) {
        const window v = window_of(p, t, index);
        fetch_tile(in, in_packs, p, v, before(p.stages[0]), x);
        fetch_tile(cotangent, cotangent_packs, p, v, behind(p.stages[STAGES - 1]), dy);
        cp_async_wait<1>();
        __syncthreads();
        if (STAGES == 2)
            contract_eights<T, PACKS>(x, weights[0], extent_of(p.stages[0], v), x);
        if (STAGES == 3) {
            contract_eights<T, PACKS>(x, weights[0], extent_of(p.stages[0], v), second);
            contract_eights<T, PACKS>(second, weights[1], extent_of(p.stages[1], v), x);
        }
        cp_async_wait<0>();
        __syncthreads();
#pragma unroll
        for (int i = STAGES - 1; i >= 0; --i) {
            const extent e = extent_of(p.stages[i], v);
            const gradient_share g = gradient_share_of<ROWS, COLUMNS>(p.stages[i]);
            if (g.some)
                add_gradient<T, ROWS, COLUMNS>(STAGES == 3 && i == 1 ? second : x, dy, e, g.i0,
                                               g.j0, g.split, g.splits, sum[i]);
            if (i == 0) {
                finish_eights<T, PACKS>(dy, adjoints[0], transposed(e), p, v, p.stages[0].left, out,
                                        out_packs);
                break;
            }
            contract_eights<T, PACKS>(dy, adjoints[i], transposed(e), dy);
            if (i == STAGES - 1)
                fetch_tile(in, in_packs, p, v, before(p.stages[0]), x);
            if (i == 1) {
                cp_async_wait<0>();
                __syncthreads();
            }
        }
    }
    __syncthreads();
    T *place = partial;
#pragma unroll
    for (int i = STAGES - 1; i >= 0; --i) {
        const int size = p.stages[i].p * p.stages[i].q;
        put_gradient<T, ROWS, COLUMNS>(sum[i], p.stages[i], shared,
                                       place + (int64_t)blockIdx.x * size);
        place += (int64_t)gridDim.x * size;
    }
}

#endif
