/*
 * Forward of attention v3_hopper. A warpgroup's scores come by wgmma from shared memory and are
 * weighed in registers; their weights, rounded, are the left operand of the product with the
 * values, which has them from registers. Of two neighbouring tiles of keys the scores of the one
 * and the values of the other are multiplied while the threads weigh.
 */
#ifndef ASSAY_ATTENTION_HOPPER_FORWARD_H
#define ASSAY_ATTENTION_HOPPER_FORWARD_H

#include "kernels/attention/hopper_plan.h"
#include "kernels/attention/v3_forward.h"
#include "kernels/common/special.h"

struct hopper_maps {
    tensor_map q, k, v;
};

template <typename T> struct hopper_problem {
    sizes n;
    head_groups groups;
    float to_log2; /* of differences of products q·k: log2(e) / √d */
    float leap;    /* a difference that may be left before sums are made to fit */
    result_rows<T> o;
    rows<float> lse;
};

/* ---- the loading thread ---- */

/* The first group's queries of the block's first tile, and the keys with which it begins. Says
 * whether there are any. */
template <typename Plan>
static __device__ __forceinline__ bool load_first(const sizes &n, const head_groups &groups,
                                                  const hopper_maps &maps,
                                                  const hopper_memory<Plan> &memory) {
    const tile_turns<Plan> turns(n, n.sq, groups);
    const place at = turns.here();
    if (!turns.more() || tiles_in_reach<Plan>(n, at.row, Plan::ROWS) == 0)
        return false;
    mbarrier_expect(memory.queries_full(0), Plan::QUERY_BYTES);
    load_lines<Plan::D, GROUP_ROWS>(memory.queries(0), &maps.q, at.row, at.head,
                                    memory.queries_full(0));
    mbarrier_expect(memory.full(0), Plan::STAGE_BYTES);
    load_lines<Plan::D, Plan::KEYS>(memory.stage(0), &maps.k, 0, at.head, memory.full(0));
    return true;
}

/* `begun`: what load_first() loads is under way. */
template <typename Plan>
static __device__ __forceinline__ void load_all(const sizes &n, const head_groups &groups,
                                                const hopper_maps &maps,
                                                const hopper_memory<Plan> &memory, bool begun) {
    ring_place<Plan::STAGES> ring = {0, 0};
    uint32_t round = 0; /* of the queries */
    each_tile<Plan>(n, groups, [&](place at) {
        const int tiles = tiles_in_reach<Plan>(n, at.row, Plan::ROWS);
        const auto load = [&](const tensor_map *map, int tile) {
            mbarrier_wait(memory.empty(ring.stage), ring.round ^ 1);
            mbarrier_expect(memory.full(ring.stage), Plan::STAGE_BYTES);
            load_lines<Plan::D, Plan::KEYS>(memory.stage(ring.stage), map, tile * Plan::KEYS,
                                            at.head, memory.full(ring.stage));
            ring.next();
        };
        if (tiles == 0)
            return;
        for (int group = 0; group < Plan::GROUPS; ++group) {
            if (group == 0 && begun) {
                begun = false;
                ring.next();
                continue;
            }
            mbarrier_wait(memory.queries_empty(group), round ^ 1);
            mbarrier_expect(memory.queries_full(group), Plan::QUERY_BYTES);
            load_lines<Plan::D, GROUP_ROWS>(memory.queries(group), &maps.q,
                                            at.row + group * GROUP_ROWS, at.head,
                                            memory.queries_full(group));
            if (group == 0) /* with which the first group begins */
                load(&maps.k, 0);
        }
        round ^= 1;
        UNROLL_BY(1)
        for (int tile = 1; tile < tiles; ++tile) {
            load(&maps.k, tile);
            load(&maps.v, tile - 1);
        }
        load(&maps.v, tiles - 1);
    });
}

/* ---- a warpgroup ---- */

/* What a thread's weights of a tile and a row may come to without a look at its products. */
static constexpr float MOST_WEIGHT = 256;
static constexpr float LN_2 = 0x1.62e430p-1f;

