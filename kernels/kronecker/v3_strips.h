/*
 * Backward of a layer of two modes where there are few rows: all of it but the sums of partial
 * gradients in one launch. With X (i, e) a row of x, dY (a, j) its cotangent, W (i, a) the factor
 * of the first mode and V (e, j) that of the last one,
 *
 *     S = X V,   dS = W dY,   dW = S dY^T,   dX = dS V^T,   dV = X^T dS.
 *
 * A block has a strip, STRIP of a row's i, and all of e, a and j. So each product of the strip
 * needs nothing of other blocks: S and dS are in shared memory alone, a block's part of dW is whole
 * but for the sum over rows, and only dV is a sum over strips, too. As many blocks as
 * multiprocessors take 33 rows of 128 x 128.
 *
 * A thread has 8 x 8 elements of a product: it reads 16 packs of shared memory for 256
 * multiply-adds. Four of the five products are of 32 x 128 elements, for 64 threads; two of them go
 * at a time, and two threads share an element, of whose terms each has every other four.
 *
 * 128 x 128, b = 32, on an H200, cold: 33 us of v3_bf16x6's 55 before. 24 are the first kernel's,
 * where FFMA's floor for the five products is 10, and loops of products issue in about 90 % of the
 * cycles; 5 are the sums', the rest is a launch.
 *
 * Bytes: x and dy in, dx out, and V and dY once a strip, from L2; a partial dV of 64 KB a block.
 * Flops: five products of rows i e j.
 */
#ifndef ASSAY_KRONECKER_V3_STRIPS_H
#define ASSAY_KRONECKER_V3_STRIPS_H

#include "kernels/common/pack.h"
#include "kernels/common/tensor.h"
#include "kernels/kronecker/strip_sums.h"
#include "kernels/kronecker/v3_strips_plan.h"

constexpr int STRIP_LINE = STRIP_EXTENT + 4; /* eight lines' packs: in different banks */
constexpr int STRIP_THREADS = 256;
constexpr int STRIP_SHARE = 64; /* threads that have all of a strip's product */
constexpr int STRIP_CHUNK = 32; /* terms that arrive together */
constexpr int STRIP_EDGE = 8;   /* a thread's lines, and its columns */

constexpr size_t STRIP_SHARED = (2 * STRIP_EXTENT + 4 * STRIP) * (size_t)STRIP_LINE * sizeof(float);

struct strips {
    state<const float> x, dy;
    state<float> dx;
    factor<const float> w, v;
    float *dw, *dv; /* partial: (rows, i, a) and (blocks, e, j) */
    int32_t i, a, e, j, parts;
};

typedef float strip_sums[STRIP_EDGE][STRIP_EDGE];

/* STRIP lines of a matrix, `apart` in memory; `lines` of them are there, each `width` long. */
struct strip_lines {
    const float *from;
    int64_t apart;
    int lines, width;
};

/* The block starts to copy them to shared memory; zeros stand for what is not there. PACKS: 16
 * bytes at once. */
template <bool PACKS>
static __device__ __forceinline__ void fetch_lines(const strip_lines &of, float *to) {
    constexpr int ACROSS = STRIP_EXTENT / strip_pack::size, DOWN = STRIP_THREADS / ACROSS;
    const int own = (int)threadIdx.x / ACROSS,
              column = (int)threadIdx.x % ACROSS * strip_pack::size;
    const float *four = of.from + own * of.apart + column;
    float *place = to + own * STRIP_LINE + column;
#pragma unroll
    for (int line = 0; line < STRIP; line += DOWN, place += DOWN * STRIP_LINE) {
        const bool there = line + own < of.lines && column < of.width;
        const float *const at = there ? four : of.from;
        if constexpr (PACKS) {
            cp_async_16(place, at, there ? 16 : 0);
        } else {
            for (int i = 0; i < strip_pack::size; ++i)
                cp_async_4(place + i, at + i, there ? 4 : 0);
        }
        four += DOWN * of.apart;
    }
}

/* ---- a thread's share of a product ---- */

