/*
 * Tile sizes of attention v3. A block keeps a tile of its own rows in shared memory and streams
 * tiles of the other sequence past it, two stages of two matrices. Three things bound the sizes:
 * a lane's 255 registers, of which a result of a warp's rows takes BANDS D / 2; the 227 KB of
 * shared memory; and that a streamed row, once read, should serve many of a warp's own rows.
 *
 * Where rows have up to 256 bytes, two blocks of 4 warps with two bands share a multiprocessor;
 * beyond that there is room for one block, of 8 warps with one band, and of 4 from 1024 bytes on.
 * dk and dv are two results: twice the registers, so that 128 columns are the most. Forward streams
 * 64 keys where o leaves registers for their scores: fewer barriers, and the queries, read again
 * for each tile, serve more keys at a time. Strict fp32 has its own sizes (v3_plan_fp32.h).
 */
#ifndef ASSAY_ATTENTION_V3_PLAN_H
#define ASSAY_ATTENTION_V3_PLAN_H

#include "kernels/attention/v3_core.h"

/* A block has WARPS warps of 16 BANDS rows each, and a warp meets STREAMED rows at a time. PARTS
 * blocks share the columns of a result where a lane cannot hold its part of all. SPLITS warps share
 * rows where there are few (v3_splits.h). */
template <int D_, int WARPS_, int BANDS_, int STREAMED_, int PARTS_ = 1, int BLOCKS_ = 1,
          int SPLITS_ = 1>
struct plan {
    static constexpr int D = D_, WARPS = WARPS_, BANDS = BANDS_, STREAMED = STREAMED_;
    static constexpr int PARTS = PARTS_, COLUMNS = D / PARTS; /* of a result */
    static constexpr int BLOCKS = BLOCKS_;                    /* that share a multiprocessor */
    static constexpr int SPLITS = SPLITS_;
    static constexpr int TILE = SPLITS * STREAMED; /* streamed at a time */
    static constexpr int THREADS = WARPS * WARP, WARP_ROWS = 16 * BANDS;
    static constexpr int ROWS = WARPS / SPLITS * WARP_ROWS;
};

template <typename Core, int D> struct plans {
    static constexpr int bytes = D * (int)sizeof(typename Core::storage); /* of a row */

    typedef std::conditional_t<
        bytes <= 256, plan<D, 4, 2, D <= 64 ? 64 : 32>,
        std::conditional_t<bytes <= 512, plan<D, 8, 1, 32>, plan<D, 4, 1, 32>>>
        forward;
    /* Backward, for dq. */
    typedef std::conditional_t<
        bytes <= 256, plan<D, 4, 2, 32>,
        std::conditional_t<bytes <= 512, plan<D, 8, 1, 32>, plan<D, 4, 1, 16>>>
        queries;
    /* Backward, for dk and dv. */
    typedef std::conditional_t<
        D <= 64, plan<D, 4, 2, 32>,
        std::conditional_t<bytes <= 512, plan<D, 8, 1, 32, D / 128>, plan<D, 4, 1, 16, 2>>>
        keys;
};

/* Where this warp's own rows begin in a tile of the block's. */
template <typename T, typename Plan> static __device__ __forceinline__ int warp_rows() {
    return warp() / Plan::SPLITS * Plan::WARP_ROWS * tile_stride<T, Plan::D>;
}

/* What a pass of backward computes the scores of: some heads, and of them some keys. */
struct share {
    int64_t head, heads, key, keys;
};

/* A block's own rows: a head, and the first row. Blocks that start together have the same tile of
 * all heads, and long walks come first: where queries see ever more keys, the last tile. */
struct place {
    int64_t head, row;
};

template <typename Plan>
static __device__ __forceinline__ place key_place(int64_t block, const share &part) {
    return {part.head + block % part.heads, part.key + block / part.heads * Plan::ROWS};
}

template <typename Plan>
static __device__ __forceinline__ place query_place(int64_t block, const sizes &n,
                                                    const share &part) {
    const int64_t tile = ceil_div(n.sq, Plan::ROWS) - 1 - block / part.heads;
    return {part.head + block % part.heads, tile * Plan::ROWS};
}

/* The keys before this one are seen by one of `count` queries from `first` on. */
static __device__ __forceinline__ int64_t keys_in_reach(const sizes &n, int64_t first, int count) {
    const int64_t end = clamp(first + count, 0, n.sq);
    return end > first ? visible_keys(n, end - 1) : 0;
}

/* Elements of a tile, whose keys begin at `key`, become `hidden` where the query does not see the
 * key; `query` is the warp's first one. */
template <typename Core, typename Scores>
static __device__ __forceinline__ void hide_keys(Scores &s, const sizes &n, int64_t query,
                                                 int64_t key, float hidden) {
    UNROLL
    for (int r = 0; r < Scores::HEIGHT; ++r) {
        const int seen = (int)clamp(visible_keys(n, query + Core::row(r)) - key, 0, INT32_MAX);
        UNROLL
        for (int c = 0; c < Scores::WIDTH; ++c)
            if (Core::score_column(c) >= seen)
                s.at(r, c) = hidden;
    }
}

/* The sum, the largest, of what COUNT lanes have that are APART. */
template <int COUNT, int APART = 1> static __device__ __forceinline__ float sum_over(float x) {
    UNROLL
    for (int distance = APART; distance < COUNT * APART; distance *= 2)
        x += __shfl_xor_sync(UINT32_MAX, x, distance);
    return x;
}
template <int COUNT, int APART> static __device__ __forceinline__ float largest_of(float x) {
    UNROLL
    for (int distance = APART; distance < COUNT * APART; distance *= 2)
        x = fmaxf(x, __shfl_xor_sync(UINT32_MAX, x, distance));
    return x;
}

/* Rows from `first` and columns from `column` on of x become finish(r, sum), rounded. */
template <typename Core, typename Sums, typename T, typename Finish>
static __device__ __forceinline__ void store(Sums &sums, const sequence<T> &x, int64_t first,
                                             int column, Finish finish) {
    UNROLL
    for (int r = 0; r < Sums::HEIGHT; ++r) {
        const int64_t row = first + Core::row(r);
        if (row >= x.length)
            continue;
        T *const to = x.data + row * x.stride + column;
        UNROLL
        for (int c = 0; c < Sums::WIDTH; ++c) {
            const int there = Core::template result_column<Sums::WIDTH>(c);
            if (column + there < x.d)
                to[there] = narrow<T>(finish(r, sums.at(r, c)));
        }
    }
}

#endif
