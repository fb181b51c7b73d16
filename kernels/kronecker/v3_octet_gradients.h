/*
 * Backward passes of kronecker v3 whose modes are all 8 x 8. The state goes up to the input of the
 * last step in the tile, as in v3_octets.h. There, and at each step before it, a thread has its
 * elements of the input and of the cotangent in registers, so it sums both modes' dW without
 * another access, and the cotangent takes the input's place. The input of a step between the first
 * and the last waits in the workspace, in the order of the threads that wrote it and read it again;
 * that of the first is x.
 *
 * Steps of one mode are one and the same code, and so are those of two: two copies of each, 183 KB
 * of instructions in a pass of five modes, are more than a multiprocessor keeps, and half of all
 * cycles of its warps went by waiting for instructions (H100).
 */
#ifndef ASSAY_KRONECKER_V3_OCTET_GRADIENTS_H
#define ASSAY_KRONECKER_V3_OCTET_GRADIENTS_H

#include "kernels/kronecker/v3_octets.h"

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
struct octet_sums {
    float part[2];
};

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

template <class S, int R>
static __device__ __forceinline__ void load_octets(const tile_view<const float> &v, int e,
                                                   octets &x) {
#pragma unroll
    for (int h = 0; h < EIGHT; ++h)
#pragma unroll
        for (int l = 0; l < EIGHT; ++l)
            x[h][l] = __ldcs(element<S>(v, e) + (h * EIGHT + l) * step_of<S, R>(v));
}

/* What save_octets() left. */
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

/* The steps of a pass of M modes: whether the last one has two modes, and how far apart in the tile
 * are the elements of the second step's first mode, and of the last one's. */
template <class S> struct octet_steps {
    static constexpr int M = S::MODES, C = S::COLUMNS;
    static constexpr bool LAST_OF_TWO = M % 2 == 1;
    static constexpr int SECOND = EIGHT * C, LAST = (M > 3 ? OCTETS : 1) * SECOND;
};

/* dW of columns of one mode, and the cotangent in place of d. */
template <class S>
static __device__ __forceinline__ void back_columns(const octets &x, octets &d,
                                                    const float *adjoint, octet_sums &sums) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        float products[32] = {};
        gradient_low(x, d, half * 4, products);
        sums.part[half] += fold(products);
    }
    contract_low(d, adjoint);
}

/* A step of one mode, the first or, with `last`, the last one of the pass. */
template <class S>
static __device__ __forceinline__ void
back_one(bool last, const tile_view<const float> &in, const tile_view<const float> &dy, float *tile,
         const float *adjoint, const tile_view<float> &out, octet_sums &sums) {
    constexpr int FIRST = S::COLUMNS, LAST = octet_steps<S>::LAST;
#pragma unroll 1
    for (int k = 0; k < S::ITEMS; ++k) {
        octets x, d;
        if (last) {
            get_columns<S, LAST, TILE>(in, tile, k, x);
            get_columns<S, LAST, MEMORY>(dy, tile, k, d);
        } else {
            get_columns<S, FIRST, MEMORY>(in, tile, k, x);
            get_columns<S, FIRST, TILE>(dy, tile, k, d);
        }
        back_columns<S>(x, d, adjoint, sums);
        if (last)
            put_columns<S, LAST, TILE>(d, tile, k, out);
        else
            put_columns<S, FIRST, MEMORY>(d, tile, k, out);
    }
}

/* The dW of a step's two modes. */
struct pair_sums {
    octet_sums low, high;
};

/* Warps that are far apart in a long pass would each fetch its instructions for themselves. */
template <class S> static __device__ __forceinline__ void keep_together() {
    if constexpr (S::MODES > 3)
        __syncthreads();
}

