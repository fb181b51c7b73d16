/*
 * Backward of attention v3 in strict fp32 where keys are few: a block makes P and dS of some pairs
 * of a tile of keys and a tile of queries, and all five products of a pair while the four tiles
 * are in shared memory. So there are as many blocks as pairs, not as tiles of keys, and no score is
 * in memory. What a block has of dk and dv, and of dq of each pair, goes to the workspace as a
 * part; a second kernel adds up the parts of each gradient, in the order of their tiles.
 *
 * Four warps make P and dv, four dS and dk, and all of them dq. P and dS, transposed, go through
 * shared memory: in tiles of 64 rows a lane has 8 x 4 scores, and, where d is 128, 8 x 8 elements
 * of dk or dv, and 8 x 4 of dq.
 *
 * Flops: 10 sq sk d a head. Bytes: k and v once for each walk, q, do and o once for each tile of
 * keys, mostly from L2; a part of dq has 4 d bytes a query for each tile of keys, parts of dk and
 * dv 4 d bytes a key for each walk, written and read once.
 *
 * H200, b = 8, h = 1, no mask, cold, in microseconds, d = 64 / 128:
 *
 *                                                     s = 128       s = 256       s = 512
 *     tiles of keys, dS kept (v3_slopes.h)            27.7 / 41.9   39.0 / 63.4   84.7 / 162
 *     pairs of 64 rows, each load of o and do
 *         behind a branch of its own                  30.1 / 48.4   30.8 / 52.1   84.1 / 151
 *     loads that wait together                        21.8 / 33.5   24.7 / 39.6   60.0 / 103
 *     pairs of 32 rows                                     / 20.6        / 42.9        / 135
 *     pairs of 64 rows, 16 warps                           / 36.5        / 43.5        / 110
 *     operands loaded four ahead, 64 rows             21.7 / 34.0   24.1 / 40.5   59.1 / 104
 *         32 rows                                     14.3 / 19.8   27.5 / 41.8   77.8 / 132
 */
#ifndef ASSAY_ATTENTION_V3_PAIRS_H
#define ASSAY_ATTENTION_V3_PAIRS_H

#include "kernels/attention/v3_backward.h"

template <int D_, int ROWS_> struct pair_plan {
    static constexpr int D = D_, ROWS = ROWS_; /* of a tile of keys, and of one of queries */
    static constexpr int WARPS = 8, THREADS = WARPS * WARP;
    static constexpr int BLOCKS = ROWS < 64 ? 2 : 1; /* that share a multiprocessor */
    static constexpr int HALF = ROWS / 2,
                         BANDS = HALF / 16; /* a warp's rows of a score or result */
    static constexpr int TILE = ROWS * tile_stride<float, D>;
    static constexpr int LINE = ROWS + fma_core::PADDING, SCORES = ROWS * LINE;
    static constexpr int SHARED = 4 * TILE + 2 * SCORES + 2 * ROWS; /* numbers */
    static constexpr int PART = ROWS * D;                           /* of a gradient's part */
    static constexpr int PACKS = D / 4, SUM_ROWS = THREADS / PACKS, PIECES = ROWS / SUM_ROWS;
};

/* The tiles, and the parts of their gradients. A block has up to `length` tiles of queries, one
 * behind the other, of the `walks` that meet a tile of keys. */
struct pair_space {
    int64_t key_tiles, query_tiles, length, walks;
    float *dq, *dk, *dv;
};

/* The first tile of queries that meets this tile of keys. */
template <typename Plan>
static __host__ __device__ __forceinline__ int64_t first_tile(const sizes &n, int64_t key_tile) {
    return first_query(n, key_tile * Plan::ROWS) / Plan::ROWS;
}

/* o += a b: lines of a in a tile of scores, as many rows of b, of a tile of queries. */
template <typename Plan, int BANDS, int N>
static __device__ __forceinline__ void add_pair_results(fma_core::sums<BANDS, N> &o, const float *a,
                                                        const float *b) {
    typedef fma_core::sums<BANDS, N> S;
    constexpr int STRIDE = tile_stride<float, Plan::D>, LINE = Plan::LINE;
    constexpr int VECTOR = fma_core::side_by_side<S::WIDTH>;
    a += fma_core::row(0) * LINE;
    b += fma_core::result_column<S::WIDTH>(0);
    UNROLL_BY(1)
    for (int k = 0; k < Plan::ROWS; k += 4) {
        float x[S::HEIGHT][4];
        UNROLL
        for (int r = 0; r < S::HEIGHT; ++r)
            fma_core::load(x[r], a + r * fma_core::DOWN * LINE + k);
        UNROLL
        for (int e = 0; e < 4; ++e) {
            UNROLL
            for (int c = 0; c < S::WIDTH; c += VECTOR) {
                float y[VECTOR];
                fma_core::load(y, b + (k + e) * STRIDE + c * fma_core::MATES);
                UNROLL
                for (int v = 0; v < VECTOR; ++v) {
                    UNROLL
                    for (int r = 0; r < S::HEIGHT; ++r)
                        o.value[r][c + v] = fma_(x[r][e], y[v], o.value[r][c + v]);
                }
            }
        }
    }
}

