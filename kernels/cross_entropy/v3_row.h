/*
 * The log of a row's sum of exponentials in one reading of it: each lane keeps a running maximum
 * and the sum relative to it, 16 bytes of logits at a time, and lanes are merged in a fixed order.
 * And the gradient of 16 bytes of logits.
 */
#ifndef ASSAY_CROSS_ENTROPY_V3_ROW_H
#define ASSAY_CROSS_ENTROPY_V3_ROW_H

#include "kernels/common/special.h"
#include "kernels/common/stream.h"
#include "kernels/cross_entropy/tokens.h"

/* BLOCKS of a multiprocessor leave registers to a thread for all the loads that it begins at once:
 * without a number, ptxas puts each load where it is used, to make room for more threads. */
enum { THREADS = 512, WARP = 32, WARPS = THREADS / WARP, BLOCKS = 2 };

/* This thread's row: one for each group of lanes, since a grid may have as many blocks as there are
 * tokens. */
struct group {
    int64_t row;
    int lane, lanes;

    /* The first column of the lane's first pack, and from one of its packs to the next. */
    template <typename T> __device__ __forceinline__ int64_t column() const {
        return (int64_t)lane * pack<T>::size;
    }
    template <typename T> __device__ __forceinline__ int64_t step() const {
        return (int64_t)lanes * pack<T>::size;
    }
};

static __device__ __forceinline__ group group_of(int lanes) {
    return {(int64_t)blockIdx.x * (THREADS / lanes) + (int)threadIdx.x / lanes,
            (int)threadIdx.x % lanes, lanes};
}

/* sum = Σ exp(x - shift_of(maximum)) over what was added. */
template <typename A> struct row_sum { A maximum, sum; };

template <typename A> static __device__ __forceinline__ A minus_infinity() {
    return -(A)__uint_as_float(0x7f800000);
}

template <typename A> static __device__ __forceinline__ row_sum<A> empty_row() {
    return {minus_infinity<A>(), 0};
}

/* The larger one; of a NaN and a number, the number. */
static __device__ __forceinline__ float larger(float a, float b) {
    return fmaxf(a, b);
}
static __device__ __forceinline__ double larger(double a, double b) {
    return fmax(a, b);
}

/* Adds a pack. A NaN is no maximum, but makes the sum one. No branch: with the same maximum the sum
 * is multiplied by 1. */
template <typename T>
static __device__ __forceinline__ void add(row_sum<acc_t<T>> &row, const pack<T> &x) {
    constexpr int V = pack<T>::size;
    acc_t<T> maximum = row.maximum, term[V];
    for (int v = 0; v < V; ++v)
        maximum = larger(maximum, widen(x.v[v]));
    const acc_t<T> shift = shift_of(maximum);
    row.sum *= exp_term(row.maximum - shift);
    row.maximum = maximum;
    for (int v = 0; v < V; ++v)
        term[v] = exp_term(widen(x.v[v]) - shift);
    for (int half = V / 2; half > 0; half /= 2)
        for (int v = 0; v < half; ++v)
            term[v] += term[v + half];
    row.sum += term[0];
}

/* Symmetric, so that two lanes that merge with each other agree. */
template <typename A>
static __device__ __forceinline__ row_sum<A> merge(const row_sum<A> &a, const row_sum<A> &b) {
    const A maximum = a.maximum > b.maximum ? a.maximum : b.maximum, shift = shift_of(maximum);
    return {maximum, a.sum * exp_term(a.maximum - shift) + b.sum * exp_term(b.maximum - shift)};
}

/* Room for the row of each warp. No template: gcc keeps a template's variables out of the section
 * in which the simulated device watches shared memory. */
static __device__ __forceinline__ row_sum<float> *room_for_warps(float) {
    __shared__ row_sum<float> room[WARPS];
    return room;
}
static __device__ __forceinline__ row_sum<double> *room_for_warps(double) {
    __shared__ row_sum<double> room[WARPS];
    return room;
}

/* The rows of `lanes` consecutive lanes of a warp, merged; every one of them gets it. */
template <typename A>
static __device__ __forceinline__ row_sum<A> merge_in_warp(row_sum<A> row, int lanes) {
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
        const row_sum<A> other = {__shfl_xor_sync(0xffffffffu, row.maximum, offset),
                                  __shfl_xor_sync(0xffffffffu, row.sum, offset)};
        row = merge(row, other);
    }
    return row;
}

/* The same of each group of `lanes` threads of the block, a power of two. All threads of the block
 * must come here, once. */
template <typename A>
static __device__ __forceinline__ row_sum<A> merge_lanes(row_sum<A> row, int lanes) {
    row = merge_in_warp(row, lanes < WARP ? lanes : WARP);
    if (lanes <= WARP)
        return row;
    row_sum<A> *warps = room_for_warps(A());
    if (threadIdx.x % WARP == 0)
        warps[threadIdx.x / WARP] = row;
    __syncthreads();
    const int of_row = lanes / WARP, first = (int)threadIdx.x / lanes * of_row;
    return merge_in_warp(warps[first + (int)threadIdx.x % of_row], of_row);
}

template <typename A> static __device__ __forceinline__ A lse_of(const row_sum<A> &row) {
    return shift_of(row.maximum) + log_(row.sum);
}

/* The gradient of the logits x at columns j, j + 1 … of a row with that lse. */
template <typename T>
static __device__ __forceinline__ pack<T> grade(const pack<T> &x, int64_t j, int64_t target,
                                                acc_t<T> lse, acc_t<T> scale) {
    constexpr int V = pack<T>::size;
    acc_t<T> result[V];
    for (int v = 0; v < V; ++v)
        result[v] = gradient_at(exp_unit(widen(x.v[v]) - lse), false, scale);
    if (j <= target && target < j + V)
        for (int v = 0; v < V; ++v)
            if (j + v == target)
                result[v] = gradient_at(exp_unit(widen(x.v[v]) - lse), true, scale);
    return narrow_pack<T>(result);
}

/* Lanes for one row of v logits: one pack each if a warp suffices; else as few as have at most
 * `most` packs each, up to a block. */
template <typename T> static int lanes_for(int64_t v, int64_t most) {
    const int64_t packs = ceil_div(v, pack<T>::size);
    int lanes = 1;
    while (lanes < THREADS && lanes < packs && (lanes < WARP || packs > most * lanes))
        lanes *= 2;
    return lanes;
}

#endif
