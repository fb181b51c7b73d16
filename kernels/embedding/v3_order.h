/*
 * The tokens of each row of the table, in ascending order: a stable counting sort of the tokens by
 * their ids, without atomics. order[start[r]], order[start[r] + 1] … before start[r + 1] are the
 * tokens of row r.
 *
 * Each block places the tokens of ORDER_ROWS rows, and reads all ids twice to do so: to count, and
 * to place. Each of its warps reads one part of the tokens, 32 at a time; where a warp's tokens of
 * a row go is where the parts before it leave off. Few ids are of the block's rows, so that most
 * steps are a comparison and a vote. Other blocks of the launch may write zeros meanwhile.
 */
#ifndef ASSAY_EMBEDDING_V3_ORDER_H
#define ASSAY_EMBEDDING_V3_ORDER_H

#include "kernels/common/pack.h"
#include "kernels/embedding/table.h"

enum { WARP = 32, ORDER_THREADS = 1024, ORDER_WARPS = ORDER_THREADS / WARP, ORDER_ROWS = 256 };

/* The most tokens of a row that one warp, or one lane of a block, adds by itself. */
enum { SHORT = 32 };

static constexpr unsigned ALL_LANES = 0xffffffffu;

/* In the workspace: t tokens, and where each of the v rows begins and the last one ends. */
struct sorted {
    int32_t *order, *start;
};

static inline sorted sorted_at(void *workspace, const sizes &s) {
    int32_t *order = static_cast<int32_t *>(workspace);
    return {order, order + s.t};
}

static inline size_t sorted_bytes(const sizes &s) {
    return (size_t)(s.t + s.v + 1) * sizeof(int32_t);
}

/* use(token, id) for the warp's part of the tokens, by all lanes together. A lane behind the end
 * has id -1. Eight loads are under way at once. */
template <typename F>
static __device__ __forceinline__ void each_token(const int32_t *ids, int64_t t, F use) {
    constexpr int BATCH = 8;
    const int64_t warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const int64_t part = ceil_div(ceil_div(t, ORDER_WARPS), WARP) * WARP;
    const int64_t end = clamp(t, 0, (warp + 1) * part);
    for (int64_t first = warp * part; first < end; first += BATCH * WARP) {
        int32_t id[BATCH];
#pragma unroll
        for (int b = 0; b < BATCH; ++b) {
            const int64_t i = first + b * WARP + lane;
            id[b] = i < end ? ids[i] : -1;
        }
#pragma unroll
        for (int b = 0; b < BATCH; ++b)
            use(first + b * WARP + lane, id[b]);
    }
}

/* The lanes whose tokens have this one's row, of the block's; none for a token of other rows. */
struct peers {
    unsigned lanes;
    int row;

    __device__ __forceinline__ bool lead() const {
        return lanes != 0 && __ffs((int)lanes) - 1 == (int)(threadIdx.x % WARP);
    }
    /* How many of them come before this lane. */
    __device__ __forceinline__ int rank() const {
        return __popc(lanes & ((1u << threadIdx.x % WARP) - 1));
    }
};

static __device__ __forceinline__ peers peers_of(int64_t first_row, int32_t id) {
    const int64_t row = id - first_row;
    const bool hit = id >= 0 && row >= 0 && row < ORDER_ROWS;
    if (__ballot_sync(ALL_LANES, hit) == 0)
        return {0, 0};
    const unsigned lanes = __match_any_sync(ALL_LANES, hit ? (int)row : -1);
    return {hit ? lanes : 0, hit ? (int)row : 0};
}

/* What one block knows. */
struct order_room {
    int32_t place[ORDER_WARPS][ORDER_ROWS]; /* counts, then where the warp's next token goes */
    int32_t before[ORDER_WARPS];            /* tokens of rows before the block's */
    int32_t rows[ORDER_ROWS / WARP];        /* tokens of each 32 rows */
};

/* Counts the warp's tokens by row. */
static __device__ __forceinline__ void count_tokens(const int32_t *ids, int64_t t,
                                                    int64_t first_row, order_room &room) {
    const int warp = (int)threadIdx.x / WARP;
    unsigned before = 0;
    each_token(ids, t, [&](int64_t, int32_t id) {
        const peers p = peers_of(first_row, id);
        before += id >= 0 && id < first_row;
        if (p.lead())
            room.place[warp][p.row] += __popc(p.lanes);
        __syncwarp();
    });
    before = __reduce_add_sync(ALL_LANES, before);
    if (threadIdx.x % WARP == 0)
        room.before[warp] = (int32_t)before;
}

