/*
 * The block of attention v3_hopper's backward where d is more than 128: its tile, its shared memory
 * and its barriers. Walks, chains and groups of heads are those of hopper_backward_plan.h.
 *
 * dk and dv of 64 keys and 256 columns are all that two warpgroups' registers hold. So a block has
 * 64 keys, and each warpgroup one of the results, and the scores that go with it:
 *
 *     group 0, of weights    Sᵀ, Pᵀ      dv    dq's columns from 0 on
 *     group 1, of slopes     dPᵀ, dSᵀ    dk    dq's columns from 128 on
 *
 * A product of scores reads both operands, 64 lines each, from shared memory, 128 bytes a cycle,
 * which is all that there is. Were scores divided, 32 queries a warpgroup, A would be read twice. P
 * and dS are left operands in registers, as for d up to 128. What the groups tell each other passes
 * through shared memory: P in fp32, from each thread to the one with the same place in the other
 * group, so that warps wait for single warps; dS, rounded, as dq's left operand. Both parts of dq
 * leave no registers for P: for dv, its group takes it from shared memory, too.
 *
 * A ring of three stages brings q 0, do 0, q 1, do 1, ...: do of a tile is loaded once dk has used
 * q of the tile before. The group of weights multiplies the scores of the next tile early, and the
 * group of slopes late.
 *
 * dq of a tile of queries are two chains, one a group's, each of two parts of 64 columns, which
 * pass one after the other through the group's slot. Three threads pass them on, a step of a group
 * each in turn: until a link is complete takes about as long as a step. Mbarriers:
 *
 *     own_full         the block's keys and values
 *     full             a load of a stage: scores begin with the first columns
 *     empty            a stage
 *     link_ready       a group's turn at its slot: it is free, or, of a last link, has the sums
 *     link_done        of every third step: dq is in the slot, or the sums were read
 *
 * and barriers by number, below.
 */
#ifndef ASSAY_ATTENTION_HOPPER_WIDE_PLAN_H
#define ASSAY_ATTENTION_HOPPER_WIDE_PLAN_H

#include "kernels/attention/hopper_backward_plan.h"

template <typename Plan> struct wide_memory;

/* dk or dv has D / 2 of a thread's 240 registers, scores and a part of dq 32 each. */
struct wide_backward_plan {
    static constexpr int D = 256, QUERIES = 64, STAGES = 3, SLOPES = 2, GROUPS = 2;
    static constexpr int PASSERS = 3;       /* threads that pass links on */
    static constexpr int LOADS = 4;         /* of a stage, each of some columns */
    static constexpr int ROWS = GROUP_ROWS; /* keys */
    static constexpr int THREADS = (GROUPS + 1) * GROUP;
    static constexpr int FEW_REGISTERS = 24, MANY_REGISTERS = 240;
    static constexpr int CHAINS = GROUPS, PARTS = D / BOX / GROUPS; /* of a tile, of a chain */
    static constexpr int OWN_BYTES = ROWS * D * 2, STAGE_BYTES = QUERIES * D * 2;
    static constexpr int SLOPE_BYTES = QUERIES * ROWS * 2, WEIGHT_BYTES = 2 * SLOPE_BYTES;
    static constexpr int TERM_BYTES = QUERIES * (int)sizeof(float2);
    static constexpr int SUMS = QUERIES * D; /* of dq, of a tile */
    static constexpr int LINK_BYTES = QUERIES * BOX * (int)sizeof(float);
    static constexpr int BARRIERS = 1 + (1 + PASSERS) * GROUPS + (1 + LOADS) * STAGES;
    static constexpr int REST =
        BARRIERS * (int)sizeof(uint64_t) + (int)sizeof(backward_walk) + GROUPS * (int)sizeof(int);
    static constexpr int SHARED = TENSOR_ALIGNMENT + 2 * OWN_BYTES + STAGES * STAGE_BYTES +
                                  SLOPES * SLOPE_BYTES + WEIGHT_BYTES + GROUPS * LINK_BYTES +
                                  2 * TENSOR_ALIGNMENT;
    static_assert(STAGES == 3,
                  "do of a step waits for q, and so for the terms, of the step before");
    static_assert(TERM_BYTES + REST <= TENSOR_ALIGNMENT, "they lie behind the second terms");
    static_assert(SHARED <= ASSAY_MAX_SHARED, "a block has them all");
    typedef wide_memory<wide_backward_plan> memory;
};