/* The halves of the high mode, or of the low one, change places. */
static __device__ __forceinline__ void swap_high(octets &x) {
#pragma unroll
    for (int i = 0; i < EIGHT / 2; ++i)
#pragma unroll
        for (int l = 0; l < EIGHT; ++l) {
            const float first = x[i][l];
            x[i][l] = x[i + EIGHT / 2][l];
            x[i + EIGHT / 2][l] = first;
        }
}
static __device__ __forceinline__ void swap_low(octets &x) {
#pragma unroll
    for (int h = 0; h < EIGHT; ++h)
#pragma unroll
        for (int i = 0; i < EIGHT / 2; ++i) {
            const float first = x[h][i];
            x[h][i] = x[h][i + EIGHT / 2];
            x[h][i + EIGHT / 2] = first;
        }
}
/* Of two calls, the first adds to part 0, the second to part 1. */
static __device__ __forceinline__ void add_half(octet_sums &sums, float half) {
    const float sum = sums.part[0] + half;
    sums.part[0] = sums.part[1];
    sums.part[1] = sum;
}

/* Both modes' dW, and the cotangent in place of d; x is as before. Of more than three modes both
 * halves are one and the same code. Units that are not there take part in the sums over the warp,
 * with nothing. */
template <class S>
static __device__ __forceinline__ void back_octets(octets &x, octets &d, bool there, const float *w,
                                                   const float *adjoint, pair_sums &sums) {
#pragma unroll(S::MODES > 3 ? 1 : 2)
    for (int half = 0; half < 2; ++half) {
        float products[32] = {};
        if (there)
            gradient_high(x, d, w, 0, products);
        add_half(sums.high, fold(products));
        swap_high(x);
        keep_together<S>();
    }
    contract_high(d, adjoint + OCTETS);
#pragma unroll(S::MODES > 3 ? 1 : 2)
    for (int half = 0; half < 2; ++half) {
        float products[32] = {};
        if (there)
            gradient_low(x, d, 0, products);
        add_half(sums.low, fold(products));
        swap_low(x);
        keep_together<S>();
    }
    contract_low(d, adjoint);
}

/* An item of two modes in the tile: its first place, how far apart the places of either mode are,
 * and whether its unit is there. */
struct pair_place {
    int first, low, high;
    bool there;
};

template <class S, int R>
static __device__ __forceinline__ pair_place pair_at(const tile_view<const float> &v, int item) {
    const int e = first_of<OCTETS, R>(item * S::THREADS + (int)threadIdx.x);
    return {octet_place(e), octet_place(R), octet_place(EIGHT * R), is_there<S>(v, e)};
}

/* A pass that has but one such step knows the distances, and where columns are many they are not
 * all the same. */
template <class S>
static __device__ __forceinline__ int pair_element(const pair_place &at, int h, int l) {
    constexpr int R = octet_steps<S>::SECOND;
    return at.first + (S::MODES == MOST_OCTET_MODES
                           ? h * at.high + l * at.low
                           : octet_place(h * EIGHT * R) + octet_place(l * R));
}
template <class S>
static __device__ __forceinline__ void fetch_pair(const float *tile, const pair_place &at,
                                                  octets &x) {
#pragma unroll
    for (int h = 0; h < EIGHT; ++h)
#pragma unroll
        for (int l = 0; l < EIGHT; ++l)
            x[h][l] = tile[pair_element<S>(at, h, l)];
}
template <class S>
static __device__ __forceinline__ void put_pair(const octets &x, float *tile,
                                                const pair_place &at) {
#pragma unroll
    for (int h = 0; h < EIGHT; ++h)
#pragma unroll
        for (int l = 0; l < EIGHT; ++l)
            tile[pair_element<S>(at, h, l)] = x[h][l];
}

/* The pass's cotangent of an item of the last step, which has two modes, if its unit is there. */
template <class S>
static __device__ __forceinline__ void load_item(const tile_view<const float> &dy, int item,
                                                 octets &d) {
    constexpr int R = octet_steps<S>::LAST;
    const int e = first_of<OCTETS, R>(item * S::THREADS + (int)threadIdx.x);
    if (is_there<S>(dy, e))
        load_octets<S, R>(dy, e, d);
}

/* A step of two modes. Of the last one of the pass the input is in the tile, and the cotangent in
 * memory: the first item's is in `d`, on its way since before the last barrier. Of another one the
 * input is in `saved`, and the cotangent in the tile. */
