/*
 * Passes of kronecker v3 whose modes are all 8 x 8, forward; backward is v3_octet_gradients.h. A
 * thread takes 64 elements of the tile into registers, all of two modes, and contracts both before
 * it writes them back over what it read: a state goes through shared memory once for two modes. An
 * odd mode comes first, for eight columns at a time, and of an even number of modes the last one
 * too.
 *
 * Each element is a chain of eight fma in ascending order, as in every other version.
 */
#ifndef ASSAY_KRONECKER_V3_OCTETS_H
#define ASSAY_KRONECKER_V3_OCTETS_H

#include "kernels/kronecker/v3_eights.h"
#include "kernels/kronecker/v3_squares_plan.h"

/* Eight elements of one mode. */
typedef float octet[EIGHT];

static __device__ __forceinline__ void get_octet(const float *from, octet &x) {
    const pack<float> low = pack_at(from), high = pack_at(from + EIGHT / 2);
#pragma unroll
    for (int i = 0; i < EIGHT; ++i)
        x[i] = i < EIGHT / 2 ? low.v[i] : high.v[i - EIGHT / 2];
}

template <class S, int R>
static __device__ __forceinline__ void load_octet(const tile_view<const float> &v, int e,
                                                  octet &x) {
    const float *const from = element<S>(v, e);
    if constexpr (R == 1) {
        const pack<float> low = load_pack(from, EIGHT / 2, v.packs),
                          high = load_pack(from + EIGHT / 2, EIGHT / 2, v.packs);
#pragma unroll
        for (int i = 0; i < EIGHT; ++i)
            x[i] = i < EIGHT / 2 ? low.v[i] : high.v[i - EIGHT / 2];
    } else {
#pragma unroll
        for (int i = 0; i < EIGHT; ++i)
            x[i] = from[i * step_of<S, R>(v)];
    }
}

template <class S, int R>
static __device__ __forceinline__ void store_octet(const octet &x, const tile_view<float> &v,
                                                   int e) {
    float *const to = element<S>(v, e);
    if constexpr (R == 1) {
        pack<float> low, high;
#pragma unroll
        for (int i = 0; i < EIGHT / 2; ++i) {
            low.v[i] = x[i];
            high.v[i] = x[i + EIGHT / 2];
        }
        store_pack(to, low, EIGHT / 2, v.packs);
        store_pack(to + EIGHT / 2, high, EIGHT / 2, v.packs);
    } else {
#pragma unroll
        for (int i = 0; i < EIGHT; ++i)
            __stcs(to + i * step_of<S, R>(v), x[i]);
    }
}

/* In shared memory. Where R is 1, lanes 4 to 7 of eight take the halves the other way round, so
 * that the eight meet all banks. */
template <int R>
static __device__ __forceinline__ void fetch_octet(const float *tile, int e, octet &x) {
    const float *const from = tile + octet_place(e);
    if constexpr (R == 1) {
        const int swap = (int)threadIdx.x & 4;
        const pack<float> a = pack_at(from + swap), b = pack_at(from + (swap ^ 4));
#pragma unroll
        for (int i = 0; i < EIGHT; ++i)
            x[i] = (i < EIGHT / 2) == (swap == 0) ? a.v[i % 4] : b.v[i % 4];
    } else {
#pragma unroll
        for (int i = 0; i < EIGHT; ++i)
            x[i] = from[octet_place(i * R)];
    }
}

template <int R>
static __device__ __forceinline__ void put_octet(const octet &x, float *tile, int e) {
    float *const to = tile + octet_place(e);
    if constexpr (R == 1) {
        const int swap = (int)threadIdx.x & 4;
        pack<float> a, b;
#pragma unroll
        for (int i = 0; i < EIGHT / 2; ++i) {
            a.v[i] = swap == 0 ? x[i] : x[i + EIGHT / 2];
            b.v[i] = swap == 0 ? x[i + EIGHT / 2] : x[i];
        }
        put_pack(to + swap, a);
        put_pack(to + (swap ^ 4), b);
    } else {
#pragma unroll
        for (int i = 0; i < EIGHT; ++i)
            to[octet_place(i * R)] = x[i];
    }
}

