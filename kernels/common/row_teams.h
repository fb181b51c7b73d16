/*
 * Several rows at a time: a team of lanes, whole warps, takes TEAM_ROWS rows together, and each
 * lane has one pack of 16 bytes of each of them, at the same columns. What a block adds up over its
 * rows, such as the gradient of weights, a lane then keeps in registers, a number for each of its
 * columns; and the sums along these rows are made together: in most steps half of the numbers
 * change lanes, not all, and one barrier is for all of them.
 *
 * Each sum has one order, given by the shape alone, as in row_group.h.
 */
#ifndef ASSAY_KERNELS_COMMON_ROW_TEAMS_H
#define ASSAY_KERNELS_COMMON_ROW_TEAMS_H

#include "kernels/common/row_feed.h"

/* 96 registers a thread: two blocks of 320 threads on a multiprocessor, or one of more. */
static constexpr int TEAM_ROWS = 2, TEAM_THREADS = 640, TEAM_WARPS = TEAM_THREADS / GROUP_WARP;
static constexpr int TEAM_LANES = 320; /* of all teams of a block, where there are several */

/* How rows are shared out: `teams` teams of a block, of `lanes` lanes each. Blocks take rows by
 * turns, so that those that memory reads and writes at a time lie side by side. */
struct team_split {
    int lanes, teams;
    int64_t blocks;

    __device__ __forceinline__ int64_t rows_of_turn() const {
        return teams * TEAM_ROWS;
    }
};

/* Whether teams may take rows of d elements: of whole packs, and of more than a warp has lanes. */
template <typename T> static inline bool takes_teams(int64_t d) {
    const int64_t packs = d / pack<T>::size;
    return d % pack<T>::size == 0 && packs > GROUP_WARP && packs <= TEAM_THREADS;
}

/* Of rows that takes_teams(). Few rows are shared out among blocks before teams. */
template <typename T> static inline team_split split_teams(int64_t rows, int64_t d) {
    const int64_t warps = ceil_div(d / pack<T>::size, GROUP_WARP);
    const int64_t blocks = 2 * ASSAY_MULTIPROCESSORS;
    team_split cut = {(int)warps * GROUP_WARP, 1, 0};
    while (2 * cut.teams * cut.lanes <= TEAM_LANES &&
           2 * cut.teams * TEAM_ROWS * blocks <= rows + rows / 8)
        cut.teams *= 2;
    cut.blocks = clamp(ceil_div(rows, cut.teams * TEAM_ROWS), 1, blocks);
    return cut;
}

/* Bytes of a block's shared memory: `numbers` for each warp; then places for rows of `sources`
 * tensors, where in the end a row for each team has room. */
template <typename T>
static inline size_t team_bytes(const team_split &cut, int64_t d, int numbers, int sources) {
    const size_t sums = cut.teams > 1 ? (size_t)(cut.teams * d) * sizeof(acc_t<T>) : 0;
    const size_t places =
        (size_t)(ROWS_AHEAD * sources * TEAM_ROWS) * (size_t)(cut.lanes * cut.teams) * PACK_BYTES;
    return (size_t)(numbers * TEAM_WARPS) * sizeof(acc_t<T>) + (sums > places ? sums : places);
}

/* A lane's place: its team, and its column. */
template <typename T> struct team_place {
    int team, lanes, column;

    __device__ __forceinline__ explicit team_place(int lanes_)
        : team((int)threadIdx.x / lanes_), lanes(lanes_),
          column(((int)threadIdx.x - team * lanes_) * pack<T>::size) {
    }
};

/* Rows that come while others are worked on: each lane copies its packs of the next rows to places
 * of its own, past its registers, as in row_feed.h. */
