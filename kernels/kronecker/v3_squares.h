/*
 * Passes of kronecker v3 whose factors are all 16 x 16, or all 32 x 32. To contract, a thread takes
 * WIDE whole columns of a mode: it has all their outputs in registers, reads each input once, and
 * writes over it without a barrier, as no other thread has it. All lanes read the same element of
 * the factor. For dW a thread has 8 x 8 of its elements over every SPLITS-th pack of columns, from
 * tile to tile. As in v3_eights.h, x is fetched again for the first stage's dW, from L2.
 */
#ifndef ASSAY_KRONECKER_V3_SQUARES_H
#define ASSAY_KRONECKER_V3_SQUARES_H

#include "kernels/kronecker/v3_eights.h"
#include "kernels/kronecker/v3_squares_plan.h"

template <int V> struct alignas(V *(int)sizeof(float)) wide { float v[V]; };

template <int V> static __device__ __forceinline__ wide<V> wide_at(const float *from) {
    return load_whole(reinterpret_cast<const wide<V> *>(from));
}
template <int V> static __device__ __forceinline__ void put_wide(float *to, const wide<V> &p) {
    *reinterpret_cast<wide<V> *>(to) = p;
}

/* Elements of the tile that are there: its first units. */
template <class S, typename T> static __device__ __forceinline__ int there(const tile_view<T> &v) {
    return v.units * (S::UNIT * S::COLUMNS);
}

template <class S>
static __device__ __forceinline__ void fetch_square(const tile_view<const float> &v, float *tile) {
    const int end = there<S>(v);
#pragma unroll 4
    for (int e = (int)threadIdx.x * 4; e < end; e += S::THREADS * 4) {
        const float *const from = element<S>(v, e);
        float *const to = tile + padded<float>(e);
        if (v.packs)
            cp_async_16(to, from);
        else
            for (int i = 0; i < 4; ++i)
                cp_async_4(to + i, from + i);
    }
    cp_async_commit();
}

/* The packs of a tile by turns: in each the block's threads have neighbouring ones. How far a
 * thread's pack of turn `t` lies behind its first: no two parts of an element's number meet. */
template <class S> struct square_turns {
    static constexpr int ELEMENTS = 4 * S::THREADS, COUNT = S::ELEMENTS / ELEMENTS;
    static constexpr int SPAN = S::UNIT * S::COLUMNS;
    static_assert(SPAN % ELEMENTS == 0 || ELEMENTS % SPAN == 0, "turns end where units do");
    static_assert(ELEMENTS % S::COLUMNS == 0, "turns end where runs do");

    template <typename T>
    static __device__ __forceinline__ int64_t step(const tile_view<T> &v, int t) {
        const int e = t * ELEMENTS;
        return e / SPAN * v.unit + e % SPAN / S::COLUMNS * (S::COLUMNS > 1 ? v.run : 1);
    }
};

/* The same in fewer instructions, but with more registers than forward has. */
template <class S>
static __device__ __forceinline__ void fetch_turns(const tile_view<const float> &v, float *tile) {
    typedef square_turns<S> turns;
    const int first = (int)threadIdx.x * 4, left = there<S>(v) - first;
    const float *const from = element<S>(v, first);
    float *const to = tile + padded<float>(first);
    if (v.packs) {
#pragma unroll
        for (int t = 0; t < turns::COUNT; ++t)
            if (t * turns::ELEMENTS < left)
                cp_async_16(to + padded<float>(t * turns::ELEMENTS), from + turns::step(v, t));
    } else {
#pragma unroll 1
        for (int t = 0; t * turns::ELEMENTS < left; ++t)
            for (int i = 0; i < 4; ++i)
                cp_async_4(to + padded<float>(t * turns::ELEMENTS) + i,
                           from + turns::step(v, t) + i);
    }
    cp_async_commit();
}