/* Of a strip's product: eight lines, of which the thread keeps the first four, and gives the others
 * to the thread that has the other share. */
struct strip_place {
    int kept, given; /* the first line of either four, which are 4 apart */
    int column;      /* of 16 */
    int share;       /* which of every two steps */
    bool second;     /* of two products at a time */

    __device__ __forceinline__ strip_place()
        : column((int)threadIdx.x % 8 + (int)threadIdx.x / 32 % 2 * 8),
          share((int)threadIdx.x / STRIP_SHARE % 2),
          second((int)threadIdx.x / STRIP_SHARE / 2 == 1) {
        kept = (int)threadIdx.x % 32 / 8 + share * STRIP / 2;
        given = kept ^ STRIP / 2;
    }
    /* Line n of the eight. */
    __device__ __forceinline__ int line(int n) const {
        return (n < 4 ? kept : given) + n % 4 * 4;
    }
};

/* Columns are 4 `column` to 4 `column` + 3, and those 64 behind them. */
static __device__ __forceinline__ void load_eight(const float *line, int column, float (&to)[8]) {
    const strip_pack low = load_four(line + 4 * column), high = load_four(line + 64 + 4 * column);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        to[i] = low.v[i];
        to[4 + i] = high.v[i];
    }
}

/* A thread's lines of the left side, four terms of each. */
static __device__ __forceinline__ void load_lines(const strip_place &own, const float *left,
                                                  strip_pack (&to)[STRIP_EDGE]) {
#pragma unroll
    for (int n = 0; n < STRIP_EDGE; ++n)
        to[n] = load_four(left + own.line(n) * STRIP_LINE);
}

/* sum[n][m] += left[line(n)][k] right[k][m], k < 4: terms of the right side in lines. */
static __device__ __forceinline__ void multiply_lines_by(const strip_place &own, const float *left,
                                                         const float *right, strip_sums &sum) {
    strip_pack a[STRIP_EDGE];
    load_lines(own, left, a);
#pragma unroll
    for (int k = 0; k < STRIP_STEP; ++k) {
        float b[STRIP_EDGE];
        load_eight(right + k * STRIP_LINE, own.column, b);
#pragma unroll
        for (int n = 0; n < STRIP_EDGE; ++n)
#pragma unroll
            for (int m = 0; m < STRIP_EDGE; ++m)
                sum[n][m] = fma_(a[n].v[k], b[m], sum[n][m]);
    }
}

/* sum[n][m] += left[line(n)][k] right[column + 16 m][k], k < 4: terms of both sides along lines. */
static __device__ __forceinline__ void multiply_along(const strip_place &own, const float *left,
                                                      const float *right, strip_sums &sum) {
    strip_pack a[STRIP_EDGE];
    load_lines(own, left, a);
#pragma unroll
    for (int m = 0; m < STRIP_EDGE; ++m) {
        const strip_pack b = load_four(right + (own.column + 16 * m) * STRIP_LINE);
#pragma unroll
        for (int k = 0; k < STRIP_STEP; ++k)
#pragma unroll
            for (int n = 0; n < STRIP_EDGE; ++n)
                sum[n][m] = fma_(a[n].v[k], b.v[k], sum[n][m]);
    }
}

/* ---- the five products ---- */

/* Two threads have shares of the same sums: each gives the other those of four lines, which the
 * other adds to its own. `at(line, m)`: where column m of eight passes on. */
template <typename At>
static __device__ __forceinline__ void add_shares(const strip_place &own, strip_sums &sum,
                                                  const At &at) {
#pragma unroll
    for (int n = 4; n < STRIP_EDGE; ++n)
#pragma unroll
        for (int m = 0; m < STRIP_EDGE; ++m)
            *at(own.line(n), m) = sum[n][m];
    __syncthreads();
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
        for (int m = 0; m < STRIP_EDGE; ++m)
            sum[n][m] += *at(own.line(n), m);
}

