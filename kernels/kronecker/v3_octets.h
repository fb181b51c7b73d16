/*
 * Passes of kronecker v3 whose modes are all 8 x 8. A thread takes 64 elements of the tile into
 * registers, all of two modes, and contracts both before it writes them back over what it read: a
 * state goes through shared memory once for two modes. An odd mode comes first, for eight columns
 * at a time, and of an even number of modes the last one too.
 *
 * Backward the state goes up to the input of the last step in the tile. There, and at each step
 * before it, a thread has its elements of the input and of the cotangent in registers, so it sums
 * both modes' dW without another access, and the cotangent takes the input's place. The input of a
 * step between the first and the last waits in the workspace, in the order of the threads that
 * wrote it and read it again; that of the first is x.
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
static __device__ __forceinline__ void load_octets(const tile_view<const float> &v, int e,
                                                   octets &x) {
#pragma unroll
    for (int h = 0; h < EIGHT; ++h)
#pragma unroll
        for (int l = 0; l < EIGHT; ++l)
            x[h][l] = __ldcs(element<S>(v, e) + (h * EIGHT + l) * step_of<S, R>(v));
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
template <class S>
static __device__ __forceinline__ void restore_octets(const float *saved, int item, octets &x) {
#pragma unroll
    for (int k = 0; k < 2 * EIGHT; ++k) {
        const pack<float> part =
            pack_at(saved + ((item * 2 * EIGHT + k) * S::THREADS + (int)threadIdx.x) * 4);
#pragma unroll
        for (int i = 0; i < EIGHT / 2; ++i)
            x[k / 2][k % 2 * (EIGHT / 2) + i] = part.v[i];
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

/* Adds up v[…] over the warp, so that lane l has the sum of v[l]: in each round a lane gives half
 * of what it has to its partner. */
template <int HALF> static __device__ __forceinline__ void fold_half(float (&v)[32]) {
    const bool upper = ((int)threadIdx.x & HALF) != 0;
#pragma unroll
    for (int k = 0; k < HALF; ++k) {
        const float give = upper ? v[k] : v[k + HALF], keep = upper ? v[k + HALF] : v[k];
        v[k] = keep + __shfl_xor_sync(0xffffffffu, give, HALF);
    }
}
static __device__ __forceinline__ float fold(float (&v)[32]) {
    fold_half<16>(v);
    fold_half<8>(v);
    fold_half<4>(v);
    fold_half<2>(v);
    fold_half<1>(v);
    return v[0];
}

/* A lane's part of a warp's dW: elements `lane` and 32 + lane. */
typedef float octet_sums[2];

/* Four rows, from `first` on, of the dW of the high mode: its input is x behind the low mode. */
static __device__ __forceinline__ void
gradient_high(const octets &x, const octets &d, const float *w, int first, float (&products)[32]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        octet behind;
        contract_octet(x[first + i], w, behind);
#pragma unroll
        for (int j = 0; j < EIGHT; ++j)
#pragma unroll
            for (int l = 0; l < EIGHT; ++l)
                products[i * EIGHT + j] = fma_(behind[l], d[j][l], products[i * EIGHT + j]);
    }
}

/* The same of the low mode: `d` is the cotangent before the high mode. Also of eight columns of a
 * mode. */
static __device__ __forceinline__ void gradient_low(const octets &x, const octets &d, int first,
                                                    float (&products)[32]) {
#pragma unroll
    for (int h = 0; h < EIGHT; ++h)
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < EIGHT; ++j)
                products[i * EIGHT + j] = fma_(x[h][first + i], d[h][j], products[i * EIGHT + j]);
}

/* Backward of a step of one mode: dW, and the cotangent from `dy` to `out` or in the tile. */
template <class S, int R, octet_end X, octet_end DY, octet_end TO>
static __device__ __forceinline__ void
back_one(const tile_view<const float> &in, const tile_view<const float> &dy, float *tile,
         const float *adjoint, const tile_view<float> &out, octet_sums &sums) {
#pragma unroll 1
    for (int k = 0; k < S::ITEMS; ++k) {
        octets x, d;
        get_columns<S, R, X>(in, tile, k, x);
        get_columns<S, R, DY>(dy, tile, k, d);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float products[32] = {};
            gradient_low(x, d, half * 4, products);
            sums[half] += fold(products);
        }
        contract_low(d, adjoint);
        put_columns<S, R, TO>(d, tile, k, out);
    }
}

/* The cotangent of an item of two modes, if its unit is there. */
template <class S, int R>
static __device__ __forceinline__ void load_item(const tile_view<const float> &dy, int item,
                                                 octets &d) {
    const int e = first_of<OCTETS, R>(item * S::THREADS + (int)threadIdx.x);
    if (is_there<S>(dy, e))
        load_octets<S, R>(dy, e, d);
}

/* Backward of a step of two modes, whose input is in the tile or in `saved`. Its cotangent is in
 * the tile, or in memory; then the first item's is in `d`, on its way since before the last
 * barrier. Units that are not there take part in the sums over the warp, with nothing. */