template <class S>
static __device__ __forceinline__ void put_square(const float *tile, const tile_view<float> &v) {
    typedef square_turns<S> turns;
    const int first = (int)threadIdx.x * 4, left = there<S>(v) - first;
    const float *const from = tile + padded<float>(first);
    float *const to = element<S>(v, first);
    if (v.packs) {
#pragma unroll
        for (int t = 0; t < turns::COUNT; ++t)
            if (t * turns::ELEMENTS < left)
                store_pack(to + turns::step(v, t),
                           pack_at(from + padded<float>(t * turns::ELEMENTS)), 4, true);
    } else {
#pragma unroll 1
        for (int t = 0; t * turns::ELEMENTS < left; ++t)
            store_pack(to + turns::step(v, t), pack_at(from + padded<float>(t * turns::ELEMENTS)),
                       4, false);
    }
}

/* sum[j][c] += x[c] w[j], of one row of the factor. */
template <int N, int V>
static __device__ __forceinline__ void add_row(const float (&x)[V], const float *w,
                                               float (&sum)[N][V]) {
#pragma unroll
    for (int j = 0; j < N; j += 4) {
        const pack<float> row = pack_at(w + j);
#pragma unroll
        for (int k = 0; k < 4; ++k)
#pragma unroll
            for (int c = 0; c < V; ++c)
                sum[j + k][c] = fma_(x[c], row.v[k], sum[j + k][c]);
    }
}

/* A thread's outputs: all of WIDE columns. */
template <class S> using square_block = float[S::EXTENT][S::WIDE];

/* Where the thread's columns begin, in a mode whose elements are R apart. */
template <class S, int R> static __device__ __forceinline__ int columns_of() {
    constexpr int ACROSS = R / S::WIDE, item_span = S::EXTENT * R;
    return (int)threadIdx.x / ACROSS * item_span + (int)threadIdx.x % ACROSS * S::WIDE;
}

/* sum[j][c] = sum over i of tile[i, c] w[i, j]. */
template <class S, int R>
static __device__ __forceinline__ void multiply_columns(const float *tile, const float *w,
                                                        square_block<S> &sum) {
    const float *const place = tile + padded<float>(columns_of<S, R>());
#pragma unroll 8
    for (int i = 0; i < S::EXTENT; ++i) {
        const wide<S::WIDE> x = wide_at<S::WIDE>(place + padded<float>(i * R));
        add_row(x.v, w + i * S::EXTENT, sum);
    }
}

/* One stage in the tile, of which `end` elements are there. */
template <class S, int R>
static __device__ __forceinline__ void contract_across(float *tile, int end, const float *w) {
    if (columns_of<S, R>() >= end)
        return;
    square_block<S> sum = {};
    multiply_columns<S, R>(tile, w, sum);
    float *const place = tile + padded<float>(columns_of<S, R>());
#pragma unroll
    for (int j = 0; j < S::EXTENT; ++j) {
        wide<S::WIDE> row;
#pragma unroll
        for (int c = 0; c < S::WIDE; ++c)
            row.v[c] = sum[j][c];
        put_wide(place + padded<float>(j * R), row);
    }
}

/* The same of V columns of the last axis: read(c, i) is the pack from element i of column c on. */
template <int N, int V, typename Read>
static __device__ __forceinline__ void multiply_along(const Read &read, const float *w,
                                                      float (&sum)[N][V]) {
#pragma unroll 2
    for (int i = 0; i < N; i += 4) {
        pack<float> in[V];
#pragma unroll
        for (int c = 0; c < V; ++c)
            in[c] = read(c, i);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            float x[V];
#pragma unroll
            for (int c = 0; c < V; ++c)
                x[c] = in[c].v[k];
            add_row(x, w + (i + k) * N, sum);
        }
    }
}

template <int N, int V>
static __device__ __forceinline__ void put_along(const float (&sum)[N][V], int c, float *place) {
#pragma unroll
    for (int j = 0; j < N; j += 4)
        put_pack(place + j, pack<float>{{sum[j][c], sum[j + 1][c], sum[j + 2][c], sum[j + 3][c]}});
}

/* In the tile: a thread's columns are THREADS apart. In place of one that is not there it takes its
 * first one, which no other thread writes. */
