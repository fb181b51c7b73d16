/*
 * The block of attention v3_hopper's backward: its tile, its shared memory and its barriers.
 *
 * A block has a tile of 128 keys, two warpgroups with 64 each, and walks along the tiles of QUERIES
 * queries that see them. dk and dv are the warpgroups' sums. dq of a tile of queries is a chain:
 * each tile of keys that it sees adds its part in fp32 to memory, the last tile of keys first. The
 * first link stores, the last one rounds. A count in memory says how many links have added theirs.
 *
 * Blocks draw their tiles: the first to come has the last keys, so that a block waits only for
 * blocks that began before it. With causal=1 these are the short walks, and of two neighbours that
 * begin together the one is a step ahead of the other in every tile of queries: where links wait,
 * they wait for little.
 *
 * Of the fourth warpgroup three threads work: one loads by TMA, and two, in alternate steps, wait
 * for the links before and pass dq on. They take it from shared memory, where the warpgroups leave
 * it, and add it to memory by a bulk copy while the warpgroups multiply; for the last link they
 * bring the sums, and the warpgroups add and round. Mbarriers:
 *
 *     own_full                      the block's keys and values
 *     queries_full, _empty          a stage's queries
 *     cotangents_full, _empty       a stage's do, with lse and Δ
 *     link_ready                    the warpgroups' turn at the link in shared memory: it is free,
 *                                   or has the sums
 *     link_done                     of even and of odd steps: dq is there, or the sums were read
 */
#ifndef ASSAY_ATTENTION_HOPPER_BACKWARD_PLAN_H
#define ASSAY_ATTENTION_HOPPER_BACKWARD_PLAN_H

#include "kernels/attention/hopper_core.h"

/* A block's tile of keys and its walk: the tiles of queries from `begin` to `end`. */
struct backward_walk {
    place at;
    int begin, end;
};

/* Scores and dP have QUERIES / 2 registers each of a thread's 240, dk and dv D / 2 each. */
template <int D_, int QUERIES_, int STAGES_> struct backward_plan {
    static constexpr int D = D_, QUERIES = QUERIES_, STAGES = STAGES_, GROUPS = 2;
    static constexpr int ROWS = GROUPS * GROUP_ROWS; /* keys */
    static constexpr int THREADS = (GROUPS + 1) * GROUP, WARPS = GROUPS * GROUP / WARP;
    static constexpr int FEW_REGISTERS = 24, MANY_REGISTERS = 240;
    static constexpr int OWN_BYTES = ROWS * D * 2, STAGE_BYTES = QUERIES * D * 2;
    static constexpr int SLOPE_BYTES = QUERIES * ROWS * 2;
    static constexpr int TERM_BYTES = QUERIES * (int)sizeof(float2);
    static constexpr int SUMS = QUERIES * D; /* of dq, of a tile */
    static constexpr int LINK_BYTES = SUMS * (int)sizeof(float);
    static constexpr int BARRIERS = 4 + 4 * STAGES;
    static constexpr int SHARED = TENSOR_ALIGNMENT + 2 * OWN_BYTES + 2 * SLOPE_BYTES + LINK_BYTES +
                                  STAGES * (2 * STAGE_BYTES + TENSOR_ALIGNMENT) +
                                  BARRIERS * (int)sizeof(uint64_t) + (int)sizeof(backward_walk) +
                                  (int)sizeof(int);
    static_assert(SUMS == GROUPS * GROUP_ROWS * BOX, "a warpgroup has 64 rows and columns of dq");
    static_assert(TERM_BYTES <= TENSOR_ALIGNMENT, "a stage has room for them");
    static_assert(SHARED <= ASSAY_MAX_SHARED, "a block has them all");
};