/* y[j] = sum over i of x[i] w[i, j]. */
static __device__ __forceinline__ void contract_octet(const octet &x, const float *w, octet &y) {
#pragma unroll
    for (int j = 0; j < EIGHT; ++j)
        y[j] = 0;
#pragma unroll
    for (int i = 0; i < EIGHT; ++i) {
        octet row;
        get_octet(w + i * EIGHT, row);
#pragma unroll
        for (int j = 0; j < EIGHT; ++j)
            y[j] = fma_(x[i], row[j], y[j]);
    }
}

/* All elements of two modes, x[high][low]: `low` is the later axis and contracted first. */
typedef octet octets[EIGHT];

static __device__ __forceinline__ void contract_low(octets &x, const float *w) {
#pragma unroll
    for (int h = 0; h < EIGHT; ++h) {
        octet y;
        contract_octet(x[h], w, y);
#pragma unroll
        for (int j = 0; j < EIGHT; ++j)
            x[h][j] = y[j];
    }
}

static __device__ __forceinline__ void contract_high(octets &x, const float *w) {
#pragma unroll
    for (int l = 0; l < EIGHT; ++l) {
        octet column, y;
#pragma unroll
        for (int i = 0; i < EIGHT; ++i)
            column[i] = x[i][l];
        contract_octet(column, w, y);
#pragma unroll
        for (int j = 0; j < EIGHT; ++j)
            x[j][l] = y[j];
    }
}

template <int R>
static __device__ __forceinline__ void fetch_octets(const float *tile, int e, octets &x) {
#pragma unroll
    for (int h = 0; h < EIGHT; ++h)
#pragma unroll
        for (int l = 0; l < EIGHT; ++l)
            x[h][l] = tile[octet_place(e) + octet_place(h * EIGHT * R) + octet_place(l * R)];
}

template <int R>
static __device__ __forceinline__ void put_octets(const octets &x, float *tile, int e) {
#pragma unroll
    for (int h = 0; h < EIGHT; ++h)
#pragma unroll
        for (int l = 0; l < EIGHT; ++l)
            tile[octet_place(e) + octet_place(h * EIGHT * R) + octet_place(l * R)] = x[h][l];
}

template <class S, int R>
static __device__ __forceinline__ void store_octets(const octets &x, const tile_view<float> &v,
                                                    int e) {
#pragma unroll
    for (int h = 0; h < EIGHT; ++h)
#pragma unroll
        for (int l = 0; l < EIGHT; ++l)
            __stcs(element<S>(v, e) + (h * EIGHT + l) * step_of<S, R>(v), x[h][l]);
}

/* A thread's octets between a step's two visits, in packs of neighbouring threads side by side. */
template <class S>
static __device__ __forceinline__ void save_octets(const octets &x, int item, float *saved) {
#pragma unroll
    for (int k = 0; k < 2 * EIGHT; ++k) {
        pack<float> part;
#pragma unroll
        for (int i = 0; i < EIGHT / 2; ++i)
            part.v[i] = x[k / 2][k % 2 * (EIGHT / 2) + i];
        put_pack(saved + ((item * 2 * EIGHT + k) * S::THREADS + (int)threadIdx.x) * 4, part);
    }
}
/* The first element of the tile's item: 8 or 64 elements, R apart. */
template <int EXTENT, int R> static __device__ __forceinline__ int first_of(int item) {
    return item / R * EXTENT * R + item % R;
}

/* Of a step of one mode an item is eight columns, so that eight columns are on their way from
 * memory at a time: the first element of column `h`. */
template <class S, int R> static __device__ __forceinline__ int column_of(int item, int h) {
    return first_of<EIGHT, R>((item * EIGHT + h) * S::THREADS + (int)threadIdx.x);
}

enum octet_end { TILE, MEMORY };

