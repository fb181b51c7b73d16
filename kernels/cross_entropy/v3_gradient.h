/*
 * lse and gradient from one reading of the logits, with one exp each: a group of lanes keeps its
 * row in shared memory. It finds the maximum while it reads, then puts exp(x - maximum) in the
 * place of x and sums it, and P is each term times the inverse of the sum.
 *
 * Each lane keeps the packs that it has read, so no lane looks at another's, and only the two
 * merges need a barrier. Shared memory holds the accumulator's type, in parts of 16 bytes of which
 * neighbouring threads have neighbouring ones.
 */
#ifndef ASSAY_CROSS_ENTROPY_V3_GRADIENT_H
#define ASSAY_CROSS_ENTROPY_V3_GRADIENT_H

#include "kernels/cross_entropy/v3_row.h"

enum { WARPS = THREADS / WARP };

/* Parts that a pack of logits takes. */
template <typename T> constexpr int PARTS = (int)(sizeof(acc_t<T>) / sizeof(T));

/* Part i of this thread. */
template <typename A> static __device__ __forceinline__ pack<A> *part_at(pack<A> *kept, int i) {
    return kept + i * THREADS + threadIdx.x;
}

/* Room for the maxima and the sums of the warps; no template, see room_for_warps. */
static __device__ __forceinline__ float *room_for_values(float) {
    __shared__ float room[2 * WARPS];
    return room;
}
static __device__ __forceinline__ double *room_for_values(double) {
    __shared__ double room[2 * WARPS];
    return room;
}

template <bool SUM, typename A> static __device__ __forceinline__ A merge_two(A a, A b) {
    return SUM ? a + b : b > a ? b : a;
}

/* The lanes' values, added or the largest of them, as in merge_lanes. Once for each SUM. */
template <bool SUM, typename A>
static __device__ __forceinline__ A merge_values(A value, int lanes) {
    for (int offset = (lanes < WARP ? lanes : WARP) / 2; offset > 0; offset /= 2)
        value = merge_two<SUM>(value, __shfl_xor_sync(0xffffffffu, value, offset));
    if (lanes <= WARP)
        return value;
    A *warps = room_for_values(A()) + (SUM ? WARPS : 0);
    if (threadIdx.x % WARP == 0)
        warps[threadIdx.x / WARP] = value;
    __syncthreads();
    value = warps[0];
    for (int i = 1; i < WARPS; ++i)
        value = merge_two<SUM>(value, warps[i]);
    return value;
}

static __device__ __forceinline__ float largest_finite(float) {
    return 0x1.fffffep127f;
}
static __device__ __forceinline__ double largest_finite(double) {
    return 0x1.fffffffffffffp1023;
}

/* Subtracted from the logits here. Beside an Inf all others become 0 in this way, and the Inf is
 * Inf, as its sum: 0 and Inf times 1 / Inf are the P that the definition has, 0 and NaN. */
template <typename A> static __device__ __forceinline__ A finite_shift(A maximum) {
    const A most = largest_finite(A()), raised = maximum < -most ? -most : maximum;
    return raised > most ? most : raised;
}

/* Keeps the lane's packs of a row of that length; the maximum of them. */
template <typename T>
static __device__ __forceinline__ acc_t<T> keep(pack<acc_t<T>> *kept, const T *row, int64_t length,
                                                const group &g, int held, bool packs) {
    constexpr int V = pack<T>::size, W = pack<acc_t<T>>::size;
    const T rest = narrow<T>(minus_infinity<acc_t<T>>());
    acc_t<T> maximum = minus_infinity<acc_t<T>>();
#pragma unroll 4
    for (int k = 0; k < held; ++k) {
        const int64_t j = ((int64_t)k * g.lanes + g.lane) * V;
        const pack<T> p = load_pack(row + j, length - j, packs, rest);
        for (int part = 0; part < PARTS<T>; ++part) {
            pack<acc_t<T>> wide;
            for (int w = 0; w < W; ++w) {
                wide.v[w] = widen(p.v[part * W + w]);
                maximum = merge_two<false>(maximum, wide.v[w]);
            }
            *part_at(kept, k * PARTS<T> + part) = wide;
        }
    }
    return maximum;
}