template <class S>
static __device__ __forceinline__ void contract_along(float *tile, int end, const float *w) {
    constexpr int N = S::EXTENT, V = S::WIDE;
    const int columns = end / N;
    if ((int)threadIdx.x >= columns)
        return;
    float sum[N][V] = {};
    float *place[V];
#pragma unroll
    for (int c = 0; c < V; ++c) {
        const int column = (int)threadIdx.x + c * S::THREADS;
        place[c] = tile + padded<float>((column < columns ? column : (int)threadIdx.x) * N);
    }
    multiply_along([&](int c, int i) { return pack_at(place[c] + i); }, w, sum);
#pragma unroll
    for (int c = 0; c < V; ++c) {
        if ((int)threadIdx.x + c * S::THREADS >= columns)
            break;
        put_along(sum, c, place[c]);
    }
}

template <class S, int R>
static __device__ __forceinline__ void contract_square(float *tile, int end, const float *w) {
    if constexpr (R == 1)
        contract_along<S>(tile, end, w);
    else
        contract_across<S, R>(tile, end, w);
}

template <class S, int R>
static __device__ __forceinline__ void store_columns(const square_block<S> &sum,
                                                     const tile_view<float> &out) {
    float *const to = element<S>(out, columns_of<S, R>());
#pragma unroll
    for (int j = 0; j < S::EXTENT; ++j) {
        wide<S::WIDE> row;
#pragma unroll
        for (int c = 0; c < S::WIDE; ++c)
            row.v[c] = sum[j][c];
        float *const place = to + j * step_of<S, R>(out);
        if (out.packs)
            put_wide(place, row);
        else
            for (int c = 0; c < S::WIDE; ++c)
                place[c] = row.v[c];
    }
}

/* The stage whose result goes to memory. As soon as no thread reads the tile any more, fetch_next()
 * may ask for the next one. */
template <class S, int R, typename Fetch>
static __device__ __forceinline__ void
finish_square(float *tile, const float *w, const tile_view<float> &out, const Fetch &fetch_next) {
    if constexpr (R == 1) {
        contract_along<S>(tile, there<S>(out), w);
        __syncthreads();
        put_square<S>(tile, out);
        __syncthreads();
        fetch_next();
    } else {
        const bool some = columns_of<S, R>() < there<S>(out);
        square_block<S> sum = {};
        if (some)
            multiply_columns<S, R>(tile, w, sum);
        __syncthreads();
        fetch_next();
        if (!some)
            return;
        store_columns<S, R>(sum, out);
    }
}

template <class S>
static __global__ void __launch_bounds__(S::THREADS, S::FORWARD_BLOCKS)
    forward_squares(state<const float> in, bool in_packs, factors<float> w, state<float> out,
                    bool out_packs, pass p, int64_t tiles) {
    constexpr int N = S::EXTENT, C = S::COLUMNS;
    static_assert(S::MODES < 3, "three modes are v3_cubes.h");
    ASSAY_DYNAMIC_SHARED(float, tile);
    float *const weights = tile + padded<float>(S::ELEMENTS);
    for (int i = 0; i < S::MODES; ++i)
        put_factor(w.of[i], N, N, weights + i * N * N);
    fetch_square<S>(view_of<S>(in, in_packs, p, blockIdx.x), tile);
    for (int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
        const tile_view<float> to = view_of<S>(out, out_packs, p, index);
        const int64_t next = index + gridDim.x;
        cp_async_wait<0>();
        __syncthreads();
        if constexpr (S::MODES == 2) {
            contract_square<S, C>(tile, there<S>(to), weights);
            __syncthreads();
        }
        finish_square<S, S::UNIT / N * C>(tile, weights + (S::MODES - 1) * N * N, to, [&] {
            if (next < tiles)
                fetch_square<S>(view_of<S>(in, in_packs, p, next), tile);
        });
    }
}