/* A warp's P or dS, to and from a tile of scores. */
template <typename Plan, typename Scores>
static __device__ __forceinline__ void put_scores(float *to, Scores &s) {
    UNROLL
    for (int r = 0; r < Scores::HEIGHT; ++r) {
        UNROLL
        for (int c = 0; c < Scores::WIDTH; ++c)
            to[fma_core::row(r) * Plan::LINE + fma_core::score_column(c)] = s.at(r, c);
    }
}
template <typename Plan, typename Scores>
static __device__ __forceinline__ void get_scores(Scores &s, const float *from) {
    UNROLL
    for (int r = 0; r < Scores::HEIGHT; ++r) {
        UNROLL
        for (int c = 0; c < Scores::WIDTH; ++c)
            s.at(r, c) = from[fma_core::row(r) * Plan::LINE + fma_core::score_column(c)];
    }
}

/* A lane's part of dq of a pair: rows four by four, one of every four of a warp's, and columns side
 * by side. */
template <typename Plan> struct pair_queries {
    static constexpr int HEIGHT = Plan::HALF / fma_core::DOWN, COLUMNS = Plan::D / 4;
    static constexpr int WIDTH = COLUMNS / fma_core::MATES;
    float value[HEIGHT][WIDTH] = {};

    static __device__ __forceinline__ int row(int r) {
        return (r / 4 * fma_core::DOWN + fma_core::row(0)) * 4 + r % 4;
    }
    static __device__ __forceinline__ int column() {
        return fma_core::mate() * WIDTH;
    }

    /* Adds dS k; ds is transposed. */
    __device__ __forceinline__ void add(const float *ds, const float *keys) {
        ds += row(0);
        keys += column();
        UNROLL_BY(4)
        for (int k = 0; k < Plan::ROWS; ++k) {
            float x[HEIGHT / 4][4], y[WIDTH];
            UNROLL
            for (int r = 0; r < HEIGHT / 4; ++r)
                fma_core::load(x[r], ds + k * Plan::LINE + r * 4 * fma_core::DOWN);
            fma_core::load(y, keys + k * tile_stride<float, Plan::D>);
            UNROLL
            for (int r = 0; r < HEIGHT; ++r) {
                UNROLL
                for (int c = 0; c < WIDTH; ++c)
                    value[r][c] = fma_(x[r / 4][r % 4], y[c], value[r][c]);
            }
        }
    }
};

static __device__ __forceinline__ void put_vector(float *to, const float (&from)[4]) {
    *reinterpret_cast<float4 *>(to) = {from[0], from[1], from[2], from[3]};
}
static __device__ __forceinline__ void put_vector(float *to, const float (&from)[2]) {
    *reinterpret_cast<float2 *>(to) = {from[0], from[1]};
}

/* lse and Δ of a tile's queries, as make_terms has them; a query that is not there has no weight.
 */
template <typename Plan>
static __device__ __forceinline__ void make_pair_terms(const backward_problem<float> &p,
                                                       int64_t head, int64_t query, float2 *terms) {
    constexpr int EACH = Plan::ROWS / Plan::WARPS; /* a warp's */
    const int64_t first = query + warp() * EACH;
    const int64_t mine = first + lane() % EACH;
    const float base = row(p.lse, head)[clamp(mine, 0, p.n.sq - 1)];
    float delta[EACH], my_delta = 0;
    UNROLL
    for (int i = 0; i < EACH; ++i) {
        const int64_t at = head * p.n.sq + clamp(first + i, 0, p.n.sq - 1);
        const float *const o = p.o.data + at * p.o.stride;
        const float *const dout = p.dout.data + at * p.dout.stride;
        delta[i] = 0;
        UNROLL
        for (int c = 0; c < Plan::D; c += WARP) {
            /* Loads without a branch around them wait together. */
            const int column = c + lane(), there = column < p.o.d ? column : 0;
            const float product = fma_(dout[there], o[there], delta[i]);
            delta[i] = column < p.o.d ? product : delta[i];
        }
    }
    UNROLL
    for (int i = 0; i < EACH; ++i) {
        delta[i] = sum_over<WARP>(delta[i]);
        my_delta = lane() == i ? delta[i] : my_delta;
    }
    const bool there = mine < p.n.sq;
    if (lane() < EACH)
        terms[warp() * EACH + lane()] = {there && base != NO_SCORE ? base : -NO_SCORE,
                                         there ? my_delta : 0};
}