template <class S>
static __device__ __forceinline__ void
back_two(bool last, const tile_view<const float> &dy, octets &d, float *tile, const float *w,
         const float *adjoint, const float *saved, pair_sums &sums) {
    typedef octet_steps<S> steps;
#pragma unroll 1
    for (int k = 0; k < S::ITEMS; ++k) {
        const pair_place at =
            last ? pair_at<S, steps::LAST>(dy, k) : pair_at<S, steps::SECOND>(dy, k);
        octets x = {};
        if (last && at.there)
            fetch_pair<S>(tile, at, x);
        if (!last && at.there) {
            fetch_pair<S>(tile, at, d);
            restore_octets<S>(saved, k, x);
        }
        back_octets<S>(x, d, at.there, w, adjoint, sums);
        put_pair<S>(d, tile, at);
        if (last && k + 1 < S::ITEMS)
            load_item<S>(dy, k + 1, d);
    }
}

template <typename T> static __device__ __forceinline__ void swap_sums(T (&sums)[2]) {
    const T first = sums[0];
    sums[0] = sums[1];
    sums[1] = first;
}

/* The block's dW of a stage: the sum over its warps in ascending order. */
template <class S>
static __device__ __forceinline__ void put_octet_sums(const octet_sums &sums, float *shared,
                                                      float *partial) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    shared[warp * OCTETS + lane] = sums.part[0];
    shared[warp * OCTETS + 32 + lane] = sums.part[1];
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
    typedef octet_steps<S> steps;
    constexpr int M = S::MODES;
    ASSAY_DYNAMIC_SHARED(float, tile);
    float *const weights = tile + octet_place(S::ELEMENTS);
    float *const adjoints = weights + M * OCTETS;
    put_octet_factors(w, M, false, weights);
    put_octet_factors(w, M, true, adjoints);
    __syncthreads();
    if (S::SAVES)
        saved += (int64_t)blockIdx.x * S::ELEMENTS;

    /* Of the steps of one and of two modes, each from the last step on. */
    octet_sums ones[2] = {};
    pair_sums twos[2] = {};
    for (int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
        const tile_view<const float> from = view_of<S>(in, in_packs, p, index),
                                     dy = view_of<S>(cotangent, cotangent_packs, p, index);
        const tile_view<float> to = view_of<S>(out, out_packs, p, index);
        octets d = {};
        if (steps::LAST_OF_TWO)
            load_item<S>(dy, 0, d);
        step_one<S, S::COLUMNS, MEMORY, TILE>(from, tile, weights, to);
        __syncthreads();
        if constexpr (M > 3) {
            step_two<S, steps::SECOND, TILE>(tile, weights + OCTETS, to, saved);
            __syncthreads();
        }
        int mode = M; /* those before it are still to come */
        if constexpr (steps::LAST_OF_TWO) {
#pragma unroll 1
            for (int step = 0; step < M / 2; ++step) {
                mode -= 2;
                back_two<S>(step == 0, dy, d, tile, weights + mode * OCTETS,
                            adjoints + mode * OCTETS, saved, twos[0]);
                if (M == MOST_OCTET_MODES)
                    swap_sums(twos);
                __syncthreads();
            }
            back_one<S>(false, from, dy, tile, adjoints, to, ones[0]);
        } else {
#pragma unroll(M > 3 ? 1 : 2)
            for (int step = 0; step <= M / 2; ++step) {
                if (M == 4 && step == 1) {
                    mode -= 2;
                    octets before = {};
                    back_two<S>(false, dy, before, tile, weights + mode * OCTETS,
                                adjoints + mode * OCTETS, saved, twos[0]);
                } else {
                    --mode;
                    back_one<S>(step == 0, from, dy, tile, adjoints + mode * OCTETS, to, ones[0]);
                    swap_sums(ones);
                }
                __syncthreads();
            }
        }
        __syncthreads();
    }
    const auto put = [&](int mode, const octet_sums &sums) {
        put_octet_sums<S>(sums, tile,
                          partial + ((int64_t)(M - 1 - mode) * gridDim.x + blockIdx.x) * OCTETS);
    };
    put(0, ones[!steps::LAST_OF_TWO]);
    if (!steps::LAST_OF_TWO)
        put(M - 1, ones[0]);
    if (M > 2) {
        const pair_sums &second = twos[M == MOST_OCTET_MODES];
        put(1, second.low);
        put(2, second.high);
    }
    if (M == MOST_OCTET_MODES) {
        put(3, twos[0].low);
        put(4, twos[0].high);
    }
}

#endif