/*
 * Of a thread's two rows: a product q·k near the largest one so far, this thread's part of the sum
 * of the weights, and the exponent of 2 that weights are relative to. That is base · to_log2,
 * rounded, whose rounding then is a factor of all of the row's weights, and falls out of their
 * quotients. Beyond 2^10 it might be a large factor: there the base is subtracted from products,
 * and `origin` is 0. `near`: no row of the warp's is such a one, and each has seen a product.
 */
struct hopper_rows {
    float base[2], sum[2], origin[2];
    bool near;
};

static __device__ __forceinline__ bool is_near(float base, float to_log2) {
    return fabsf(base * to_log2) < 0x1p10f;
}

/* Groups take turns at the tensor cores: while one multiplies the others weigh. */
static __device__ __forceinline__ void take_turn(int group) {
    barrier_sync(1 + group, 2 * GROUP);
}
template <typename Plan> static __device__ __forceinline__ void give_turn(int group) {
    barrier_arrive(1 + (group + 1) % Plan::GROUPS, 2 * GROUP);
}

/* The group's warps, where no product keeps them together. */
template <typename Plan> static __device__ __forceinline__ void gather_group(int group) {
    barrier_sync(1 + Plan::GROUPS + group, GROUP);
}

/* The largest of the thread's products in a row: four chains, for their latency. */
template <typename Scores> static __device__ __forceinline__ float top_of(Scores &s, int r) {
    float top[4] = {s.at(r, 0), s.at(r, 1), s.at(r, 2), s.at(r, 3)};
    UNROLL
    for (int c = 4; c < Scores::WIDTH; ++c)
        top[c % 4] = fmaxf(top[c % 4], s.at(r, c));
    return fmaxf(fmaxf(top[0], top[1]), fmaxf(top[2], top[3]));
}

/*
 * Moves the bases of rows whose products have leapt beyond them: weights stay below 2^LEAP. Says
 * whether one of the warp's has moved, and what earlier sums are then to be multiplied by. fmaxf
 * leaves a NaN out, the weights do not.
 */
template <typename Scores>
static __device__ __forceinline__ bool move_bases(Scores &s, hopper_rows &rows, float to_log2,
                                                  float leap, float shrink[2]) {
    const float top[2] = {top_of(s, 0), top_of(s, 1)};
    if (!__any_sync(UINT32_MAX, top[0] > rows.base[0] + leap || top[1] > rows.base[1] + leap))
        return false;
    bool near = true;
    UNROLL
    for (int r = 0; r < 2; ++r) {
        const float before = is_near(rows.base[r], to_log2) ? 0 : rows.base[r];
        const float base = fmaxf(rows.base[r], largest_of<4, 1>(top[r]));
        const bool is = is_near(base, to_log2);
        const float origin = is ? base * to_log2 : 0, now = is ? 0 : exp_base(base);
        shrink[r] = ex2_here(fma_(before - now, to_log2, rows.origin[r] - origin));
        rows.base[r] = base;
        rows.origin[r] = origin;
        rows.sum[r] *= shrink[r];
        near = near && is;
    }
    rows.near = __all_sync(UINT32_MAX, near);
    return true;
}

/* What is subtracted of far bases' products is subtracted before anything is rounded, however large
 * scores are. */
template <typename Scores>
static __device__ __forceinline__ void subtract_far(Scores &s, const hopper_rows &rows,
                                                    float to_log2) {
    if (rows.near)
        return;
    UNROLL
    for (int r = 0; r < 2; ++r) {
        const float far = is_near(rows.base[r], to_log2) ? 0 : exp_base(rows.base[r]);
        UNROLL
        for (int c = 0; c < Scores::WIDTH; ++c)
            s.at(r, c) -= far;
    }
}

/* Turns products into weights, and adds them up. */
template <typename Scores>
static __device__ __forceinline__ void weigh(Scores &s, const hopper_rows &rows, float to_log2,
                                             float sums[2]) {
    UNROLL
    for (int r = 0; r < 2; ++r) {
        float sum[2] = {0, 0};
        UNROLL
        for (int c = 0; c < Scores::WIDTH; ++c) {
            s.at(r, c) = ex2_here(fma_(s.at(r, c), to_log2, -rows.origin[r]));
            sum[c % 2] += s.at(r, c);
        }
        sums[r] = sum[0] + sum[1];
    }
}