/* The columns of an item; those of units that are not there are zero. */
template <class S, int R, octet_end FROM>
static __device__ __forceinline__ void get_columns(const tile_view<const float> &in,
                                                   const float *tile, int item, octets &x) {
#pragma unroll
    for (int h = 0; h < EIGHT; ++h) {
        const int e = column_of<S, R>(item, h);
        if (is_there<S>(in, e)) {
            if (FROM == TILE)
                fetch_octet<R>(tile, e, x[h]);
            else
                load_octet<S, R>(in, e, x[h]);
        } else {
#pragma unroll
            for (int i = 0; i < EIGHT; ++i)
                x[h][i] = 0;
        }
    }
}
template <class S, int R, octet_end TO>
static __device__ __forceinline__ void put_columns(const octets &x, float *tile, int item,
                                                   const tile_view<float> &out) {
#pragma unroll
    for (int h = 0; h < EIGHT; ++h) {
        const int e = column_of<S, R>(item, h);
        if (TO == TILE)
            put_octet<R>(x[h], tile, e);
        else if (is_there<S>(out, e))
            store_octet<S, R>(x[h], out, e);
    }
}

/* A step of one mode. */
template <class S, int R, octet_end FROM, octet_end TO>
static __device__ __forceinline__ void step_one(const tile_view<const float> &in, float *tile,
                                                const float *w, const tile_view<float> &out) {
#pragma unroll 1
    for (int k = 0; k < S::ITEMS; ++k) {
        octets x;
        get_columns<S, R, FROM>(in, tile, k, x);
        contract_low(x, w);
        put_columns<S, R, TO>(x, tile, k, out);
    }
}

/* A step of two modes in the tile; with `saved` its input is kept there. */
template <class S, int R, octet_end TO>
static __device__ __forceinline__ void step_two(float *tile, const float *w,
                                                const tile_view<float> &out, float *saved) {
#pragma unroll 1
    for (int k = 0; k < S::ITEMS; ++k) {
        const int e = first_of<OCTETS, R>(k * S::THREADS + (int)threadIdx.x);
        octets x;
        fetch_octets<R>(tile, e, x);
        if (saved)
            save_octets<S>(x, k, saved);
        contract_low(x, w);
        contract_high(x, w + OCTETS);
        if (TO == TILE)
            put_octets<R>(x, tile, e);
        else if (is_there<S>(out, e))
            store_octets<S, R>(x, out, e);
    }
}

/* The factors of a pass, and behind them their transposes, 64 elements each. */
static __device__ __forceinline__ void put_octet_factors(const factors<float> &w, int count,
                                                         bool adjoint, float *to) {
    for (int i = 0; i < count; ++i)
        put_factor(adjoint ? transposed(w.of[i]) : w.of[i], EIGHT, EIGHT, to + i * OCTETS);
}

template <class S>
static __global__ void __launch_bounds__(S::THREADS, S::FORWARD_BLOCKS)
    forward_octets(state<const float> in, bool in_packs, factors<float> w, state<float> out,
                   bool out_packs, pass p, int64_t tiles) {
    constexpr int C = S::COLUMNS;
    ASSAY_DYNAMIC_SHARED(float, tile);
    float *const weights = tile + octet_place(S::ELEMENTS);
    put_octet_factors(w, S::MODES, false, weights);
    __syncthreads();
    for (int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
        const tile_view<const float> from = view_of<S>(in, in_packs, p, index);
        const tile_view<float> to = view_of<S>(out, out_packs, p, index);
        step_one<S, C, MEMORY, TILE>(from, tile, weights, to);
        __syncthreads();
        if constexpr (S::MODES == 2)
            step_one<S, EIGHT * C, TILE, MEMORY>(from, tile, weights + OCTETS, to);
        if constexpr (S::MODES == 3)
            step_two<S, EIGHT * C, MEMORY>(tile, weights + OCTETS, to, nullptr);
        if constexpr (S::MODES > 3) {
            step_two<S, EIGHT * C, TILE>(tile, weights + OCTETS, to, nullptr);
            __syncthreads();
        }
        if constexpr (S::MODES == 4)
            step_one<S, EIGHT * OCTETS * C, TILE, MEMORY>(from, tile, weights + 3 * OCTETS, to);
        if constexpr (S::MODES == 5)
            step_two<S, EIGHT * OCTETS * C, MEMORY>(tile, weights + 3 * OCTETS, to, nullptr);
        __syncthreads();
    }
}

#endif
