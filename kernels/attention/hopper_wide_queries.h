/*
 * dq of attention v3_hopper where d is more than 128, in a kernel of its own. A block takes tiles
 * of 128 queries as forward does (hopper_plan.h), two warpgroups with 64 each, and makes the scores
 * once more. For each tile of keys, of 64, a group multiplies
 *
 *     dq += dS k       of the tile before, dS from registers
 *     S = q kᵀ         P while dP is multiplied
 *     dP = do vᵀ       then dS, while the other group multiplies
 *
 * Two stages have the keys of a tile and of the one before, one has values.
 */
#ifndef ASSAY_ATTENTION_HOPPER_WIDE_QUERIES_H
#define ASSAY_ATTENTION_HOPPER_WIDE_QUERIES_H

#include "kernels/attention/hopper_backward.h"
#include "kernels/attention/hopper_plan.h"

/* dq has D / 2 of a thread's 240 registers, S and dP KEYS / 2 each, dS KEYS / 4. A group's queries
 * are q and, behind it, do. */
struct wide_queries_plan {
    static constexpr int D = 256, GROUPS = 2, KEYS = 64, STAGES = 3;
    static constexpr int ROWS = GROUPS * GROUP_ROWS, THREADS = (GROUPS + 1) * GROUP;
    static constexpr int RELEASES = 1, FEW_REGISTERS = 24, MANY_REGISTERS = 240;
    static constexpr int OWN_BYTES = GROUP_ROWS * D * 2, QUERY_BYTES = 2 * OWN_BYTES;
    static constexpr int STAGE_BYTES = KEYS * D * 2;
    static constexpr int SHARED = TENSOR_ALIGNMENT + GROUPS * QUERY_BYTES + STAGES * STAGE_BYTES +
                                  2 * (STAGES + GROUPS) * (int)sizeof(uint64_t);
    static_assert(SHARED <= ASSAY_MAX_SHARED, "a block has them all");
    static_assert(STAGES == 3, "two of keys, one of values");
};

template <typename T> struct wide_queries_problem {
    sizes n;
    head_groups groups;
    result_rows<T> dq;
    rows<const float2> terms; /* lse and Δ of each query (hopper_terms.h) */
};

/* ---- the loading thread ---- */

/* Where the keys and the values of the block's tile number `count` are. */
struct keys_place {
    uint32_t count;

    __device__ __forceinline__ ring_place<3> keys() const {
        return {(int)(count % 2), count / 2 % 2};
    }
    __device__ __forceinline__ ring_place<3> values() const {
        return {2, count % 2};
    }
};

template <typename Plan>
static __device__ __forceinline__ void load_tiles(const sizes &n, const head_groups &groups,
                                                  const backward_maps &maps,
                                                  const hopper_memory<Plan> &memory) {
    keys_place ring = {0};
    uint32_t round = 0; /* of the queries */
    each_tile<Plan>(n, groups, [&](place at) {
        const int tiles = tiles_in_reach<Plan>(n, at.row, Plan::ROWS);
        const auto load = [&](const tensor_map *map, const ring_place<3> &stage, int tile) {
            uint64_t *const full = memory.full(stage.stage);
            mbarrier_wait(memory.empty(stage.stage), stage.round ^ 1);
            mbarrier_expect(full, Plan::STAGE_BYTES);
            load_lines<Plan::D, Plan::KEYS>(memory.stage(stage.stage), map, tile * Plan::KEYS,
                                            at.head, full);
        };
        if (tiles == 0)
            return;
        for (int group = 0; group < Plan::GROUPS; ++group) {
            const int64_t first = at.row + group * GROUP_ROWS;
            unsigned char *const q = memory.queries(group);
            uint64_t *const full = memory.queries_full(group);
            mbarrier_wait(memory.queries_empty(group), round ^ 1);
            mbarrier_expect(full, Plan::QUERY_BYTES);
            load_lines<Plan::D, GROUP_ROWS>(q, &maps.q, first, at.head, full);
            if (group == 0)
                load(&maps.k, ring.keys(), 0);
            load_lines<Plan::D, GROUP_ROWS>(q + Plan::OWN_BYTES, &maps.dout, first, at.head, full);
        }
        round ^= 1;
        UNROLL_BY(1)
        for (int tile = 0; tile < tiles; ++tile) {
            if (tile > 0)
                load(&maps.k, ring.keys(), tile);
            load(&maps.v, ring.values(), tile);
            ++ring.count;
        }
    });
}

/* ---- a warpgroup ---- */

/* Products become P, of rows with these lse. */
template <int N>
static __device__ __forceinline__ void weigh_rows(hopper_sums<N> &s, const float2 terms[2],
                                                  float scale) {
    UNROLL
    for (int r = 0; r < 2; ++r) {
        UNROLL
        for (int c = 0; c < hopper_sums<N>::WIDTH; ++c)
            s.at(r, c) = weight_here(s.at(r, c), scale, terms[r].x);
    }
}

/* ds, which has dP, becomes dS. */
template <int N>
static __device__ __forceinline__ void slope_rows(hopper_sums<N> &ds, hopper_sums<N> &s,
                                                  const float2 terms[2]) {
    UNROLL
    for (int r = 0; r < 2; ++r) {
        UNROLL
        for (int c = 0; c < hopper_sums<N>::WIDTH; ++c)
            ds.at(r, c) = s.at(r, c) * (ds.at(r, c) - terms[r].y);
    }
}

