/*
 * Backward of attention v3. P and dS are made again from q, k, v, do, lse and Δ, tile by tile. A
 * block of gradients_of_queries has a tile of queries and sums dq along the keys that they see; a
 * block of gradients_of_keys has a tile of keys and sums dk and dv along the queries that see them.
 * The latter makes its scores transposed, so that there, too, P and dS are left operands. Every sum
 * has one order and one owner, at the price of making P and dS twice, or of keeping dS
 * (v3_slopes.h).
 */
#ifndef ASSAY_ATTENTION_V3_BACKWARD_H
#define ASSAY_ATTENTION_V3_BACKWARD_H

#include "kernels/attention/v3_slopes.h"

template <typename T> struct backward_problem {
    sizes n;
    sequence<const T> q, k, v, o, dout;
    rows<const float> lse;
    rows<float2> terms; /* of each query of each head: lse and Δ */
    sequence<T> dq, dk, dv;
    share part;  /* whose scores this launch makes */
    slopes kept; /* where the core keeps them */
};

static constexpr int TERMS_WARPS = 8;

/* Each warp a query. For lse = -Inf stands +Inf: P becomes 0. */
template <typename T>
static __global__ void __launch_bounds__(TERMS_WARPS *WARP) make_terms(backward_problem<T> p) {
    const int64_t step = (int64_t)gridDim.x * TERMS_WARPS, queries = p.n.heads * p.n.sq;
    for (int64_t i = (int64_t)blockIdx.x * TERMS_WARPS + warp(); i < queries; i += step) {
        const T *o = p.o.data + i * p.o.stride, *dout = p.dout.data + i * p.dout.stride;
        float delta = 0;
        for (int c = lane(); c < p.o.d; c += WARP)
            delta = fma_(widen(dout[c]), widen(o[c]), delta);
        delta = sum_over<WARP>(delta);
        const float lse = row(p.lse, i / p.n.sq)[i % p.n.sq];
        if (lane() == 0)
            row(p.terms, i / p.n.sq)[i % p.n.sq] = {lse == NO_SCORE ? -NO_SCORE : lse, delta};
    }
}

/* Starts to fetch the terms of COUNT queries of a head. */
template <int COUNT, typename T>
static __device__ __forceinline__ void fetch_terms(const backward_problem<T> &p, int64_t head,
                                                   int64_t query, float2 *to) {
    const int i = (int)threadIdx.x;
    if (i >= COUNT)
        return;
    const bool there = query + i < p.n.sq;
    cp_async_8(to + i, row(p.terms, head) + (there ? query + i : 0), there ? 8 : 0);
}

/* P of a product q·k. The score is rounded as it was in lse before they are subtracted: of a score
 * that is all of its row's sum nothing is left, and P is 1 exactly. In one fma the rounding of lse
 * would be left, which from scores of 10^7 on is as large as 1. */
static __device__ __forceinline__ float weight(float product, float scale, float lse) {
    return exp_nonpositive(product * scale - lse);
}

/* Turns a product q·k into P, and do·v into dS. */
static __device__ __forceinline__ void make_p_and_ds(float &score, float &slope, float scale,
                                                     float2 terms) {
    score = weight(score, scale, terms.x);
    slope = score * (slope - terms.y);
}

/* Elements of shared memory: two tiles of own rows, two stages of two streamed tiles, the warps'
 * scratch, two stages of terms. */
template <typename Core, typename Plan> static constexpr int backward_shared() {
    typedef typename Core::storage T;
    return splits_shared<Plan>((2 * Plan::ROWS + 4 * Plan::TILE) * tile_stride<T, Plan::D> +
                               Plan::WARPS * Core::template scratch<Plan::BANDS, Plan::STREAMED> +
                               2 * Plan::TILE * (int)(sizeof(float2) / sizeof(T)));
}