/* A thread's 8 x 8 elements of dW: where its rows and columns are, and its split. */
template <class S, int R> struct square_share {
    static constexpr int BLOCKS = S::EXTENT / EIGHT, SPLITS = S::THREADS / (BLOCKS * BLOCKS);
    int row, column, split;

    __device__ __forceinline__ square_share() {
        const int block = (int)threadIdx.x % (BLOCKS * BLOCKS);
        row = block / BLOCKS;
        column = block % BLOCKS;
        split = (int)threadIdx.x / (BLOCKS * BLOCKS);
    }

    /* Extent i of eight of block `b`: of the last axis in two packs, else BLOCKS apart, so that
     * the blocks of neighbouring threads lie in neighbouring banks. */
    static __device__ __forceinline__ int extent(int b, int i) {
        return R == 1 ? i / 4 * (S::EXTENT / 2) + b * 4 + i % 4 : b + BLOCKS * i;
    }
};

typedef float square_sums[EIGHT][EIGHT];

/* How far apart in the tile are two elements whose numbers differ by `by`, whole padded runs. */
static __device__ __forceinline__ constexpr int places_on(int by) {
    return by / (EIGHT * 4) * (EIGHT * 4 + 4);
}

template <class S, int R>
static __device__ __forceinline__ void add_square(const float *in, const float *cotangent, int end,
                                                  square_sums &sum) {
    constexpr int N = S::EXTENT;
    typedef square_share<S, R> share;
    const share s;
    if constexpr (R == 1) {
        constexpr int STEP = share::SPLITS * N;
        static_assert(STEP % (EIGHT * 4) == 0, "splits are whole runs apart");
        const int first = padded<float>(s.split * N);
        const float *a = in + first + s.row * 4, *b = cotangent + first + s.column * 4;
#pragma unroll 2
        for (int column = s.split; column < end / N; column += share::SPLITS) {
            const pack<float> a_low = pack_at(a), a_high = pack_at(a + N / 2);
            const pack<float> b_low = pack_at(b), b_high = pack_at(b + N / 2);
#pragma unroll
            for (int i = 0; i < EIGHT; ++i)
#pragma unroll
                for (int j = 0; j < EIGHT; ++j)
                    sum[i][j] = fma_(i < 4 ? a_low.v[i % 4] : a_high.v[i % 4],
                                     j < 4 ? b_low.v[j % 4] : b_high.v[j % 4], sum[i][j]);
            a += places_on(STEP);
            b += places_on(STEP);
        }
    } else {
        constexpr int ACROSS = R / 4, ROWS = places_on(share::BLOCKS * R);
        constexpr bool WHOLE = share::SPLITS % ACROSS == 0;
        constexpr int STEP = WHOLE ? share::SPLITS / ACROSS * N * R : share::SPLITS * 4;
        static_assert(WHOLE || ACROSS * N * 4 == S::ELEMENTS, "a step is as far everywhere");
        static_assert(STEP % (EIGHT * 4) == 0 && share::BLOCKS * R % (EIGHT * 4) == 0,
                      "splits and rows are whole runs apart");
        const int first = padded<float>(s.split / ACROSS * N * R + s.split % ACROSS * 4);
        const float *x = in + first + padded<float>(s.row * R),
                    *dy = cotangent + first + padded<float>(s.column * R);
#pragma unroll 1
        for (int item = s.split; item < end / N / 4; item += share::SPLITS) {
            pack<float> a[EIGHT];
#pragma unroll
            for (int i = 0; i < EIGHT; ++i)
                a[i] = pack_at(x + i * ROWS);
#pragma unroll
            for (int j = 0; j < EIGHT; ++j) {
                const pack<float> b = pack_at(dy + j * ROWS);
#pragma unroll
                for (int v = 0; v < 4; ++v)
#pragma unroll
                    for (int i = 0; i < EIGHT; ++i)
                        sum[i][j] = fma_(a[i].v[v], b.v[v], sum[i][j]);
            }
            x += places_on(STEP);
            dy += places_on(STEP);
        }
    }
}

/* The block's dW of a stage: the sum over the splits in ascending order. */
template <class S, int R>
static __device__ __forceinline__ void put_square_sums(const square_sums &sum, float *shared,
                                                       float *partial) {
    constexpr int N = S::EXTENT;
    typedef square_share<S, R> share;
    const share s;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < EIGHT; ++i)
