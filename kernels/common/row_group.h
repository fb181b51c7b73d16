/*
 * Rows in registers: a group of lanes (1 to 32, or 2 to 8 warps) takes one row, and each lane holds
 * some packs of 16 bytes of it; longer rows are read again, from the cache. Sums and maxima over a
 * row have one order, given by the shape alone: an address that does not allow 16-byte accesses
 * changes how elements are fetched, not which lane adds them.
 *
 * Where the work on a row ends with it, some four packs a lane are the faster way: warps enough for
 * one to work while another waits, and all loads of a lane under way at a time. What a block adds
 * up over its rows wants few lanes for each row.
 */
#ifndef ASSAY_KERNELS_COMMON_ROW_GROUP_H
#define ASSAY_KERNELS_COMMON_ROW_GROUP_H

#include "kernels/common/pack.h"
#include "kernels/common/rows.h"

enum {
    GROUP_THREADS = 256,
    GROUP_WARP = 32,
    GROUP_WARPS = GROUP_THREADS / GROUP_WARP,
    GROUP_SUMS = 2,  /* at a time */
    GROUP_ROOMS = 3, /* for as many times, one after the other */
};

/* How a row is shared out: `lanes` lanes hold `held` packs each, or the first of them. */
struct row_share {
    int lanes, held;
};

/* A lane for each pack up to a warp; then up to `few` packs a lane; then more lanes; then up to
 * `most` packs. */
template <typename T> static inline row_share share_row(int64_t d, int few, int most) {
    const int64_t packs = ceil_div(d, pack<T>::size);
    row_share s = {1, most};
    while (s.lanes < GROUP_THREADS && s.lanes * (s.lanes < GROUP_WARP ? 1 : few) < packs)
        s.lanes *= 2;
    s.held = (int)clamp(ceil_div(packs, s.lanes), 1, most);
    return s;
}

/* Whether lanes that hold up to `most` packs hold all of a row, whose packs are all whole. */
template <typename T>
static inline bool holds_whole(int64_t d, const row_share &s, int most, bool packs) {
    return packs && d % pack<T>::size == 0 && d <= (int64_t)s.lanes * most * pack<T>::size;
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

/* launch(held, whole) with integral constants: whole, where lanes that hold up to FEW packs hold
 * all of a row of d elements, whose packs are whole. */
template <typename T, int FEW, int MOST, typename Launch>
static inline assay_status with_share(int64_t d, const row_share &s, bool packs, Launch launch) {
    if (holds_whole<T>(d, s, FEW, packs))
        return with_held<2, 3, FEW>(s.held,
                                    [&](auto held) { return launch(held, std::true_type()); });
    return with_held<FEW, MOST>(s.held, [&](auto held) { return launch(held, std::false_type()); });
}

/* Of a power of two. */
static __device__ __forceinline__ int log2_of(int power) {
    return __ffs(power) - 1;
}

/* A lane's place: the group of lanes it is in, and the first column of its pack number `p`. */
template <typename T> struct group_place {
    int group, lane, lanes, groups;

    /* `lanes_` is a power of two: no division. */
    __device__ __forceinline__ explicit group_place(int lanes_)
        : group((int)threadIdx.x >> log2_of(lanes_)), lane((int)threadIdx.x & (lanes_ - 1)),
          lanes(lanes_), groups(GROUP_THREADS >> log2_of(lanes_)) {
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
template <bool WHOLE, bool ONCE, typename T, int HELD>
static __device__ __forceinline__ void load_held(const T *row, int64_t length, group_place<T> at,
                                                 bool packs, T rest, pack<T> (&to)[HELD]) {
    const int there = at.template held_of<HELD>(length);
#pragma unroll
    for (int p = 0; p < HELD; ++p)
        to[p] = load_part<WHOLE, ONCE>(row + at.column(p), there - at.column(p), packs, rest);
    keep_packed(to);
}

/* Room for numbers of each warp. No template: gcc keeps a template's variables out of the section
 * in which the simulated device watches shared memory. */
static __device__ __forceinline__ float *group_room(float) {
    __shared__ float room[GROUP_ROOMS * GROUP_SUMS * GROUP_WARPS];
    return room;
}
static __device__ __forceinline__ double *group_room(double) {
    __shared__ double room[GROUP_ROOMS * GROUP_SUMS * GROUP_WARPS];
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
 * it. All threads of the block must come here. With one barrier, not two: the next call must use
 * another `room`. */
template <typename Op, int N, typename A>
static __device__ __forceinline__ void reduce_group(A (&value)[N], int lanes, int room) {
    static_assert(N <= GROUP_SUMS, "each warp has room for as many");
#pragma unroll
    for (int k = 0; k < N; ++k)
        for (int offset = (lanes < GROUP_WARP ? lanes : GROUP_WARP) / 2; offset > 0; offset /= 2)
            value[k] = Op::of(value[k], __shfl_xor_sync(0xffffffffu, value[k], offset));
    if (lanes <= GROUP_WARP)
        return;
    A *warps = group_room(A()) + room * (GROUP_SUMS * GROUP_WARPS);
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
#pragma unroll
        for (int i = 1; i < GROUP_WARPS; ++i)
            if (i < lanes / GROUP_WARP)
                value[k] = Op::of(value[k], warps[k * GROUP_WARPS + first + i]);
    }
}

template <typename Op, typename A>
static __device__ __forceinline__ A reduce_group(A value, int lanes, int room) {
    A one[1] = {value};
    reduce_group<Op>(one, lanes, room);
    return one[0];
}

/* The same, and the next call may be any. */
template <typename Op, typename A>
static __device__ __forceinline__ A reduce_group(A value, int lanes) {
    value = reduce_group<Op>(value, lanes, 0);
    if (lanes > GROUP_WARP)
        __syncthreads();
    return value;
}

/* Where sum_groups keeps column j in shared memory: lanes have packs side by side, and without a
 * gap behind each 32 columns they would meet in the same banks. */
static __device__ __forceinline__ int64_t sum_place(int64_t j) {
    return j + j / GROUP_WARP;
}

/* Bytes of dynamic shared memory that sum_groups needs. */
template <typename T> static inline size_t sum_groups_bytes(int64_t d, int lanes) {
    return lanes < GROUP_THREADS ? (size_t)(d + d / GROUP_WARP) * sizeof(acc_t<T>) : 0;
}

/* to[j] = the sum over the block's groups of their parts of column j, the lanes' packs in `part`:
 * first inside each warp, then one warp, or group of warps, after the other, in the launch's shared
 * memory where the block has more than one group. All threads must come here. */
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
    for (int turn = 0; turn < turns; ++turn) {
        if ((int)threadIdx.x / width == turn && (int)threadIdx.x % width < at.lanes)
#pragma unroll
            for (int p = 0; p < HELD; ++p) {
                /* A pack lies within 32 columns. */
                const int64_t first = at.column(p), left = d - first;
                acc_t<T> *const sum = turns > 1 ? shared + sum_place(first) : to + first;
#pragma unroll
                for (int v = 0; v < V; ++v)
                    if (v < left)
                        sum[v] = turn == 0 ? part[p][v] : sum[v] + part[p][v];
            }
        __syncthreads();
    }
    for (int64_t j = threadIdx.x; turns > 1 && j < d; j += GROUP_THREADS)
        to[j] = shared[sum_place(j)];
    __syncthreads();
}

#endif