template <class S, int R, octet_end DY>
static __device__ __forceinline__ void
back_two(const tile_view<const float> &dy, octets &d, float *tile, const float *w,
         const float *adjoint, const float *saved, octet_sums &low, octet_sums &high) {
#pragma unroll 1
    for (int k = 0; k < S::ITEMS; ++k) {
        const int e = first_of<OCTETS, R>(k * S::THREADS + (int)threadIdx.x);
        const bool there = is_there<S>(dy, e);
        octets x = {};
        if (there) {
            if (DY == TILE)
                fetch_octets<R>(tile, e, d);
            if (saved)
                restore_octets<S>(saved, k, x);
            else
                fetch_octets<R>(tile, e, x);
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float products[32] = {};
            if (there)
                gradient_high(x, d, w, half * 4, products);
            high[half] += fold(products);
        }
        contract_high(d, adjoint + OCTETS);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float products[32] = {};
            if (there)
                gradient_low(x, d, half * 4, products);
            low[half] += fold(products);
        }
        contract_low(d, adjoint);
        put_octets<R>(d, tile, e);
        if (DY == MEMORY && k + 1 < S::ITEMS)
            load_item<S, R>(dy, k + 1, d);
    }
}

/* The block's dW of a stage: the sum over its warps in ascending order. */
template <class S>
static __device__ __forceinline__ void put_octet_sums(const octet_sums &sums, float *shared,
                                                      float *partial) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    shared[warp * OCTETS + lane] = sums[0];
    shared[warp * OCTETS + 32 + lane] = sums[1];
    __syncthreads();
    if ((int)threadIdx.x < OCTETS) {
        float total = shared[threadIdx.x];
        for (int i = 1; i < S::THREADS / 32; ++i)
            total += shared[i * OCTETS + (int)threadIdx.x];
        partial[threadIdx.x] = total;
    }
    __syncthreads();
}

/* `partial` has the blocks' dW of the last stage, then of the one before it, …; `saved` has the
 * elements of a tile for each block of a pass that saves a state. */
template <class S>
static __global__ void __launch_bounds__(S::THREADS, S::BACKWARD_BLOCKS)
    backward_octets(state<const float> in, bool in_packs, factors<float> w,
                    state<const float> cotangent, bool cotangent_packs, state<float> out,
                    bool out_packs, float *saved, float *partial, pass p, int64_t tiles) {
    constexpr int C = S::COLUMNS;
    ASSAY_DYNAMIC_SHARED(float, tile);
    float *const weights = tile + octet_place(S::ELEMENTS);
    float *const adjoints = weights + S::MODES * OCTETS;
    put_octet_factors(w, S::MODES, false, weights);
    put_octet_factors(w, S::MODES, true, adjoints);
    __syncthreads();
    if (S::SAVES)
        saved += (int64_t)blockIdx.x * S::ELEMENTS;

    octet_sums sums[S::MODES] = {};
    for (int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
        const tile_view<const float> from = view_of<S>(in, in_packs, p, index),
                                     dy = view_of<S>(cotangent, cotangent_packs, p, index);
        const tile_view<float> to = view_of<S>(out, out_packs, p, index);
        octets d = {};
        if constexpr (S::MODES == 3)
            load_item<S, EIGHT * C>(dy, 0, d);
        if constexpr (S::MODES == 5)
            load_item<S, EIGHT * OCTETS * C>(dy, 0, d);
        step_one<S, C, MEMORY, TILE>(from, tile, weights, to);
        __syncthreads();
        if constexpr (S::MODES == 2)
            back_one<S, EIGHT * C, TILE, MEMORY, TILE>(from, dy, tile, adjoints + OCTETS, to,
                                                       sums[1]);
        if constexpr (S::MODES == 3)
            back_two<S, EIGHT * C, MEMORY>(dy, d, tile, weights + OCTETS, adjoints + OCTETS,
                                           nullptr, sums[1], sums[2]);
        if constexpr (S::MODES > 3) {
            step_two<S, EIGHT * C, TILE>(tile, weights + OCTETS, to, saved);
            __syncthreads();
        }
        if constexpr (S::MODES == 4)
            back_one<S, EIGHT * OCTETS * C, TILE, MEMORY, TILE>(from, dy, tile,
                                                                adjoints + 3 * OCTETS, to, sums[3]);
        if constexpr (S::MODES == 5)
            back_two<S, EIGHT * OCTETS * C, MEMORY>(dy, d, tile, weights + 3 * OCTETS,
                                                    adjoints + 3 * OCTETS, nullptr, sums[3],
                                                    sums[4]);
        if constexpr (S::MODES > 3) {
            __syncthreads();
            back_two<S, EIGHT * C, TILE>(dy, d, tile, weights + OCTETS, adjoints + OCTETS, saved,
                                         sums[1], sums[2]);
        }
        __syncthreads();
        back_one<S, C, MEMORY, TILE, MEMORY>(from, dy, tile, adjoints, to, sums[0]);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < S::MODES; ++i)
        put_octet_sums<S>(sums[i], tile,
                          partial +
                              ((int64_t)(S::MODES - 1 - i) * gridDim.x + blockIdx.x) * OCTETS);
}

#endif
