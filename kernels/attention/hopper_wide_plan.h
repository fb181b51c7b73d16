/*
 * The block of attention v3_hopper's dk and dv where d is more than 128: its tiles, its shared
 * memory and its barriers.
 *
 * dk and dv of 64 keys and 256 columns are all that two warpgroups' registers hold. So a block has
 * 64 keys at a time, and each warpgroup one of the results, and the scores that go with it:
 *
 *     group 0, of weights    Sᵀ, Pᵀ      dv
 *     group 1, of slopes     dPᵀ, dSᵀ    dk
 *
 * A product of scores reads both operands, 64 lines each, from shared memory, 128 bytes a cycle,
 * which is all that there is. Were scores divided, 32 queries a warpgroup, A would be read twice. P
 * and dS are left operands in registers, as for d up to 128. P, in fp32, passes through shared
 * memory, from each thread to the one with the same place in the other group, so that warps wait
 * for single warps.
 *
 * A block stays on its multiprocessor and takes one tile of keys after the other; what it loads of
 * the next does not wait for the results of the one before. A ring of four stages brings q 0, do 0,
 * q 1, do 1, ... With three, do would wait for dk's product with q of the step before, and that for
 * the slopes of that do: a load's latency in each step. Mbarriers:
 *
 *     keys_full, _empty        the tile's keys; the group of weights gives them back
 *     values_full, _empty      its values; the group of slopes does
 *     full                     a load of a stage: scores begin with the first columns
 *     empty                    a stage, by each warp
 *
 * and barriers by number, below.
 */
#ifndef ASSAY_ATTENTION_HOPPER_WIDE_PLAN_H
#define ASSAY_ATTENTION_HOPPER_WIDE_PLAN_H

#include "kernels/attention/hopper_plan.h"

/* dk or dv has D / 2 of a thread's 240 registers, scores have 32, and those that are operands 16.
 */
struct wide_keys_plan {
    static constexpr int D = 256, QUERIES = 64, STAGES = 4, GROUPS = 2;
    static constexpr int LOADS = 4;         /* of a stage, each of some columns */
    static constexpr int ROWS = GROUP_ROWS; /* keys */
    static constexpr int THREADS = (GROUPS + 1) * GROUP;
    static constexpr int FEW_REGISTERS = 24, MANY_REGISTERS = 240;
    static constexpr int OWN_BYTES = ROWS * D * 2, STAGE_BYTES = QUERIES * D * 2;
    static constexpr int WEIGHT_BYTES = QUERIES * ROWS * (int)sizeof(float);
    static constexpr int TERM_BYTES = QUERIES * (int)sizeof(float2);
    static constexpr int BARRIERS = 4 + (1 + LOADS) * STAGES;
    static constexpr int SHARED = TENSOR_ALIGNMENT + 2 * OWN_BYTES + STAGES * STAGE_BYTES +
                                  WEIGHT_BYTES + 2 * TENSOR_ALIGNMENT;
    static_assert(STAGES == 4, "terms of a step wait for q of two steps before");
    static_assert(TERM_BYTES + BARRIERS * (int)sizeof(uint64_t) <= TENSOR_ALIGNMENT,
                  "barriers lie behind the second terms");
    static_assert(SHARED <= ASSAY_MAX_SHARED, "a block has them all");
};

/* Barriers by number: of two warps, one of each group. */
enum {
    WEIGHTS_READY = 1,
    WEIGHTS_FREE = WEIGHTS_READY + GROUP_WARPS,
};

/* The block's shared memory. Steps and matrices are counted through all its tiles. */
template <typename Plan> struct wide_memory {
    unsigned char *base;

    __device__ __forceinline__ unsigned char *keys() const {
        return base;
    }
    __device__ __forceinline__ unsigned char *values() const {
        return base + Plan::OWN_BYTES;
    }
    __device__ __forceinline__ unsigned char *stage(uint32_t i) const {
        return base + 2 * Plan::OWN_BYTES + i * Plan::STAGE_BYTES;
    }
    /* P, fp32, a thread's four beside those of its neighbours. */
    __device__ __forceinline__ float4 *weights() const {
        return reinterpret_cast<float4 *>(stage(Plan::STAGES));
    }
    __device__ __forceinline__ unsigned char *terms(uint32_t step) const {
        return stage(Plan::STAGES) + Plan::WEIGHT_BYTES + step % 2 * TENSOR_ALIGNMENT;
    }
    __device__ __forceinline__ uint64_t *keys_full() const {
        return reinterpret_cast<uint64_t *>(terms(1) + Plan::TERM_BYTES);
    }
    __device__ __forceinline__ uint64_t *keys_empty() const {
        return keys_full() + 1;
    }
    __device__ __forceinline__ uint64_t *values_full() const {
        return keys_full() + 2;
    }
    __device__ __forceinline__ uint64_t *values_empty() const {
        return keys_full() + 3;
    }
    __device__ __forceinline__ uint64_t *empty(uint32_t i) const {
        return keys_full() + 4 + i;
    }
    __device__ __forceinline__ uint64_t *full(uint32_t i, int load) const {
        return empty(Plan::STAGES) + i * Plan::LOADS + load;
    }
};

template <typename Plan>
static __device__ __forceinline__ wide_memory<Plan> wide_memory_in(unsigned char *shared) {
    return {shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT};
}

template <typename Plan>
static __device__ __forceinline__ void make_barriers(const wide_memory<Plan> &memory) {
    for (int i = 0; i < 4; ++i)
        mbarrier_init(memory.keys_full() + i, 1);
    for (uint32_t i = 0; i < Plan::STAGES; ++i) {
        mbarrier_init(memory.empty(i), Plan::GROUPS * GROUP_WARPS);
        for (int load = 0; load < Plan::LOADS; ++load)
            mbarrier_init(memory.full(i, load), 1);
    }
    mbarriers_made();
}

/* A tile of keys and the steps of the queries that see it; `step`: steps of the block's tiles
 * before, `tile`: those tiles. */
struct wide_walk {
    place at;
    int first, steps; /* the number of the first tile of queries; how many */
    uint32_t step, tile;
};

/* visit(walk) for this block's tiles, those of the first keys first: with causal=1 their walks are
 * the longest. */
template <typename Plan, typename Visit>
static __device__ __forceinline__ void each_walk(const sizes &n, const head_groups &groups,
                                                 Visit visit) {
    const int end = (int)ceil_div(n.sq, Plan::QUERIES);
    wide_walk walk = {};
    each_place<Plan>(n, n.sk, groups, [&](place mirrored) {
        const int64_t last = (ceil_div(n.sk, Plan::ROWS) - 1) * Plan::ROWS;
        walk.at = {mirrored.head, last - mirrored.row};
        walk.first = (int)(first_query(n, walk.at.row) / Plan::QUERIES);
        walk.steps = end - walk.first;
        visit(walk);
        walk.step += (uint32_t)walk.steps;
        ++walk.tile;
    });
}

#endif