/* A warp makes its products of a tile of keys again, for itself: those of wgmma have become
 * weights.
 */
template <int D, typename T, int N>
static __device__ __forceinline__ void multiply_again(hopper_sums<N> &s, const unsigned char *q,
                                                      const unsigned char *k) {
    const int line = lane() % 8, odd = lane() / 8 % 2, upper = lane() / 16;
    q += (warp() % GROUP_WARPS * 16 + odd * 8 + line) * TENSOR_LINE_BYTES;
    k += (upper * 8 + line) * TENSOR_LINE_BYTES;
    UNROLL
    for (int i = 0; i < N / 2; ++i)
        s.value[i] = 0;
    UNROLL_BY(1)
    for (int step = 0; step < D / STEP; ++step) {
        const int box = step * STEP / BOX, piece = step % (BOX / STEP) * 2;
        uint32_t x[4];
        ldmatrix_x4(x, q + box * GROUP_ROWS * TENSOR_LINE_BYTES + ((piece + upper) ^ line) * 16);
        UNROLL
        for (int j = 0; j < N / 16; ++j) {
            uint32_t y[4];
            ldmatrix_x4(y,
                        k + (box * N + 16 * j) * TENSOR_LINE_BYTES + ((piece + odd) ^ line) * 16);
            UNROLL
            for (int i = 0; i < 2; ++i)
                mma(s.value + 4 * (2 * j + i), x, y + 2 * i, T());
        }
    }
    __syncwarp(); /* before the tile is handed back */
}

/* By how much a row's base is beyond what its weights are relative to. */
static __device__ __forceinline__ float beyond_origin(const hopper_rows &rows, int r,
                                                      float to_log2) {
    return is_near(rows.base[r], to_log2) ? fma_(rows.base[r], to_log2, -rows.origin[r]) : 0;
}

/* Of a thread's two rows: the sum of all of their weights, and 1 / sum, 0 where that is 0. */
struct hopper_ends {
    float sum[2], inverse[2];
};

/* What needs no result, and so is done while the last values are multiplied. */
template <typename T>
static __device__ __forceinline__ hopper_ends close_rows(const hopper_problem<T> &p, int64_t head,
                                                         int64_t first, const hopper_rows &rows) {
    hopper_ends ends;
    UNROLL
    for (int r = 0; r < 2; ++r) {
        const int64_t query = first + tensor_core<T>::row(r);
        const float sum = sum_over<4>(rows.sum[r]);
        if (query < p.n.sq && tensor_core<T>::mate() == 0)
            row(p.lse, head)[query] =
                sum == 0 ? NO_SCORE
                         : rows.base[r] * p.n.scale +
                               (log_(sum) - LN_2 * beyond_origin(rows, r, p.to_log2));
        ends.sum[r] = sum;
        ends.inverse[r] = __uint_as_float(made_anew(__float_as_uint(sum == 0 ? 0 : 1 / sum)));
    }
    return ends;
}

template <typename T, int N>
static __device__ __forceinline__ void finish_rows(const hopper_problem<T> &p, int64_t head,
                                                   int64_t first, hopper_sums<N> &o,
                                                   const hopper_ends &ends) {
    UNROLL
    for (int r = 0; r < 2; ++r) {
        if (__any_sync(UINT32_MAX, ends.sum[r] == 0)) {
            UNROLL
            for (int c = 0; c < hopper_sums<N>::WIDTH; ++c)
                o.at(r, c) = ends.sum[r] == 0 ? 0 : o.at(r, c);
        }
    }
    store_sums(o, p.o, head, first, 0, [&](int r, float value) { return value * ends.inverse[r]; });
}