#pragma unroll
        for (int j = 0; j < EIGHT; ++j)
            shared[s.split * N * N + share::extent(s.row, i) * N + share::extent(s.column, j)] =
                sum[i][j];
    __syncthreads();
    for (int e = (int)threadIdx.x; e < N * N; e += S::THREADS) {
        float total = shared[e];
        for (int split = 1; split < share::SPLITS; ++split)
            total += shared[split * N * N + e];
        partial[e] = total;
    }
}

/* Backward of a pass of one or two stages. `partial` has the blocks' dW of the last stage, then of
 * the one before it. */
template <class S>
static __global__ void __launch_bounds__(S::THREADS, S::BACKWARD_BLOCKS)
    backward_squares(state<const float> in, bool in_packs, factors<float> w,
                     state<const float> cotangent, bool cotangent_packs, state<float> out,
                     bool out_packs, float *partial, pass p, int64_t tiles) {
    constexpr int N = S::EXTENT, C = S::COLUMNS, M = S::MODES;
    static_assert(M == 1 || M == 2, "backward holds the input of one stage beside x");
    ASSAY_DYNAMIC_SHARED(float, x);
    float *const dy = x + padded<float>(S::ELEMENTS);
    float *const adjoints = dy + padded<float>(S::ELEMENTS), *const weight = adjoints + M * N * N;
    for (int i = 0; i < M; ++i)
        put_factor(transposed(w.of[i]), N, N, adjoints + i * N * N);
    if (M == 2)
        put_factor(w.of[0], N, N, weight);

    square_sums sums[M] = {};
    fetch_turns<S>(view_of<S>(in, in_packs, p, blockIdx.x), x);
    fetch_turns<S>(view_of<S>(cotangent, cotangent_packs, p, blockIdx.x), dy);
    for (int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
        const tile_view<float> to = view_of<S>(out, out_packs, p, index);
        const int64_t next = index + gridDim.x;
        const int end = there<S>(to);
        cp_async_wait<1>();
        __syncthreads();
        if constexpr (M == 2)
            contract_square<S, C>(x, end, weight);
        cp_async_wait<0>();
        __syncthreads();
        if constexpr (M == 2) {
            add_square<S, N * C>(x, dy, end, sums[1]);
            __syncthreads();
            fetch_turns<S>(view_of<S>(in, in_packs, p, index), x);
            contract_square<S, N * C>(dy, end, adjoints + N * N);
            cp_async_wait<0>();
            __syncthreads();
        }
        add_square<S, C>(x, dy, end, sums[0]);
        __syncthreads();
        if (next < tiles)
            fetch_turns<S>(view_of<S>(in, in_packs, p, next), x);
        finish_square<S, C>(dy, adjoints, to, [&] {
            if (next < tiles)
                fetch_turns<S>(view_of<S>(cotangent, cotangent_packs, p, next), dy);
        });
    }
    if constexpr (M == 2)
        put_square_sums<S, N * C>(sums[1], x, partial + (int64_t)blockIdx.x * N * N);
    put_square_sums<S, C>(sums[0], x,
                          partial + ((int64_t)(M - 1) * gridDim.x + blockIdx.x) * N * N);
}

/* The gradients of a pass's factors, in the order of its stages. */
template <typename T> struct gradients { factor<T> of[MAX_FACTORS]; };

/* dW of all stages of a pass from the partial ones of `count` blocks: each lane sums every 32nd in
 * ascending order, then the lanes are summed in ascending order. */
enum { SUM_EDGE = 32 };

static __global__ void sum_square_partials(const float *partial, int64_t count, int extent,
                                           int stages, gradients<float> dw) {
    __shared__ float lanes[SUM_EDGE][SUM_EDGE];
    const int size = extent * extent, e = (int)(blockIdx.x * SUM_EDGE + threadIdx.x);
    const int stage = (int)blockIdx.y;
    const float *const from = partial + (stages - 1 - stage) * count * size + e;
    float sum = 0;
    for (int64_t s = threadIdx.y; s < count; s += SUM_EDGE)
        sum += from[s * size];
    lanes[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0)
        return;
    for (int lane = 1; lane < SUM_EDGE; ++lane)
        sum += lanes[lane][threadIdx.x];
    dw.of[stage].w[e / extent * dw.of[stage].row + e % extent] = sum;
}

#endif
