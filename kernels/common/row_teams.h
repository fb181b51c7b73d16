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
static constexpr int TEAM_PLACES = TEAM_WARPS; /* of numbers of warps, see team_warps */

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
    return (size_t)(numbers * TEAM_PLACES) * sizeof(acc_t<T>) + (sums > places ? sums : places);
}

/* A lane's place: its team, and its column. */
template <typename T> struct team_place {
    int team, lanes, column;

    __device__ __forceinline__ explicit team_place(int lanes_)
        : team((int)threadIdx.x / lanes_), lanes(lanes_),
          column(((int)threadIdx.x - team * lanes_) * pack<T>::size) {
    }
};

/* A lane's rows of one tensor, TEAM_ROWS of a turn and then those of the next: addresses are added
 * up from turn to turn, because products of 64 bits would be many of the instructions of a turn. */
template <typename T> struct team_rows {
    T *data, *at; /* the tensor; the lane's column of the first */
    int64_t stride, step;

    __device__ __forceinline__ team_rows(const matrix<T> &of, int64_t first, int64_t rows_of_step,
                                         int column)
        : data(of.data), at(of.row(first) + column), stride(of.stride),
          step(rows_of_step * of.stride) {
    }
    __device__ __forceinline__ T *row(int r) const {
        return at + r * stride;
    }
    __device__ __forceinline__ void next() {
        at += step;
    }
};

/* Rows that come while others are worked on: each lane copies its packs of the next rows to places
 * of its own, past its registers, as in row_feed.h. */
template <typename T, bool WHOLE, int SOURCES> struct team_feed {
    pack<T> *here, *coming; /* places of the rows of this turn, and of the next */
    int packs_of_row;

    __device__ __forceinline__ explicit team_feed(pack<T> *places)
        : here(places + threadIdx.x), coming(here + SOURCES * TEAM_ROWS * (int)blockDim.x),
          packs_of_row((int)blockDim.x) {
    }
    /* Starts to copy the rows of the next turn of one tensor, of which `rows` exist, `left`
     * elements of each from the lane's column on. */
    __device__ __forceinline__ void start(int source, const team_rows<const T> &from, int64_t rows,
                                          int left) const {
#pragma unroll
        for (int r = 0; r < TEAM_ROWS; ++r) {
            pack<T> *const to = coming + (source * TEAM_ROWS + r) * packs_of_row;
            const bool there = r < rows && left > 0;
            if constexpr (WHOLE) /* zeros, too, are a copy: stores beside copies cost more */
                cp_async_16(to, there ? from.row(r) : from.data, there ? PACK_BYTES : 0);
            else
                start_pack<false>(to, from.row(r), there ? left : 0, false);
        }
    }
    /* This turn's rows, as numbers: they are used before and behind an exchange. */
    __device__ __forceinline__ void load(int source,
                                         acc_t<T> (&to)[TEAM_ROWS][pack<T>::size]) const {
#pragma unroll
        for (int r = 0; r < TEAM_ROWS; ++r)
            widen_pack(load_kept(here + (source * TEAM_ROWS + r) * packs_of_row), to[r]);
    }
    /* What comes is here; what was here gives place to what comes next. */
    __device__ __forceinline__ void turn() {
        pack<T> *const used = here;
        here = coming;
        coming = used;
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

/* The warps of this thread's team, and the places of their numbers in shared memory: those of a
 * number lie side by side, a team's from a multiple of 16 bytes on. */
template <typename A> struct team_warps {
    static constexpr int SOME = pack<A>::size;
    int warps, first, mine;

    __device__ __forceinline__ explicit team_warps(int lanes)
        : warps(lanes / GROUP_WARP),
          first((int)threadIdx.x / lanes * (int)ceil_div(warps, SOME) * SOME),
          mine(first + (int)threadIdx.x % lanes / GROUP_WARP) {
    }
};

/* Of shared memory for sums: packs of warps' numbers are read whole, and teams fill not all of
 * them. Before the first sum, behind the first loads; all threads of the block must come here. */
template <typename A> static __device__ __forceinline__ void clear_room(A *room, int numbers) {
    for (int i = (int)threadIdx.x; i < numbers * TEAM_PLACES; i += (int)blockDim.x)
        room[i] = 0;
    __syncthreads();
}

/* The sums of N numbers over the lanes of each team; lane l of a warp gets number l % N. `room` is
 * shared memory for N numbers of TEAM_PLACES warps, which lanes may still read when the call has
 * ended: the next call must use another. All threads of the block must come here. */
template <int N, typename A>
static __device__ __forceinline__ A sum_team(A (&number)[N], const team_warps<A> &team, A *room) {
    constexpr int SOME = pack<A>::size;
    const int lane = (int)threadIdx.x % GROUP_WARP;
    const A of_warp = sum_warp(number);
    if (lane % (GROUP_WARP / N) == 0)
        room[lane / (GROUP_WARP / N) * TEAM_PLACES + team.mine] = of_warp;
    __syncthreads();
    const pack<A> *const from =
        reinterpret_cast<const pack<A> *>(room + lane % N * TEAM_PLACES + team.first);
    pack<A> some = load_kept(from);
    A sum = some.v[0];
    for (int k = 1; k < SOME; ++k)
        sum = k < team.warps ? sum + some.v[k] : sum;
#pragma unroll 1
    for (int i = SOME; i < team.warps; i += SOME) {
        some = load_kept(from + i / SOME);
        sum += some.v[0];
        for (int k = 1; k < SOME; ++k)
            sum = i + k < team.warps ? sum + some.v[k] : sum;
    }
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