/* Turns counts into places; where this thread's row begins. All threads come here; those behind
 * ORDER_ROWS have no row. */
static __device__ __forceinline__ int32_t begin_rows(order_room &room) {
    const int row = (int)threadIdx.x, lane = row % WARP, warp = row / WARP;
    int32_t total = 0, begin = 0;
    for (int w = 0; row < ORDER_ROWS && w < ORDER_WARPS; ++w)
        total += room.place[w][row];
    int32_t up_to = total; /* of these 32 rows */
    for (int distance = 1; distance < WARP; distance *= 2) {
        const int32_t other = __shfl_up_sync(ALL_LANES, up_to, (unsigned)distance);
        up_to += lane >= distance ? other : 0;
    }
    if (row < ORDER_ROWS && lane == WARP - 1)
        room.rows[warp] = up_to;
    __syncthreads();
    if (row >= ORDER_ROWS)
        return 0;
    begin = up_to - total;
    for (int w = 0; w < ORDER_WARPS; ++w)
        begin += room.before[w];
    for (int w = 0; w < warp; ++w)
        begin += room.rows[w];
    int32_t next = begin;
    for (int w = 0; w < ORDER_WARPS; ++w) {
        const int32_t count = room.place[w][row];
        room.place[w][row] = next;
        next += count;
    }
    return begin;
}

/* Puts each of the warp's tokens where it goes. */
static __device__ __forceinline__ void
place_tokens(const int32_t *ids, int64_t t, int64_t first_row, order_room &room, int32_t *order) {
    const int warp = (int)threadIdx.x / WARP;
    each_token(ids, t, [&](int64_t token, int32_t id) {
        const peers p = peers_of(first_row, id);
        if (p.lanes != 0)
            order[room.place[warp][p.row] + p.rank()] = (int32_t)token;
        __syncwarp();
        if (p.lead())
            room.place[warp][p.row] += __popc(p.lanes);
        __syncwarp();
    });
}

/* No template: gcc keeps a template's variables out of the section in which the simulated device
 * watches shared memory. */
static __device__ __forceinline__ void order_rows(const int32_t *ids, const sizes &s,
                                                  const sorted &to) {
    __shared__ order_room room;
    const int64_t first = (int64_t)blockIdx.x * ORDER_ROWS, row = first + threadIdx.x;
    for (int i = (int)threadIdx.x; i < ORDER_WARPS * ORDER_ROWS; i += ORDER_THREADS)
        room.place[i / ORDER_ROWS][i % ORDER_ROWS] = 0;
    __syncthreads();
    count_tokens(ids, s.t, first, room);
    __syncthreads();
    const int32_t begin = begin_rows(room);
    if (threadIdx.x < ORDER_ROWS && row < s.v)
        to.start[row] = begin;
    if (row == 0)
        to.start[s.v] = (int32_t)s.t;
    __syncthreads();
    place_tokens(ids, s.t, first, room, to.order);
}

/* Zeros for rows, one each warp. */
template <typename T>
static __device__ __forceinline__ void clear_rows(int64_t block, const rows<T> &dtable,
                                                  const sizes &s, bool packs) {
    const int64_t row = block * ORDER_WARPS + threadIdx.x / WARP;
    if (row < s.v)
        for (int64_t j = threadIdx.x % WARP * pack<T>::size; j < s.d; j += WARP * pack<T>::size)
            store_pack(dtable.data + row * dtable.stride + j, pack_of(narrow<T>(0)), s.d - j,
                       packs);
}

/* Blocks behind those that sort clear rows, if there are any: memory writes while ids are read. */
template <typename T>
static __global__ void __launch_bounds__(ORDER_THREADS)
    order_tokens(const int32_t *ids, sizes s, sorted to, rows<T> dtable, bool packs) {
    const int64_t sorting = ceil_div(s.v, ORDER_ROWS);
    if (blockIdx.x < sorting)
        order_rows(ids, s, to);
    else
        clear_rows(blockIdx.x - sorting, dtable, s, packs);
}

template <typename T>
static assay_status launch_order(void *stream, const int32_t *ids, const sizes &s, const sorted &to,
                                 const rows<T> &dtable, bool clears, bool packs) {
    const int64_t clearing = clears ? ceil_div(s.v, ORDER_WARPS) : 0;
    return ASSAY_LAUNCH(stream, whole_grid(ceil_div(s.v, ORDER_ROWS) + clearing),
                        dim3(ORDER_THREADS), 0, (order_tokens<T>), ids, s, to, dtable, packs);
}

#endif
