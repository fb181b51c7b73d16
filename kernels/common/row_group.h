/*
 * Rows in registers: a group of lanes (1 to 32, or 2 to 8 warps) takes one row and holds up to four
 * packs of 16 bytes a lane; longer rows are read again, from the cache. Sums and maxima over a
 * row have one order, given by the shape alone: an address that does not allow 16-byte accesses
 * changes how elements are fetched, not which lane adds them.
 */
#ifndef ASSAY_KERNELS_COMMON_ROW_GROUP_H
#define ASSAY_KERNELS_COMMON_ROW_GROUP_H

#include "kernels/common/pack.h"
#include "kernels/common/rows.h"

enum { GROUP_THREADS = 256, GROUP_WARP = 32, GROUP_WARPS = GROUP_THREADS / GROUP_WARP };

/* Packs of a row that a lane holds: as many as leave registers to two blocks of a processor. */
template <typename T> constexpr int HELD = pack<T>::size > 4 ? 2 : 4;

/* A lane's place: the group of lanes it is in, and the first column of its pack number `p`. */
template <typename T> struct group_place {
    int group, lane, lanes;

    __device__ __forceinline__ explicit group_place(int lanes_)
        : group((int)threadIdx.x / lanes_), lane((int)threadIdx.x % lanes_), lanes(lanes_) {
    }
    __device__ __forceinline__ int64_t column(int64_t p) const {
        return (p * lanes + lane) * pack<T>::size;
    }
    /* From one of the lane's packs to its next. */
    __device__ __forceinline__ int64_t step() const {
        return (int64_t)lanes * pack<T>::size;
    }
};

/* The lane's first packs of a row of that length; elements that there are not are `rest`. */
template <typename T>
static __device__ __forceinline__ void load_held(const T *row, int64_t length, group_place<T> at,
                                                 bool packs, T rest, pack<T> (&to)[HELD<T>]) {
#pragma unroll
    for (int p = 0; p < HELD<T>; ++p)
        to[p] = load_pack(row + at.column(p), length - at.column(p), packs, rest);
}

/* Room for a number of each warp. No template: gcc keeps a template's variables out of the section
 * in which the simulated device watches shared memory. */
static __device__ __forceinline__ float *group_room(float) {
    __shared__ float room[GROUP_WARPS];
    return room;
}
static __device__ __forceinline__ double *group_room(double) {
    __shared__ double room[GROUP_WARPS];
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

/* What `Op` makes of the values of all lanes of a group, in one order; every lane gets it. All
 * threads of the block must come here. */
template <typename Op, typename A>
static __device__ __forceinline__ A reduce_group(A value, int lanes) {
    for (int offset = (lanes < GROUP_WARP ? lanes : GROUP_WARP) / 2; offset > 0; offset /= 2)
        value = Op::of(value, __shfl_xor_sync(0xffffffffu, value, offset));
    if (lanes <= GROUP_WARP)
        return value;
    A *warps = group_room(A());
    const int warp = (int)threadIdx.x / GROUP_WARP;
    const int first = warp * GROUP_WARP / lanes * lanes / GROUP_WARP;
    if (threadIdx.x % GROUP_WARP == 0)
        warps[warp] = value;
    __syncthreads();
    value = warps[first];
    for (int i = 1; i < lanes / GROUP_WARP; ++i)
        value = Op::of(value, warps[first + i]);
    __syncthreads();
    return value;
}

/* Lanes to a row of d elements: as few as hold it, at most the block. */
template <typename T> static inline int group_lanes(int64_t d) {
    int lanes = 1;
    while (lanes < GROUP_THREADS && (int64_t)lanes * HELD<T> * pack<T>::size < d)
        lanes *= 2;
    return lanes;
}

#endif
