/* Forward of attention v3: a block has a tile of queries and walks along the keys that they see. */
#ifndef ASSAY_ATTENTION_V3_FORWARD_H
#define ASSAY_ATTENTION_V3_FORWARD_H

#include "kernels/attention/v3_splits.h"

template <typename T> struct forward_problem {
    sizes n;
    exponent to_log2; /* of differences of products q·k */
    sequence<const T> q, k, v;
    sequence<T> o;
    rows<float> lse;
};

/*
 * A row's state: its largest product q·k so far, and this lane's part of the sum of
 * exp(score - largest). This turns the row's next products into P relative to the largest one, and
 * returns what earlier sums of P are to be multiplied by. The largest is subtracted before anything
 * is rounded, so that P <= 1 and its own P is 1 exactly, however large scores are. A row of nothing
 * but -Inf stays at P = 0. fmaxf leaves a NaN out, the sum does not; below a largest score of Inf,
 * Inf - Inf is NaN.
 */
template <typename Core, typename Scores>
static __device__ __forceinline__ float add_to_row(Scores &s, int r, exponent to_log2,
                                                   float &largest, float &sum) {
    float top = s.at(r, 0);
    UNROLL
    for (int c = 1; c < Scores::WIDTH; ++c)
        top = fmaxf(top, s.at(r, c));
    top = fmaxf(largest, largest_of<Core::MATES, Core::APART>(top));
    const float base = exp_base(top);
    const float shrink = exp2_of(largest - base, to_log2);
    float added = 0;
    UNROLL
    for (int c = 0; c < Scores::WIDTH; ++c) {
        s.at(r, c) = exp2_of(s.at(r, c) - base, to_log2);
        added += s.at(r, c);
    }
    largest = top;
    sum = fma_(sum, shrink, added);
    return shrink;
}

template <typename Sums>
static __device__ __forceinline__ void multiply_rows(Sums &sums, const float factor[]) {
    UNROLL
    for (int r = 0; r < Sums::HEIGHT; ++r) {
        UNROLL
        for (int c = 0; c < Sums::WIDTH; ++c)
            sums.at(r, c) *= factor[r];
    }
}

/* Elements of shared memory: the queries' tile, one or two stages of keys and values, the warps'
 * scratch. */
template <typename Core, typename Plan> static constexpr int forward_shared() {
    constexpr int STAGES = Core::ALTERNATES ? 1 : 2;
    return splits_shared<Plan>((Plan::ROWS + 2 * STAGES * Plan::TILE) *
                                   tile_stride<typename Core::storage, Plan::D> +
                               Plan::WARPS * Core::template scratch<Plan::BANDS, Plan::STREAMED>);
}