/* A block's dq, of the tile of queries from `at` on. */
template <typename Core, typename Plan>
static __device__ __forceinline__ void add_keys(const backward_problem<typename Core::storage> &p,
                                                const place &at) {
    typedef typename Core::storage T;
    typedef typename Core::template sums<Plan::BANDS, Plan::STREAMED> scores;
    constexpr int D = Plan::D, STREAMED = Plan::STREAMED, THREADS = Plan::THREADS;
    constexpr int OWN = Plan::ROWS * tile_stride<T, D>, STAGE = STREAMED * tile_stride<T, D>;
    ASSAY_DYNAMIC_SHARED(T, queries);
    T *const cotangents = queries + OWN, *const keys = cotangents + OWN;
    T *const values = keys + 2 * STAGE;
    T *const scratch = values + 2 * STAGE + warp() * Core::template scratch<Plan::BANDS, STREAMED>;

    const sequence<const T> k = head_of(p.k, at.head), v = head_of(p.v, at.head);
    const int64_t first = at.row + warp() * Plan::WARP_ROWS;
    const int64_t reach = keys_in_reach(p.n, first, Plan::WARP_ROWS);
    const int64_t tiles = ceil_div(keys_in_reach(p.n, at.row, Plan::ROWS), STREAMED);

    typename Core::template sums<Plan::BANDS, D> dq;
    float2 terms[dq.HEIGHT];
    UNROLL
    for (int r = 0; r < dq.HEIGHT; ++r) {
        const int64_t query = first + Core::row(r);
        terms[r] = query < p.n.sq ? row(p.terms, at.head)[query] : float2{0, 0};
    }
    fetch<Plan::ROWS, D, THREADS>(head_of(p.q, at.head), at.row, queries);
    fetch<Plan::ROWS, D, THREADS>(head_of(p.dout, at.head), at.row, cotangents);
    const auto start = [&](int64_t t, int stage) {
        fetch<STREAMED, D, THREADS>(k, t * STREAMED, keys + stage * STAGE);
        fetch<STREAMED, D, THREADS>(v, t * STREAMED, values + stage * STAGE);
    };
    through_tiles(0, tiles, start, [&](int64_t t, int stage) {
        const int64_t key = t * STREAMED;
        if (key >= reach)
            return;
        scores s, ds;
        Core::template add_scores<D>(s, queries + warp_rows<T, Plan>(), keys + stage * STAGE);
        Core::template add_scores<D>(ds, cotangents + warp_rows<T, Plan>(), values + stage * STAGE);
        UNROLL
        for (int r = 0; r < s.HEIGHT; ++r) {
            UNROLL
            for (int c = 0; c < s.WIDTH; ++c)
                make_p_and_ds(s.at(r, c), ds.at(r, c), p.n.scale, terms[r]);
        }
        if (key + STREAMED > visible_keys(p.n, first))
            hide_keys<Core>(ds, p.n, first, key, 0);
        Core::template add_results<D>(dq, ds, keys + stage * STAGE, scratch);
    });
    store<Core>(dq, head_of(p.dq, at.head), first, 0,
                [&](int, float sum) { return sum * p.n.scale; });
}

template <typename Core, typename Plan>
static __global__ void __launch_bounds__(Plan::THREADS, Plan::BLOCKS)
    gradients_of_queries(backward_problem<typename Core::storage> p) {
    add_keys<Core, Plan>(p, query_place<Plan>(blockIdx.x, p.n, p.part));
}

/* Hides P or dS of a tile, whose queries begin at `query`, where they do not see this lane's keys;
 * `key` is the warp's first one. */
template <typename Core, typename Scores>
static __device__ __forceinline__ void hide_queries(Scores &s, const sizes &n, int64_t key,
                                                    int64_t query) {
    const int left = (int)clamp(n.sq - query, 0, INT32_MAX);
    UNROLL
    for (int r = 0; r < Scores::HEIGHT; ++r) {
        const int unseen = (int)clamp(first_query(n, key + Core::row(r)) - query, 0, INT32_MAX);
        UNROLL
        for (int c = 0; c < Scores::WIDTH; ++c)
            if (Core::score_column(c) < unseen || Core::score_column(c) >= left)
                s.at(r, c) = 0;
    }
}