/* One tile of queries. `round`: parity of those that came. */
template <typename Plan, typename T, typename Ahead>
static __device__ __forceinline__ void
attend(const hopper_problem<T> &p, const hopper_memory<Plan> &memory, int warp, place at,
       ring_place<Plan::STAGES> &ring, uint32_t &round, Ahead look_ahead) {
    const int group = warp / GROUP_WARPS;
    const int64_t group_first = at.row + group * GROUP_ROWS;
    const int64_t first = group_first + warp % GROUP_WARPS * 16; /* the warp's */
    const int tiles = tiles_in_reach<Plan>(p.n, at.row, Plan::ROWS);
    const int own = tiles_in_reach<Plan>(p.n, group_first, GROUP_ROWS);
    const int clear = (int)(visible_keys(p.n, first) / Plan::KEYS); /* tiles without a mask */
    hopper_sums<Plan::KEYS> s;
    hopper_sums<Plan::COLUMNS> o;
    uint32_t weights[Plan::KEYS / STEP][4];
    hopper_rows rows = {{NO_SCORE, NO_SCORE}, {0, 0}, {0, 0}, false};
    float shrink[2];
    hopper_ends ends;

    const auto wait = [&](const ring_place<Plan::STAGES> &stage) {
        mbarrier_wait(memory.full(stage.stage), stage.round);
    };
    const auto hands_back = [] { return Plan::TOGETHER ? leads_group() : lane() == 0; };
    const auto release = [&](const ring_place<Plan::STAGES> &stage) {
        if (hands_back())
            mbarrier_arrive(memory.empty(stage.stage));
    };
    const auto address = [&](const ring_place<Plan::STAGES> &stage) {
        return shared_address(memory.stage(stage.stage));
    };
    const auto skip = [&](int stages) {
        UNROLL_BY(1)
        for (int i = 0; i < stages; ++i) {
            wait(ring);
            /* A lane that has not seen it come by then would wait for ever. */
            if constexpr (Plan::TOGETHER)
                gather_group<Plan>(group);
            else
                __syncwarp();
            release(ring);
            ring.next();
        }
    };
    const auto hide = [&](int tile) {
        if (tile >= clear)
            hide_keys<tensor_core<T>>(s, p.n, first, (int64_t)tile * Plan::KEYS, NO_SCORE);
    };
    const auto weigh_by_largest = [&](float leap, float sums[2]) {
        const bool moved = move_bases(s, rows, p.to_log2, leap, shrink);
        subtract_far(s, rows, p.to_log2);
        weigh(s, rows, p.to_log2, sums);
        return moved;
    };
    /*
     * Of keys in a stage, behind the first tile. Weights are made relative to what was large
     * before, and their sum tells whether they fit. Where they do not, the warp makes its products
     * again, and looks for the largest ones from then on.
     */
    bool looks = true;
    const auto weigh_tile = [&](int tile, int stage) {
        bool moved = false, fit = false; /* a NaN does not */
        float sums[2];
        hide(tile);
        if (!Plan::LOOKS && !looks) {
            weigh(s, rows, p.to_log2, sums);
            fit = __all_sync(UINT32_MAX, sums[0] <= MOST_WEIGHT && sums[1] <= MOST_WEIGHT);
            if (!fit) {
                multiply_again<Plan::COLUMNS, T>(s, memory.queries(group), memory.stage(stage));
                hide(tile);
            }
        }
        if (!fit) {
            moved = weigh_by_largest(looks ? p.leap : 0, sums);
            looks = true;
        }
        rows.sum[0] += sums[0];
        rows.sum[1] += sums[1];
        return moved;
    };
    const uint32_t queries = shared_address(memory.queries(group));

    UNROLL
    for (int i = 0; i < Plan::COLUMNS / 2; ++i)
        o.value[i] = 0;
    if (tiles > 0)
        mbarrier_wait(memory.queries_full(group), round);
    if (own > 0) {
        wait(ring);
        take_turn(group);
        wgmma_fence();
        start_scores<Plan::COLUMNS, GROUP_ROWS, T>(s, queries, address(ring));
        give_turn<Plan>(group);
        wgmma_wait<0>();
        wgmma_results(s.value);
        release(ring);
        ring.next();
        hide(0);
        weigh_by_largest(p.leap, rows.sum);
        looks = Plan::LOOKS || !rows.near;
        round_weights<T>(weights, s);
        wait(ring);
    }
    UNROLL_BY(1)
    for (int tile = 1; tile < own; ++tile) {
        ring_place<Plan::STAGES> values = ring, behind;
        values.next();
        behind = values;
        behind.next();
        wait(values);
        take_turn(group);
        wgmma_fence();
        start_scores<Plan::COLUMNS, GROUP_ROWS, T>(s, queries, address(ring));
        start_results<T>(o, weights, address(values));
        give_turn<Plan>(group);
        wgmma_wait<1>();
        wgmma_results(s.value);
        if (Plan::LOOKS)
            release(ring);
        const bool moved = weigh_tile(tile, ring.stage);
        if (!Plan::LOOKS)
            release(ring);
        wait(behind); /* a loop, in front of which ptxas leaves what stands there */
        wgmma_wait<0>();
        wgmma_results(o.value);
        release(values);
        round_weights<T>(weights, s);
        if (moved) /* ever more rarely along a walk */
            multiply_rows(o, shrink);
        ring = behind;
    }
    if (own > 0) {
        if (hands_back())
            mbarrier_arrive(memory.queries_empty(group));
        skip(own < tiles ? 1 : 0);
        wait(ring);
        wgmma_fence();
        start_results<T>(o, weights, address(ring));
        look_ahead(); /* where the next tile is, while the last one is multiplied */
        if (!Plan::TOGETHER)
            ends = close_rows(p, at.head, first, rows);
        wgmma_wait<0>();
        wgmma_results(o.value);
        release(ring);
        ring.next();
    } else {
        look_ahead();
        if (!Plan::TOGETHER)
            ends = close_rows(p, at.head, first, rows);
    }
    UNROLL_BY(1)
    for (int tile = own; tile < tiles; ++tile) { /* of which the group sees nothing */
        skip(tile > own ? 2 : own > 0 ? 0 : 1);
        take_turn(group);
        give_turn<Plan>(group);
    }
    skip(own < tiles ? 1 : 0);
    if (own == 0 && tiles > 0 && hands_back())
        mbarrier_arrive(memory.queries_empty(group));
    round ^= tiles > 0;
    if (Plan::TOGETHER)
        ends = close_rows(p, at.head, first, rows);
    finish_rows(p, at.head, first, o, ends);
}