/* Hides P or dS where a query does not see the lane's key, or either is not there. */
template <typename Scores>
static __device__ __forceinline__ void hide_pair(Scores &s, const sizes &n, int64_t key,
                                                 int64_t query) {
    const int left = (int)clamp(n.sq - query, 0, INT32_MAX);
    UNROLL
    for (int r = 0; r < Scores::HEIGHT; ++r) {
        const int64_t at = key + fma_core::row(r);
        const int64_t first = at < n.sk ? first_query(n, at) : n.sq;
        const int unseen = (int)clamp(first - query, 0, INT32_MAX);
        UNROLL
        for (int c = 0; c < Scores::WIDTH; ++c)
            if (fma_core::score_column(c) < unseen || fma_core::score_column(c) >= left)
                s.at(r, c) = 0;
    }
}

template <typename Plan>
static __global__ void __launch_bounds__(Plan::THREADS, Plan::BLOCKS)
    gradients_of_pairs(backward_problem<float> p, pair_space space) {
    typedef fma_core Core;
    typedef Core::sums<Plan::BANDS, Plan::HALF> scores;
    constexpr int D = Plan::D, ROWS = Plan::ROWS, HALF = Plan::HALF, THREADS = Plan::THREADS;
    constexpr int LINE = Plan::LINE, STRIDE = tile_stride<float, D>;
    ASSAY_DYNAMIC_SHARED(float, keys);
    float *const values = keys + Plan::TILE, *const queries = values + Plan::TILE;
    float *const cotangents = queries + Plan::TILE, *const weights = cotangents + Plan::TILE;
    float *const slopes = weights + Plan::SCORES;
    float2 *const terms = reinterpret_cast<float2 *>(slopes + Plan::SCORES);

    const int64_t head = blockIdx.x % p.n.heads, turn = blockIdx.x / p.n.heads;
    const int64_t key_tile = turn / space.walks, walk = turn % space.walks;
    const int64_t key = key_tile * ROWS;
    const int64_t begin = clamp(first_tile<Plan>(p.n, key_tile), walk * space.length, INT64_MAX);
    const int64_t end = clamp((walk + 1) * space.length, 0, space.query_tiles);
    if (begin >= end)
        return;
    const sequence<const float> q = head_of(p.q, head), dout = head_of(p.dout, head);
    const bool slopes_mine = warp() >= Plan::WARPS / 2;
    const int down = warp() / 2 % 2 * HALF, right = warp() % 2;
    const float *const left = (slopes_mine ? values : keys) + down * STRIDE;
    const float *const scored = (slopes_mine ? cotangents : queries) + right * HALF * STRIDE;
    const float *const product = (slopes_mine ? slopes : weights) + down * LINE;
    const float *const summed = (slopes_mine ? queries : cotangents) + right * (D / 2);
    const int here = down * LINE + right * HALF; /* the warp's scores, in tiles of scores */

    const auto start = [&](int64_t t) {
        fetch<ROWS, D, THREADS>(q, t * ROWS, queries);
        fetch<ROWS, D, THREADS>(dout, t * ROWS, cotangents);
        cp_async_commit();
    };
    fetch<ROWS, D, THREADS>(head_of(p.k, head), key, keys);
    fetch<ROWS, D, THREADS>(head_of(p.v, head), key, values);
    start(begin);
    Core::sums<Plan::BANDS, D / 2> results; /* dv or dk */
    for (int64_t t = begin; t < end; ++t) {
        const int64_t query = t * ROWS;
        make_pair_terms<Plan>(p, head, query, terms);
        cp_async_wait<0>();
        __syncthreads(); /* all threads have the tiles and terms, and have left the last scores */
        const bool hides = key + ROWS > p.n.sk || query + ROWS > p.n.sq ||
                           query < first_query(p.n, key + ROWS - 1);
        scores s;
        Core::add_scores<D>(s, left, scored);
        if (!slopes_mine) {
            UNROLL
            for (int c = 0; c < s.WIDTH; ++c) {
                const float lse = terms[right * HALF + Core::score_column(c)].x;
                UNROLL
                for (int r = 0; r < s.HEIGHT; ++r)
                    s.at(r, c) = weight(s.at(r, c), p.n.scale, lse);
            }
            if (hides)
                hide_pair(s, p.n, key + down, query + right * HALF);
            put_scores<Plan>(weights + here, s);
        }
        __syncthreads(); /* P is there */
        if (slopes_mine) {
            scores weighted;
            get_scores<Plan>(weighted, weights + here);
            UNROLL
            for (int c = 0; c < s.WIDTH; ++c) {
                const float delta = terms[right * HALF + Core::score_column(c)].y;
                UNROLL
                for (int r = 0; r < s.HEIGHT; ++r)
                    s.at(r, c) = weighted.at(r, c) * (s.at(r, c) - delta);
            }
            if (hides)
                hide_pair(s, p.n, key + down, query + right * HALF);
            put_scores<Plan>(slopes + here, s);
        }
        __syncthreads(); /* and dS */
        add_pair_results<Plan>(results, product, summed);
        __syncthreads(); /* all threads have left the tiles of queries and the terms */
        if (t + 1 < end)
            start(t + 1);
        pair_queries<Plan> dq;
        const int row = warp() / 4 * HALF, column = warp() % 4 * dq.COLUMNS;
        dq.add(slopes + row, keys + column);
        float *const to =
            space.dq + ((head * space.query_tiles + t) * space.key_tiles + key_tile) * Plan::PART;
        UNROLL
        for (int r = 0; r < dq.HEIGHT; ++r)
            put_vector(to + (row + dq.row(r)) * D + column + dq.column(), dq.value[r]);
    }
    float *const to = (slopes_mine ? space.dk : space.dv) +
                      ((head * space.key_tiles + key_tile) * space.walks + walk) * Plan::PART;
    constexpr int VECTOR = Core::side_by_side<decltype(results)::WIDTH>;
    UNROLL
    for (int r = 0; r < results.HEIGHT; ++r) {
        UNROLL
        for (int c = 0; c < results.WIDTH; c += VECTOR) {
            float x[VECTOR];
            UNROLL
            for (int v = 0; v < VECTOR; ++v)
                x[v] = results.at(r, c + v);
            put_vector(to + (down + Core::row(r)) * D + right * (D / 2) +
                           Core::result_column<decltype(results)::WIDTH>(c),
                       x);
        }
    }
}