/* A block's dk and dv, of the tile of keys from `at` on, its columns from `column` on. */
template <typename Core, typename Plan>
static __device__ __forceinline__ void
add_queries(const backward_problem<typename Core::storage> &p, const place &at, int column) {
    typedef typename Core::storage T;
    typedef typename Core::template sums<Plan::BANDS, Plan::STREAMED> scores;
    constexpr int D = Plan::D, STREAMED = Plan::STREAMED, THREADS = Plan::THREADS;
    constexpr int OWN = Plan::ROWS * tile_stride<T, D>, STAGE = Plan::TILE * tile_stride<T, D>;
    constexpr int SCRATCH = Core::template scratch<Plan::BANDS, STREAMED>;
    ASSAY_DYNAMIC_SHARED(T, keys);
    T *const values = keys + OWN, *const queries = values + OWN;
    T *const cotangents = queries + 2 * STAGE, *const scratches = cotangents + 2 * STAGE;
    T *const scratch = scratches + warp() * SCRATCH;
    float2 *const terms = reinterpret_cast<float2 *>(scratches + Plan::WARPS * SCRATCH);

    const sequence<const T> q = head_of(p.q, at.head), dout = head_of(p.dout, at.head);
    const int64_t first = at.row + warp() / Plan::SPLITS * Plan::WARP_ROWS;
    const int64_t begin = first_query(p.n, at.row) / Plan::TILE;
    const int64_t end = ceil_div(p.n.sq, Plan::TILE);

    typename Core::template sums<Plan::BANDS, Plan::COLUMNS> dk, dv;
    fetch<Plan::ROWS, D, THREADS>(head_of(p.k, at.head), at.row, keys);
    fetch<Plan::ROWS, D, THREADS>(head_of(p.v, at.head), at.row, values);
    const auto start = [&](int64_t t, int stage) {
        fetch<Plan::TILE, D, THREADS>(q, t * Plan::TILE, queries + stage * STAGE);
        fetch<Plan::TILE, D, THREADS>(dout, t * Plan::TILE, cotangents + stage * STAGE);
        fetch_terms<Plan::TILE>(p, at.head, t * Plan::TILE, terms + stage * Plan::TILE);
    };
    const int mine = split<Plan>() * STREAMED * tile_stride<T, D>;
    through_tiles(begin, end, start, [&](int64_t t, int stage) {
        const int64_t query = t * Plan::TILE + split<Plan>() * STREAMED;
        if (first >= p.n.sk || query >= p.n.sq || query + STREAMED <= first_query(p.n, first))
            return;
        const T *const q_rows = queries + stage * STAGE + mine;
        const T *const dout_rows = cotangents + stage * STAGE + mine;
        const float2 *const of_tile = terms + stage * Plan::TILE + split<Plan>() * STREAMED;
        const bool hides =
            query + STREAMED > p.n.sq || query < first_query(p.n, first + Plan::WARP_ROWS - 1);
        scores s, ds;
        Core::template add_scores<D>(s, keys + warp_rows<T, Plan>(), q_rows);
        UNROLL
        for (int c = 0; c < s.WIDTH; ++c) {
            const float lse = of_tile[Core::score_column(c)].x;
            UNROLL
            for (int r = 0; r < s.HEIGHT; ++r)
                s.at(r, c) = weight(s.at(r, c), p.n.scale, lse);
        }
        if (hides)
            hide_queries<Core>(s, p.n, first, query);
        Core::template add_results<D>(dv, s, dout_rows + column, scratch);

        Core::template add_scores<D>(ds, values + warp_rows<T, Plan>(), dout_rows);
        Core::recall(s, scratch);
        UNROLL
        for (int c = 0; c < s.WIDTH; ++c) {
            const float delta = of_tile[Core::score_column(c)].y;
            UNROLL
            for (int r = 0; r < s.HEIGHT; ++r)
                ds.at(r, c) = s.at(r, c) * (ds.at(r, c) - delta);
        }
        if (hides)
            hide_queries<Core>(ds, p.n, first, query);
        if constexpr (Core::KEEPS_SLOPES)
            if (column == 0)
                keep<Core>(ds, p.kept, p.part, at.head, first, query);
        Core::template add_results<D>(dk, ds, q_rows + column, scratch);
    });
    if constexpr (Plan::SPLITS > 1) {
        add_splits<Plan>(dv, keys);
        add_splits<Plan>(dk, keys);
        if (split<Plan>() > 0)
            return;
    }
    store<Core>(dv, head_of(p.dv, at.head), first, column, [](int, float sum) { return sum; });
    store<Core>(dk, head_of(p.dk, at.head), first, column,
                [&](int, float sum) { return sum * p.n.scale; });
}

/* Blocks with the parts of one tile's columns are neighbours. */
template <typename Core, typename Plan>
static __global__ void __launch_bounds__(Plan::THREADS, Plan::BLOCKS)
    gradients_of_keys(backward_problem<typename Core::storage> p) {
    add_queries<Core, Plan>(p, key_place<Plan>(blockIdx.x / Plan::PARTS, p.part),
                            (int)(blockIdx.x % Plan::PARTS) * Plan::COLUMNS);
}

#endif