template <typename Plan, typename T>
static __global__ void __launch_bounds__(Plan::THREADS, 1)
    attend_on_hopper(const hopper_problem<T> p, const __grid_constant__ hopper_maps maps) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    const hopper_memory<Plan> memory = memory_in<Plan>(shared);
    bool begun = false;
    if (threadIdx.x == 0) {
        tensor_map_prefetch(&maps.q);
        tensor_map_prefetch(&maps.k);
        tensor_map_prefetch(&maps.v);
        make_barriers(memory);
        if (Plan::TOGETHER)
            begun = load_first<Plan>(p.n, p.groups, maps, memory);
    }
    __syncthreads();
    if (threadIdx.x < GROUP) {
        registers_lower<Plan::FEW_REGISTERS>();
        if (threadIdx.x == 0)
            load_all(p.n, p.groups, maps, memory, begun);
    } else {
        registers_raise<Plan::MANY_REGISTERS>();
        ring_place<Plan::STAGES> ring = {0, 0};
        uint32_t round = 0;
        const int warp = uniform_warp() - GROUP_WARPS, group = warp / GROUP_WARPS;
        if (group == Plan::GROUPS - 1)
            give_turn<Plan>(group);
        tile_turns<Plan> turns(p.n, p.n.sq, p.groups);
        for (place at = turns.here(); turns.more();) {
            place next;
            attend(p, memory, warp, at, ring, round, [&] {
                turns.next();
                next = turns.here();
            });
            at = next;
        }
        if (group == 0)
            take_turn(group);
    }
}

#endif