/* exp(x - shift) in the place of each x; the sum of them. */
template <typename A>
static __device__ __forceinline__ A make_terms(pack<A> *kept, int parts, A shift) {
    constexpr int W = pack<A>::size;
    A sum = 0;
    for (int i = 0; i < parts; ++i) {
        pack<A> term = *part_at(kept, i);
        for (int w = 0; w < W; ++w)
            term.v[w] = exp_(term.v[w] - shift);
        *part_at(kept, i) = term;
        for (int half = W / 2; half > 0; half /= 2)
            for (int w = 0; w < half; ++w)
                term.v[w] += term.v[w + half];
        sum += term.v[0];
    }
    return sum;
}

/* The lane's packs of the gradient, from the terms. */
template <typename T>
static __device__ __forceinline__ void
store_gradient(pack<acc_t<T>> *kept, acc_t<T> inverse, acc_t<T> scale, int64_t target, T *to,
               int64_t length, const group &g, int held, bool packs) {
    constexpr int V = pack<T>::size, W = pack<acc_t<T>>::size;
    for (int k = 0; k < held; ++k) {
        const int64_t j = ((int64_t)k * g.lanes + g.lane) * V;
        pack<T> p;
        for (int part = 0; part < PARTS<T>; ++part) {
            const pack<acc_t<T>> term = *part_at(kept, k * PARTS<T> + part);
            for (int w = 0; w < W; ++w) {
                const int v = part * W + w;
                p.v[v] = narrow<T>(gradient_at(term.v[w] * inverse, j + v == target, scale));
            }
        }
        store_pack(to + j, p, length - j, packs);
    }
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    sum_and_grade(tokens<T> x, gradient<T> to, acc_t<T> *lse, int lanes, int held, bool packs,
                  bool to_packs) {
    ASSAY_DYNAMIC_SHARED(pack<acc_t<T>>, kept);
    const group g = group_of(lanes);
    const int64_t length = g.row < x.t ? x.v : 0;
    const acc_t<T> top = keep(kept, x.logits + g.row * x.stride, length, g, held, packs);
    const acc_t<T> shift = finite_shift(merge_values<false>(top, lanes));
    const acc_t<T> part = make_terms(kept, held * PARTS<T>, shift);
    const acc_t<T> sum = merge_values<true>(part, lanes);
    if (g.row >= x.t)
        return;
    if (g.lane == 0)
        lse[g.row] = shift + log_(sum);
    store_gradient(kept, (acc_t<T>)1 / sum, scale_of(x, to), x.target[g.row],
                   to.dlogits + g.row * to.stride, length, g, held, to_packs);
}

/* ---- which rows fit ---- */

enum { MOST_HELD = 4 }; /* packs a lane, before a whole block takes the row */

struct keeping {
    int lanes, held; /* packs of each lane */
    size_t bytes;    /* of dynamic shared memory */
    bool fits;
};

template <typename T> static keeping keeping_for(int64_t v) {
    keeping plan = {lanes_for<T>(v, MOST_HELD), 0, 0, false};
    const int64_t held = ceil_div(ceil_div(v, pack<T>::size), plan.lanes);
    const int64_t bytes = held * THREADS * PARTS<T> * PACK_BYTES;
    plan.fits = bytes <= ASSAY_SHARED_BUDGET - 2 * WARPS * (int64_t)sizeof(acc_t<T>);
    plan.held = plan.fits ? (int)held : 0;
    plan.bytes = plan.fits ? (size_t)bytes : 0;
    return plan;
}

template <typename T>
static assay_status launch_sum_and_grade(const assay_call *call, const keeping &plan) {
    const tokens<T> x = tokens_of<T>(call);
    return ASSAY_LAUNCH(call->stream, whole_grid(ceil_div(x.t, THREADS / plan.lanes)),
                        dim3(THREADS), plan.bytes, (sum_and_grade<T>), x, gradient_of_one<T>(call),
                        static_cast<acc_t<T> *>(call->out[1].data), plan.lanes, plan.held,
                        takes_packs(&call->in[0]), takes_packs(&call->out[2]));
}

#endif
