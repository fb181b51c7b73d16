/*
 * Forward passes of kronecker v3 of three modes of 32 x 32, which are a whole row: a tile of 144
 * KiB, one block on a multiprocessor. While it computes, half of the next row comes into what
 * shared memory is left, and the other half into the tile once no thread reads it any more. The
 * first mode takes the half that is there first, and the other one comes meanwhile.
 */
#ifndef ASSAY_KRONECKER_V3_CUBES_H
#define ASSAY_KRONECKER_V3_CUBES_H

#include "kernels/kronecker/v3_squares.h"

/* The half that comes ahead, not padded: in column k the packs are dealt anew, pack i to place
 * i ^ k % 8, so that neighbouring threads' packs lie in different banks. */
template <class S> struct cube_ahead {
    typedef square_turns<S> turns;
    static constexpr int PACKS = S::EXTENT / 4, COUNT = turns::COUNT / 2, V = S::WIDE / 2;
    static_assert(PACKS == 8 && S::UNITS == 1 && turns::ELEMENTS % (PACKS * S::EXTENT) == 0,
                  "turns begin with the same place");

    static __device__ __forceinline__ int place(int column, int pack) {
        return column * S::EXTENT + (pack ^ column % PACKS) * 4;
    }
};

template <class S>
static __device__ __forceinline__ void fetch_ahead(const tile_view<const float> &v, float *ahead) {
    typedef cube_ahead<S> half;
    const int id = (int)threadIdx.x;
    const float *const from = element<S>(v, id * 4);
    float *const to = ahead + half::place(id / half::PACKS, id % half::PACKS);
#pragma unroll 4
    for (int t = 0; t < half::COUNT; ++t)
        if (v.packs)
            cp_async_16(to + t * half::turns::ELEMENTS, from + half::turns::step(v, t));
        else
            for (int i = 0; i < 4; ++i)
                cp_async_4(to + t * half::turns::ELEMENTS + i, from + half::turns::step(v, t) + i);
    cp_async_commit();
}

template <class S>
static __device__ __forceinline__ void fetch_rest(const tile_view<const float> &v, float *tile) {
    typedef cube_ahead<S> half;
    const float *const from = element<S>(v, (int)threadIdx.x * 4);
    float *const to = tile + padded<float>((int)threadIdx.x * 4);
#pragma unroll 4
    for (int t = half::COUNT; t < half::turns::COUNT; ++t) {
        float *const place = to + padded<float>(t * half::turns::ELEMENTS);
        if (v.packs)
            cp_async_16(place, from + half::turns::step(v, t));
        else
            for (int i = 0; i < 4; ++i)
                cp_async_4(place + i, from + half::turns::step(v, t) + i);
    }
    cp_async_commit();
}

/* The first mode of the first half, from `ahead` into the tile, or of the rest, in the tile. */
template <class S, bool AHEAD>
static __device__ __forceinline__ void contract_half(const float *ahead, float *tile,
                                                     const float *w) {
    constexpr int N = S::EXTENT, V = cube_ahead<S>::V;
    const int first = (int)threadIdx.x + (AHEAD ? 0 : V * S::THREADS);
    float *const place = tile + padded<float>(first * N);
    constexpr int STEP = S::THREADS * N, PLACES = places_on(STEP);
    float sum[N][V] = {};
    multiply_along(
        [&](int c, int i) {
            return AHEAD ? pack_at(ahead + cube_ahead<S>::place(first, i / 4) + c * STEP)
                         : pack_at(place + c * PLACES + i);
        },
        w, sum);
#pragma unroll
    for (int c = 0; c < V; ++c)
        put_along(sum, c, place + c * PLACES);
}

template <class S>
static __global__ void __launch_bounds__(S::THREADS, S::FORWARD_BLOCKS)
    forward_cubes(state<const float> in, bool in_packs, factors<float> w, state<float> out,
                  bool out_packs, pass p, int64_t tiles) {
    constexpr int N = S::EXTENT;
    ASSAY_DYNAMIC_SHARED(float, tile);
    float *const ahead = tile + padded<float>(S::ELEMENTS);
    float *const weights = ahead + S::ELEMENTS / 2;
    for (int i = 0; i < S::MODES; ++i)
        put_factor(w.of[i], N, N, weights + i * N * N);
    const tile_view<const float> first = view_of<S>(in, in_packs, p, blockIdx.x);
    fetch_ahead<S>(first, ahead);
    fetch_rest<S>(first, tile);
    for (int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
        const tile_view<float> to = view_of<S>(out, out_packs, p, index);
        const int64_t next = index + gridDim.x;
        const tile_view<const float> from = view_of<S>(in, in_packs, p, next);
        cp_async_wait<1>();
        __syncthreads();
        contract_half<S, true>(ahead, tile, weights);
        cp_async_wait<0>();
        __syncthreads();
        if (next < tiles)
            fetch_ahead<S>(from, ahead);
        contract_half<S, false>(ahead, tile, weights);
        __syncthreads();
        contract_across<S, N>(tile, S::ELEMENTS, weights + N * N);
        __syncthreads();
        square_block<S> sum = {};
        multiply_columns<S, N * N>(tile, weights + 2 * N * N, sum);
        __syncthreads();
        if (next < tiles)
            fetch_rest<S>(from, tile);
        store_columns<S, N * N>(sum, to);
    }
}

#endif
