/*
 * Rows in registers: a group of lanes (1 to 32, or 2 to 8 warps) takes one row, and each lane holds
 * some packs of 16 bytes of it; longer rows are read again, from the cache. Sums and maxima over a
 * row have one order, given by the shape alone: an address that does not allow 16-byte accesses
 * changes how elements are fetched, not which lane adds them.
 *
 * Few lanes with many packs each are the faster way: a lane has all of its loads under way at a
 * time, and a warp that has a row for itself meets no barrier, so that other warps' loads go on
 * meanwhile.
 */
#ifndef ASSAY_KERNELS_COMMON_ROW_GROUP_H
#define ASSAY_KERNELS_COMMON_ROW_GROUP_H

#include "kernels/common/pack.h"
#include "kernels/common/rows.h"

enum {
    GROUP_THREADS = 256,
    GROUP_WARP = 32,
    GROUP_WARPS = GROUP_THREADS / GROUP_WARP,
    GROUP_SUMS = 2, /* at a time */
};

/* How a row is shared out: `lanes` lanes hold `held` packs each, or the first of them. */
struct row_share {
    int lanes, held;
};

/* A lane for each pack up to a warp; then up to `most` packs a lane; then more lanes. */
template <typename T> static inline row_share share_row(int64_t d, int most) {
    const int64_t packs = ceil_div(d, pack<T>::size);
    row_share s = {1, most};
    while (s.lanes < GROUP_THREADS && s.lanes * (s.lanes < GROUP_WARP ? 1 : most) < packs)
        s.lanes *= 2;
    s.held = (int)clamp(ceil_div(packs, s.lanes), 1, most);
    return s;
}

/* launch(n) with n, an integral_constant, the first of the numbers that is not below `held`; the
 * last of them, if all are. */
template <int FIRST, int... MORE, typename Launch>
static inline assay_status with_held(int held, Launch launch) {
    if constexpr (sizeof...(MORE) > 0)
        if (held > FIRST)
            return with_held<MORE...>(held, launch);
    return launch(std::integral_constant<int, FIRST>());
}

/* A lane's place: the group of lanes it is in, and the first column of its pack number `p`. */
template <typename T> struct group_place {
    int group, lane, lanes;

    __device__ __forceinline__ explicit group_place(int lanes_)
        : group((int)threadIdx.x / lanes_), lane((int)threadIdx.x % lanes_), lanes(lanes_) {
    }
    __device__ __forceinline__ int column(int p) const {
        return (p * lanes + lane) * pack<T>::size;
    }
    /* Of a row of that length, the elements that all lanes together hold. In 32 bits, as columns
     * are: their differences are many, and live long. */
    template <int HELD> __device__ __forceinline__ int held_of(int64_t length) const {
        return (int)clamp(length, 0, (int64_t)HELD * lanes * pack<T>::size);
    }
    /* From one of the lane's packs to its next. */
    __device__ __forceinline__ int64_t step() const {
        return (int64_t)lanes * pack<T>::size;
    }
};

/* The lane's first packs of a row of that length; elements that there are not are `rest`. */
template <typename T, int HELD>
static __device__ __forceinline__ void load_held(const T *row, int64_t length, group_place<T> at,
                                                 bool packs, T rest, pack<T> (&to)[HELD]) {
    const int there = at.template held_of<HELD>(length);
#pragma unroll
    for (int p = 0; p < HELD; ++p)
        to[p] = load_pack(row + at.column(p), there - at.column(p), packs, rest);
    keep_packed(to);
}

/* Room for numbers of each warp. No template: gcc keeps a template's variables out of the section
 * in which the simulated device watches shared memory. */
static __device__ __forceinline__ float *group_room(float) {
    __shared__ float room[GROUP_SUMS * GROUP_WARPS];
    return room;
}
static __device__ __forceinline__ double *group_room(double) {
    __shared__ double room[GROUP_SUMS * GROUP_WARPS];
    return room;
}

struct group_add {
    template <typename A> static __device__ __forceinline__ A of(A a, A b) {
        return a + b;
    }
};
/* A NaN is never the larger one. */
struct group_larger {
    template <typename A> static __device__ __forceinline__ A of(A a, A b) {
        return b > a ? b : a;
    }
};

/* What `Op` makes of each of the values over all lanes of a group, in one order; every lane gets
 * it. All threads of the block must come here. */
template <typename Op, int N, typename A>
static __device__ __forceinline__ void reduce_group(A (&value)[N], int lanes) {
    static_assert(N <= GROUP_SUMS, "each warp has room for as many");
#pragma unroll
    for (int k = 0; k < N; ++k)
        for (int offset = (lanes < GROUP_WARP ? lanes : GROUP_WARP) / 2; offset > 0; offset /= 2)
            value[k] = Op::of(value[k], __shfl_xor_sync(0xffffffffu, value[k], offset));
    if (lanes <= GROUP_WARP)
        return;
    A *warps = group_room(A());
    const int warp = (int)threadIdx.x / GROUP_WARP;
    const int first = warp * GROUP_WARP / lanes * lanes / GROUP_WARP;
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (threadIdx.x % GROUP_WARP == 0)
            warps[k * GROUP_WARPS + warp] = value[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; ++k) {
        value[k] = warps[k * GROUP_WARPS + first];
        for (int i = 1; i < lanes / GROUP_WARP; ++i)
            value[k] = Op::of(value[k], warps[k * GROUP_WARPS + first + i]);
    }
    __syncthreads();
}

template <typename Op, typename A>
static __device__ __forceinline__ A reduce_group(A value, int lanes) {
    A one[1] = {value};
    reduce_group<Op>(one, lanes);
    return one[0];
}

/* to[j] = the sum over the block's groups of their parts of column j, the lanes' packs in `part`:
 * first inside each warp, then one warp, or group of warps, after the other, in the launch's shared
 * memory, d numbers where the block has more than one group. All threads must come here. */
template <typename T, int HELD>
static __device__ __forceinline__ void sum_groups(acc_t<T> (&part)[HELD][pack<T>::size],
                                                  group_place<T> at, int64_t d, acc_t<T> *to) {
    constexpr int V = pack<T>::size;
    for (int offset = at.lanes; offset < GROUP_WARP; offset *= 2)
        for (int p = 0; p < HELD; ++p)
            for (int v = 0; v < V; ++v)
                part[p][v] += __shfl_xor_sync(0xffffffffu, part[p][v], offset);
    ASSAY_DYNAMIC_SHARED(acc_t<T>, shared);
    const int width = at.lanes < GROUP_WARP ? GROUP_WARP : at.lanes, turns = GROUP_THREADS / width;
    acc_t<T> *all = turns > 1 ? shared : to;
    for (int turn = 0; turn < turns; ++turn) {
        if ((int)threadIdx.x / width == turn && (int)threadIdx.x % width < at.lanes)
            for (int p = 0; p < HELD; ++p)
                for (int v = 0; v < V; ++v) {
                    const int64_t j = at.column(p) + v;
                    if (j < d)
                        all[j] = turn == 0 ? part[p][v] : all[j] + part[p][v];
                }
        __syncthreads();
    }
    for (int64_t j = threadIdx.x; turns > 1 && j < d; j += GROUP_THREADS)
        to[j] = shared[j];
    __syncthreads();
}

#endif