/* S and dS, of all threads half each, while the terms arrive. */
static __device__ __forceinline__ void multiply_states(const strips &p, const float *x,
                                                       const float *v, const float *w,
                                                       const float *dy, float *s, float *ds) {
    const strip_place own;
    const float *const left = own.second ? w : x, *const right = own.second ? dy : v;
    const int terms = own.second ? p.a : p.e;
    strip_sums sum = {};
#pragma unroll 1
    for (int c = 0; c < STRIP_EXTENT / STRIP_CHUNK; ++c) {
        cp_async_wait<STRIP_EXTENT / STRIP_CHUNK - 1>(); /* each turn adds an empty group */
        cp_async_commit();
        __syncthreads();
        const int end = min((c + 1) * STRIP_CHUNK, terms);
#pragma unroll 1
        for (int k = c * STRIP_CHUNK + own.share * STRIP_STEP; k < end; k += 2 * STRIP_STEP)
            multiply_lines_by(own, left + k, right + k * STRIP_LINE, sum);
    }
    float *const to = (own.second ? ds : s) + 4 * own.column;
    const auto at = [&](int line, int m) { return to + line * STRIP_LINE + m / 4 * 64 + m % 4; };
    add_shares(own, sum, at);
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
        for (int m = 0; m < STRIP_EDGE; m += 4)
            store_four(at(own.line(n), m), sum[n] + m);
}

/* The strip's part of dV: 16 x 16 threads. */
static __device__ __forceinline__ void multiply_last_gradient(const strips &p, int lines,
                                                              const float *x, const float *ds) {
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int row = lane / 8 + 4 * (warp / 2), column = lane % 8 + 8 * (warp % 2);
    strip_sums sum = {};
#pragma unroll 4
    for (int i = 0; i < lines; ++i) {
        float a[STRIP_EDGE], b[STRIP_EDGE];
        load_eight(x + i * STRIP_LINE, row, a);
        load_eight(ds + i * STRIP_LINE, column, b);
#pragma unroll
        for (int n = 0; n < STRIP_EDGE; ++n)
#pragma unroll
            for (int m = 0; m < STRIP_EDGE; ++m)
                sum[n][m] = fma_(a[n], b[m], sum[n][m]);
    }
    float *const to = p.dv + (int64_t)blockIdx.x * p.e * p.j;
#pragma unroll
    for (int n = 0; n < STRIP_EDGE; ++n)
#pragma unroll
        for (int m = 0; m < STRIP_EDGE; m += 4) {
            const int e = 4 * row + n / 4 * 64 + n % 4, j = 4 * column + m / 4 * 64;
            if (e < p.e && j < p.j)
                store_four(to + e * p.j + j, sum[n] + m);
        }
}

/* dX and the strip's dW; x and w give their place to sums that pass from thread to thread. */
static __device__ __forceinline__ void multiply_cotangents(const strips &p, int64_t row, int first,
                                                           int lines, const float *ds,
                                                           const float *v, const float *s,
                                                           const float *dy, float *x, float *w) {
    const strip_place own;
    const float *const left = own.second ? s : ds, *const right = own.second ? dy : v;
    strip_sums sum = {};
#pragma unroll 1
    for (int k = own.share * STRIP_STEP; k < p.j; k += 2 * STRIP_STEP)
        multiply_along(own, left + k, right + k, sum);
    float *const pass = (own.second ? w : x) + own.column;
    __syncthreads(); /* all have read x and w */
    add_shares(own, sum, [&](int line, int m) { return pass + line * STRIP_LINE + 16 * m; });
    const int width = own.second ? p.a : p.e;
    float *const to = (own.second ? p.dw + row * p.i * p.a : p.dx.data + row * p.dx.stride) +
                      (int64_t)first * width + own.column;
#pragma unroll
    for (int n = 0; n < 4; ++n) {
        const int line = own.line(n);
#pragma unroll
        for (int m = 0; m < STRIP_EDGE; ++m)
            if (line < lines && own.column + 16 * m < width)
                to[line * width + 16 * m] = sum[n][m];
    }
}