/* Four neighbours of one gradient for each thread; PIECES blocks share a tile. */
template <typename Plan>
static __global__ void __launch_bounds__(Plan::THREADS)
    sum_of_pairs(backward_problem<float> p, pair_space space) {
    const int64_t of_queries = p.n.heads * space.query_tiles;
    const int64_t of_keys = p.n.heads * space.key_tiles;
    int64_t tile = blockIdx.x / Plan::PIECES;
    sequence<float> out = p.dq;
    const float *parts = space.dq;
    int64_t head, row, first = 0, end, each = space.key_tiles;
    float scale = p.n.scale;
    if (tile < of_queries) {
        head = tile / space.query_tiles;
        row = tile % space.query_tiles * Plan::ROWS;
        end = ceil_div(keys_in_reach(p.n, row, Plan::ROWS), Plan::ROWS);
    } else {
        tile -= of_queries;
        const bool second = tile >= of_keys;
        tile -= second ? of_keys : 0;
        out = second ? p.dv : p.dk;
        parts = second ? space.dv : space.dk;
        scale = second ? 1 : p.n.scale;
        head = tile / space.key_tiles;
        row = tile % space.key_tiles * Plan::ROWS;
        first = first_tile<Plan>(p.n, tile % space.key_tiles);
        first = first < space.query_tiles ? first / space.length : space.walks;
        each = end = space.walks;
    }
    const int inside =
        (int)(blockIdx.x % Plan::PIECES) * Plan::SUM_ROWS + (int)threadIdx.x / Plan::PACKS;
    const int column = (int)threadIdx.x % Plan::PACKS * 4;
    row += inside;
    parts += tile * each * Plan::PART + inside * Plan::D + column;
    float sum[4] = {};
    UNROLL_BY(4)
    for (int64_t i = first; i < end; ++i) {
        float x[4];
        fma_core::load(x, parts + i * Plan::PART);
        UNROLL
        for (int e = 0; e < 4; ++e)
            sum[e] += x[e];
    }
    if (row >= out.length)
        return;
    float *const to = head_of(out, head).data + row * out.stride + column;
    UNROLL
    for (int e = 0; e < 4; ++e)
        sum[e] *= scale;
    if (out.packs && column + 4 <= out.d) {
        put_vector(to, sum);
        return;
    }
    UNROLL
    for (int e = 0; e < 4; ++e)
        if (column + e < out.d)
            to[e] = sum[e];
}

#endif