template <typename T, bool WHOLE> struct team_feed {
    pack<T> *places;
    int sources, column, d;
    int64_t rows;

    __device__ __forceinline__ pack<T> *place(bool odd, int source, int r) const {
        const int row = ((odd ? sources : 0) + source) * TEAM_ROWS + r;
        return places + row * (int)blockDim.x + threadIdx.x;
    }
    /* Starts to copy rows `first` and on of one tensor. */
    __device__ __forceinline__ void start(bool odd, int source, const matrix<const T> &from,
                                          int64_t first) const {
#pragma unroll
        for (int r = 0; r < TEAM_ROWS; ++r)
            start_pack<WHOLE>(place(odd, source, r), from.row(first + r) + column,
                              first + r < rows ? d - column : 0, WHOLE);
    }
    __device__ __forceinline__ void load(bool odd, int source, pack<T> (&to)[TEAM_ROWS]) const {
#pragma unroll
        for (int r = 0; r < TEAM_ROWS; ++r)
            to[r] = load_kept(place(odd, source, r));
    }
};

/* The sums of N numbers over the lanes of a warp; lane l gets number l / (32 / N). In each step a
 * lane keeps half of its numbers and gives the other half to the lane that keeps those. */
template <int N, typename A> static __device__ __forceinline__ A sum_warp(A (&number)[N]) {
    static_assert(N <= GROUP_WARP && (N & (N - 1)) == 0, "halves");
    int offset = GROUP_WARP / 2;
#pragma unroll
    for (int half = N / 2; half > 0; half /= 2, offset /= 2) {
        const bool second = ((int)threadIdx.x & offset) != 0;
#pragma unroll
        for (int i = 0; i < half; ++i) {
            const A given = second ? number[i] : number[i + half];
            const A kept = second ? number[i + half] : number[i];
            number[i] = kept + __shfl_xor_sync(0xffffffffu, given, offset);
        }
    }
    for (; offset > 0; offset /= 2)
        number[0] += __shfl_xor_sync(0xffffffffu, number[0], offset);
    return number[0];
}

/* The sums of N numbers over the lanes of each team; lane l of a warp gets number l % N. `room` is
 * shared memory for N numbers of each warp, which lanes may still read when the call has ended: the
 * next call must use another. All threads of the block must come here. */
template <int N, typename A>
static __device__ __forceinline__ A sum_team(A (&number)[N], int lanes, A *room) {
    const int lane = (int)threadIdx.x % GROUP_WARP, warp = (int)threadIdx.x / GROUP_WARP;
    const int warps = lanes / GROUP_WARP, first = warp / warps * warps;
    const A of_warp = sum_warp(number);
    if (lane % (GROUP_WARP / N) == 0)
        room[warp * N + lane / (GROUP_WARP / N)] = of_warp;
    __syncthreads();
    A sum = room[first * N + lane % N];
    for (int i = 1; i < warps; ++i)
        sum += room[(first + i) * N + lane % N];
    return sum;
}

/* of_row[r] = lane first + r's number. */
template <typename A>
static __device__ __forceinline__ void spread_rows(A number, int first, A (&of_row)[TEAM_ROWS]) {
#pragma unroll
    for (int r = 0; r < TEAM_ROWS; ++r)
        of_row[r] = __shfl_sync(0xffffffffu, number, first + r);
}

/* to[j] = the sum over the block's teams of their parts of column j, the lane's of which are
 * `part`, one team after the other; `room` is shared memory for a row of each team. All threads
 * must come here. */
template <typename T>
static __device__ __forceinline__ void sum_teams(const acc_t<T> (&part)[pack<T>::size],
                                                 team_place<T> at, int teams, int d, acc_t<T> *room,
                                                 acc_t<T> *to) {
    typedef pack<acc_t<T>> some;
    acc_t<T> *const own = (teams > 1 ? room + at.team * d : to) + at.column;
#pragma unroll
    for (int v = 0; v < pack<T>::size; v += some::size) {
        some s;
        for (int k = 0; k < some::size; ++k)
            s.v[k] = part[v + k];
        if (at.column < d)
            store_kept(reinterpret_cast<some *>(own + v), s);
    }
    if (teams == 1)
        return;
    __syncthreads();
    for (int j = (int)threadIdx.x; j < d; j += at.lanes * teams) {
        acc_t<T> sum = room[j];
        for (int team = 1; team < teams; ++team)
            sum += room[team * d + j];
        to[j] = sum;
    }
    __syncthreads();
}

#endif