/* The block's shared memory. */
template <typename Plan> struct backward_memory {
    unsigned char *base;

    __device__ __forceinline__ unsigned char *keys() const {
        return base;
    }
    __device__ __forceinline__ unsigned char *values() const {
        return base + Plan::OWN_BYTES;
    }
    /* dSᵀ, two stages: lines of 64 queries, one for each key, in boxes of the block's keys. */
    __device__ __forceinline__ unsigned char *slopes(int i) const {
        return base + 2 * Plan::OWN_BYTES + i * Plan::SLOPE_BYTES;
    }
    /* fp32, a thread's four beside those of its neighbours. */
    __device__ __forceinline__ unsigned char *link() const {
        return slopes(2);
    }
    __device__ __forceinline__ unsigned char *queries(int i) const {
        return link() + Plan::LINK_BYTES + i * Plan::STAGE_BYTES;
    }
    __device__ __forceinline__ unsigned char *cotangents(int i) const {
        return queries(Plan::STAGES) + i * Plan::STAGE_BYTES;
    }
    __device__ __forceinline__ unsigned char *terms(int i) const {
        return cotangents(Plan::STAGES) + i * TENSOR_ALIGNMENT;
    }
    __device__ __forceinline__ uint64_t *own_full() const {
        return reinterpret_cast<uint64_t *>(terms(Plan::STAGES));
    }
    __device__ __forceinline__ uint64_t *link_ready() const {
        return own_full() + 1;
    }
    __device__ __forceinline__ uint64_t *link_done(int i) const {
        return own_full() + 2 + i;
    }
    __device__ __forceinline__ uint64_t *queries_full(int i) const {
        return own_full() + 4 + i;
    }
    __device__ __forceinline__ uint64_t *queries_empty(int i) const {
        return queries_full(Plan::STAGES) + i;
    }
    __device__ __forceinline__ uint64_t *cotangents_full(int i) const {
        return queries_empty(Plan::STAGES) + i;
    }
    __device__ __forceinline__ uint64_t *cotangents_empty(int i) const {
        return cotangents_full(Plan::STAGES) + i;
    }
    __device__ __forceinline__ backward_walk *walk() const {
        return reinterpret_cast<backward_walk *>(cotangents_empty(Plan::STAGES));
    }
    /* Of this step's chain, before the block's own; of the last link alone. */
    __device__ __forceinline__ int *links_before() const {
        return reinterpret_cast<int *>(walk() + 1);
    }
};

template <typename Plan>
static __device__ __forceinline__ backward_memory<Plan> backward_memory_in(unsigned char *shared) {
    return {shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT};
}

template <typename Plan>
static __device__ __forceinline__ void make_barriers(const backward_memory<Plan> &memory) {
    mbarrier_init(memory.own_full(), 1);
    mbarrier_init(memory.link_ready(), 1);
    mbarrier_init(memory.link_done(0), Plan::WARPS);
    mbarrier_init(memory.link_done(1), Plan::WARPS);
    for (int i = 0; i < Plan::STAGES; ++i) {
        mbarrier_init(memory.queries_full(i), 1);
        mbarrier_init(memory.queries_empty(i), Plan::GROUPS);
        mbarrier_init(memory.cotangents_full(i), 1);
        mbarrier_init(memory.cotangents_empty(i), Plan::GROUPS);
    }
    mbarriers_made();
}

template <typename Plan>
static __device__ __forceinline__ backward_walk walk_of(const sizes &n, unsigned drawn) {
    const place at = key_place<Plan>(gridDim.x - 1 - drawn, {0, n.heads, 0, n.sk});
    return {at, (int)(first_query(n, at.row) / Plan::QUERIES), (int)ceil_div(n.sq, Plan::QUERIES)};
}

/* Links of a tile of queries that come before the one of the keys from `key` on. */
template <typename Plan>
static __device__ __forceinline__ int links_before(const sizes &n, int64_t key, int tile) {
    const int64_t reach = keys_in_reach(n, (int64_t)tile * Plan::QUERIES, Plan::QUERIES);
    return (int)(ceil_div(reach, Plan::ROWS) - 1 - key / Plan::ROWS);
}

#endif