/* Barriers by number: of the group of slopes, of both groups, for even steps and for odd ones, and
 * of two warps, one of each group. */
enum {
    ALL_SLOPES = 1,
    SLOPES_READY = 2, /* for the other group's dq */
    SLOPES_FREE = 4,  /* of the other group's dq */
    WEIGHTS_READY = 6,
    WEIGHTS_FREE = WEIGHTS_READY + GROUP_WARPS,
};

/* The block's shared memory. */
template <typename Plan> struct wide_memory {
    unsigned char *base;

    __device__ __forceinline__ unsigned char *keys() const {
        return base;
    }
    __device__ __forceinline__ unsigned char *values() const {
        return base + Plan::OWN_BYTES;
    }
    __device__ __forceinline__ unsigned char *stage(int i) const {
        return base + 2 * Plan::OWN_BYTES + i * Plan::STAGE_BYTES;
    }
    /* dSᵀ: a line of 64 queries for each key. */
    __device__ __forceinline__ unsigned char *slopes(int step) const {
        return stage(Plan::STAGES) + step % Plan::SLOPES * Plan::SLOPE_BYTES;
    }
    /* P, fp32, a thread's four beside those of its neighbours. */
    __device__ __forceinline__ float4 *weights() const {
        return reinterpret_cast<float4 *>(stage(Plan::STAGES) + Plan::SLOPES * Plan::SLOPE_BYTES);
    }
    __device__ __forceinline__ unsigned char *terms(int step) const {
        return reinterpret_cast<unsigned char *>(weights()) + Plan::WEIGHT_BYTES +
               Plan::GROUPS * Plan::LINK_BYTES + step % 2 * TENSOR_ALIGNMENT;
    }
    __device__ __forceinline__ uint64_t *own_full() const {
        return reinterpret_cast<uint64_t *>(terms(1) + Plan::TERM_BYTES);
    }
    __device__ __forceinline__ link_slot slot(int group) const {
        return {reinterpret_cast<unsigned char *>(weights()) + Plan::WEIGHT_BYTES +
                    group * Plan::LINK_BYTES,
                own_full() + 1 + group, reinterpret_cast<int *>(walk() + 1) + group};
    }
    __device__ __forceinline__ uint64_t *link_done(int group, int step) const {
        return own_full() + 1 + Plan::GROUPS + group * Plan::PASSERS + step % Plan::PASSERS;
    }
    __device__ __forceinline__ uint64_t *empty(int i) const {
        return own_full() + 1 + (1 + Plan::PASSERS) * Plan::GROUPS + i;
    }
    __device__ __forceinline__ uint64_t *full(int i, int load) const {
        return empty(Plan::STAGES) + i * Plan::LOADS + load;
    }
    __device__ __forceinline__ backward_walk *walk() const {
        return reinterpret_cast<backward_walk *>(full(Plan::STAGES, 0));
    }
};

template <typename Plan>
static __device__ __forceinline__ void make_barriers(const wide_memory<Plan> &memory) {
    mbarrier_init(memory.own_full(), 1);
    for (int group = 0; group < Plan::GROUPS; ++group) {
        mbarrier_init(memory.slot(group).ready, 1);
        for (int step = 0; step < Plan::PASSERS; ++step)
            mbarrier_init(memory.link_done(group, step), GROUP_WARPS);
    }
    for (int i = 0; i < Plan::STAGES; ++i) {
        mbarrier_init(memory.empty(i), Plan::GROUPS);
        for (int load = 0; load < Plan::LOADS; ++load)
            mbarrier_init(memory.full(i, load), 1);
    }
    mbarriers_made();
}

#endif