template <bool PACKS>
static __global__ void __launch_bounds__(STRIP_THREADS, 1) backward_strips(strips p) {
    ASSAY_DYNAMIC_SHARED(float, shared);
    float *const v = shared, *const dy = v + STRIP_EXTENT * STRIP_LINE;
    float *const x = dy + STRIP_EXTENT * STRIP_LINE, *const w = x + STRIP * STRIP_LINE;
    float *const s = w + STRIP * STRIP_LINE, *const ds = s + STRIP * STRIP_LINE;
    const int64_t row = blockIdx.x / (uint32_t)p.parts;
    const int first = (int)(blockIdx.x % (uint32_t)p.parts) * STRIP,
              lines = min(STRIP, p.i - first);
    /* The strip's lines of X and W, then chunks of V and dY in turn: one code for all of them. */
#pragma unroll 1
    for (int n = 0; n < 2 + 2 * STRIP_EXTENT / STRIP_CHUNK; ++n) {
        const int k = n < 2 ? first : (n / 2 - 1) * STRIP_CHUNK;
        const bool odd = n % 2 != 0;
        const float *const base = n == 0   ? p.x.data + row * p.x.stride
                                  : n == 1 ? p.w.w
                                  : odd    ? p.dy.data + row * p.dy.stride
                                           : p.v.w;
        const int64_t apart = n == 0 ? p.e : n == 1 ? p.w.row : odd ? p.j : p.v.row;
        const int lines = (n < 2 ? p.i : odd ? p.a : p.e) - k;
        const int width = n == 0 ? p.e : n == 1 ? p.a : p.j;
        float *const to = (n < 2 ? x : v + k * STRIP_LINE) +
                          (n < 2 ? STRIP : STRIP_EXTENT) * STRIP_LINE * (odd ? 1 : 0);
        fetch_lines<PACKS>({base + (lines > 0 ? k * apart : 0), apart, lines, width}, to);
        if (n > 2 && odd)
            cp_async_commit();
    }
    multiply_states(p, x, v, w, dy, s, ds);
    __syncthreads();
    multiply_last_gradient(p, lines, x, ds);
    multiply_cotangents(p, row, first, lines, ds, v, s, dy, x, w);
}

/* ---- the host's side ---- */

static inline bool takes_strip_packs(const float *from, int64_t apart) {
    return (uintptr_t)from % PACK_BYTES == 0 && apart % strip_pack::size == 0;
}

static assay_status launch_strips(const assay_call *call, const chain &c) {
    const stage &last = c.stages[0], &first = c.stages[1];
    strips p = {};
    p.x = state_of<const float>(x_of(call));
    p.dy = state_of<const float>(cotangent_of(call));
    p.dx = state_of<float>(&call->out[0]);
    p.w = factor_of<const float>(factor_tensor(call, first));
    p.v = factor_of<const float>(factor_tensor(call, last));
    p.dw = static_cast<float *>(call->workspace);
    p.dv = p.dw + c.rows * first.p * first.q;
    p.i = (int32_t)first.p;
    p.a = (int32_t)first.q;
    p.e = (int32_t)last.p;
    p.j = (int32_t)last.q;
    p.parts = (int32_t)ceil_div(first.p, STRIP);
    const bool packs = takes_strip_packs(p.x.data, p.x.stride) &&
                       takes_strip_packs(p.dy.data, p.dy.stride) &&
                       takes_strip_packs(p.w.w, p.w.row) && takes_strip_packs(p.v.w, p.v.row);
    const int64_t blocks = strip_blocks(c);
    const dim3 grid = whole_grid(blocks), block(STRIP_THREADS);
    const assay_status status =
        packs ? ASSAY_LAUNCH(call->stream, grid, block, STRIP_SHARED, (backward_strips<true>), p)
              : ASSAY_LAUNCH(call->stream, grid, block, STRIP_SHARED, (backward_strips<false>), p);
    if (status != ASSAY_OK)
        return status;
    return launch_sum_strips<float>(
        call->stream, {p.dv, blocks, last.p, last.q, factor_of<float>(gradient_tensor(call, last))},
        {p.dw, c.rows, first.p, first.q, factor_of<float>(gradient_tensor(call, first))});
}

#endif