/* A block's rows of o and lse, of the tile of queries `at`. */
template <typename Core, typename Plan>
static __device__ __forceinline__ void attend_tile(const forward_problem<typename Core::storage> &p,
                                                   const place &at) {
    typedef typename Core::storage T;
    typedef typename Core::template sums<Plan::BANDS, Plan::STREAMED> scores;
    constexpr int D = Plan::D, STREAMED = Plan::STREAMED, THREADS = Plan::THREADS;
    constexpr int OWN = Plan::ROWS * tile_stride<T, D>, STAGE = Plan::TILE * tile_stride<T, D>;
    ASSAY_DYNAMIC_SHARED(T, queries);
    constexpr int STAGES = Core::ALTERNATES ? 1 : 2;
    T *const keys = queries + OWN, *const values = keys + STAGES * STAGE;
    T *const scratch =
        values + STAGES * STAGE + warp() * Core::template scratch<Plan::BANDS, STREAMED>;

    const sequence<const T> k = head_of(p.k, at.head), v = head_of(p.v, at.head);
    const int64_t first = at.row + warp() / Plan::SPLITS * Plan::WARP_ROWS;
    const int64_t reach = keys_in_reach(p.n, first, Plan::WARP_ROWS);
    const int64_t tiles = ceil_div(keys_in_reach(p.n, at.row, Plan::ROWS), Plan::TILE);

    typename Core::template sums<Plan::BANDS, D> o;
    float largest[o.HEIGHT], sum[o.HEIGHT];
    UNROLL
    for (int r = 0; r < o.HEIGHT; ++r) {
        largest[r] = NO_SCORE;
        sum[r] = 0;
    }
    fetch<Plan::ROWS, D, THREADS>(head_of(p.q, at.head), at.row, queries);
    const auto start_keys = [&](int64_t t, int stage) {
        fetch<Plan::TILE, D, THREADS>(k, t * Plan::TILE, keys + stage * STAGE);
    };
    const auto start_values = [&](int64_t t, int stage) {
        fetch<Plan::TILE, D, THREADS>(v, t * Plan::TILE, values + stage * STAGE);
    };
    const int mine = split<Plan>() * STREAMED * tile_stride<T, D>;
    scores s;
    const auto make_p = [&](int64_t t, int stage) {
        const int64_t key = t * Plan::TILE + split<Plan>() * STREAMED;
        if (key >= reach)
            return;
        s = scores();
        Core::template add_scores<D>(s, queries + warp_rows<T, Plan>(),
                                     keys + stage * STAGE + mine);
        if (key + STREAMED > visible_keys(p.n, first))
            hide_keys<Core>(s, p.n, first, key, NO_SCORE);
        float shrink[o.HEIGHT];
        bool grown = false;
        UNROLL
        for (int r = 0; r < o.HEIGHT; ++r) {
            shrink[r] = add_to_row<Core>(s, r, p.to_log2, largest[r], sum[r]);
            grown = grown || shrink[r] != 1;
        }
        if (__any_sync(UINT32_MAX, grown)) /* ever more rarely along a walk */
            multiply_rows(o, shrink);
    };
    const auto add_values = [&](int64_t t, int stage) {
        if (t * Plan::TILE + split<Plan>() * STREAMED < reach)
            Core::template add_results<D>(o, s, values + stage * STAGE + mine, scratch);
    };
    if constexpr (Core::ALTERNATES) {
        through_pairs(
            tiles, [&](int64_t t) { start_keys(t, 0); }, [&](int64_t t) { make_p(t, 0); },
            [&](int64_t t) { start_values(t, 0); }, [&](int64_t t) { add_values(t, 0); });
    } else {
        const auto start = [&](int64_t t, int stage) {
            start_keys(t, stage);
            start_values(t, stage);
        };
        through_tiles(0, tiles, start, [&](int64_t t, int stage) {
            make_p(t, stage);
            add_values(t, stage);
        });
    }

    UNROLL
    for (int r = 0; r < o.HEIGHT; ++r)
        sum[r] = sum_over<Core::MATES, Core::APART>(sum[r]);
    if constexpr (Plan::SPLITS > 1) {
        merge_rows<Plan>(o, p.to_log2, largest, sum, queries);
        add_splits<Plan>(o, queries);
        if (split<Plan>() > 0)
            return;
    }
    float inverse[o.HEIGHT];
    UNROLL
    for (int r = 0; r < o.HEIGHT; ++r) {
        inverse[r] = 1 / sum[r];
        const int64_t query = first + Core::row(r);
        if (query < p.n.sq && Core::mate() == 0)
            row(p.lse, at.head)[query] =
                sum[r] == 0 ? NO_SCORE : largest[r] * p.n.scale + log_(sum[r]);
    }
    store<Core>(o, head_of(p.o, at.head), first, 0,
                [&](int r, float value) { return sum[r] == 0 ? 0 : value * inverse[r]; });
}

template <typename Core, typename Plan>
static __global__ void __launch_bounds__(Plan::THREADS, Plan::BLOCKS)
    forward_tiles(forward_problem<typename Core::storage> p) {
    attend_tile<Core, Plan>(p, query_place<Plan>(blockIdx.x, p.n, {0, p.n.heads, 0, p.n.sk}));
}

#endif