/* One tile of queries. `round`: parity of those that came. */
template <typename Plan, typename T>
static __device__ __forceinline__ void
add_slopes_of_keys(const wide_queries_problem<T> &p, const hopper_memory<Plan> &memory, int warp,
                   place at, keys_place &ring, uint32_t &round) {
    typedef tensor_core<T> core;
    const int group = warp / GROUP_WARPS;
    const int64_t group_first = at.row + group * GROUP_ROWS;
    const int64_t first = group_first + warp % GROUP_WARPS * 16; /* the warp's */
    const int tiles = tiles_in_reach<Plan>(p.n, at.row, Plan::ROWS);
    const int own = tiles_in_reach<Plan>(p.n, group_first, GROUP_ROWS);
    const int clear = (int)(visible_keys(p.n, first) / Plan::KEYS); /* tiles without a mask */
    const uint32_t queries = shared_address(memory.queries(group));
    hopper_sums<Plan::KEYS> s, ds;
    hopper_sums<Plan::D> dq;
    uint32_t slopes[Plan::KEYS / STEP][4];
    float2 terms[2];

    const auto wait = [&](const ring_place<3> &of) {
        mbarrier_wait(memory.full(of.stage), of.round);
    };
    const auto release = [&](const ring_place<3> &of) {
        if (leads_group())
            mbarrier_arrive(memory.empty(of.stage));
    };
    const auto address = [&](const ring_place<3> &of) {
        return shared_address(memory.stage(of.stage));
    };
    const auto start_both = [&]() {
        wait(ring.keys());
        wgmma_fence();
        start_scores<Plan::D, GROUP_ROWS, T>(s, queries, address(ring.keys()));
        wait(ring.values());
        start_scores<Plan::D, GROUP_ROWS, T>(ds, queries + Plan::OWN_BYTES, address(ring.values()));
    };
    /* S and dP, which have begun, become dS. */
    const auto make = [&](int tile) {
        wgmma_wait<1>();
        wgmma_results(s.value);
        weigh_rows(s, terms, p.n.scale);
        if (tile >= clear)
            hide_keys<core>(s, p.n, first, (int64_t)tile * Plan::KEYS, 0);
        wgmma_wait<0>();
        wgmma_results(ds.value);
        release(ring.values());
        slope_rows(ds, s, terms);
        if (tile >= clear)
            hide_keys<core>(ds, p.n, first, (int64_t)tile * Plan::KEYS, 0);
        round_weights<T>(slopes, ds);
    };

    UNROLL
    for (int r = 0; r < 2; ++r) {
        const int64_t query = first + core::row(r);
        terms[r] = query < p.n.sq ? row(p.terms, at.head)[query] : make_float2(-NO_SCORE, 0);
    }
    UNROLL
    for (int i = 0; i < Plan::D / 2; ++i)
        dq.value[i] = 0;
    if (tiles > 0)
        mbarrier_wait(memory.queries_full(group), round);
    if (own > 0) {
        start_both();
        make(0);
    }
    UNROLL_BY(1)
    for (int tile = 1; tile < own; ++tile) {
        const ring_place<3> before = ring.keys();
        wgmma_fence();
        start_results<T>(dq, slopes, address(before));
        ++ring.count;
        start_both();
        wgmma_wait<2>();
        wgmma_results(dq.value);
        release(before);
        make(tile);
    }
    if (own > 0) {
        if (leads_group())
            mbarrier_arrive(memory.queries_empty(group));
        wgmma_fence();
        start_results<T>(dq, slopes, address(ring.keys()));
        wgmma_wait<0>();
        wgmma_results(dq.value);
        release(ring.keys());
        ++ring.count;
    }
    UNROLL_BY(1)
    for (int tile = own; tile < tiles; ++tile) { /* of which the group sees nothing */
        wait(ring.keys());
        wait(ring.values());
        /* No product keeps the warps together. A stage that one has given back is loaded again,
         * and all the others must have seen it before. */
        barrier_sync(1 + group, GROUP);
        release(ring.keys());
        release(ring.values());
        ++ring.count;
    }
    if (own == 0 && tiles > 0 && leads_group())
        mbarrier_arrive(memory.queries_empty(group));
    round ^= tiles > 0;
    store_sums(dq, p.dq, at.head, first, 0, [&](int, float sum) { return sum * p.n.scale; });
}

template <typename Plan, typename T>
static __global__ void __launch_bounds__(Plan::THREADS, 1)
    gradients_of_wide_queries(const wide_queries_problem<T> p,
                              const __grid_constant__ backward_maps maps) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    const hopper_memory<Plan> memory = memory_in<Plan>(shared);
    if (threadIdx.x == 0)
        make_barriers(memory);
    __syncthreads();
    if (threadIdx.x < GROUP) {
        registers_lower<Plan::FEW_REGISTERS>();
        if (threadIdx.x == 0)
            load_tiles(p.n, p.groups, maps, memory);
    } else {
        registers_raise<Plan::MANY_REGISTERS>();
        keys_place ring = {0};
        uint32_t round = 0;
        const int warp = uniform_warp() - GROUP_WARPS;
        each_tile<Plan>(p.n, p.groups,
                        [&](place at) { add_slopes_of_keys(p, memory, warp, at, ring, round); });
    }
}

#endif
