/*
 * The block of attention v3_hopper's backward: its tile, its shared memory and its barriers.
 *
 * A block has a tile of 128 keys, two warpgroups with 64 each, and walks along the tiles of QUERIES
 * queries that see them. dk and dv are the warpgroups' sums. dq of a tile of queries is a chain:
 * each tile of keys that it sees adds its part in fp32 to memory. The first link stores, the last
 * one rounds. A count in memory says how many links have added theirs.
 *
 * Blocks draw their tiles, head by head in groups (hopper_groups.h), and wait only for links of
 * blocks that drew before them. In an even group the last keys come first, and walks go up. With
 * causal=1 these are the short walks, each begins where its first query sees the keys, and of two
 * neighbours that begin together the one is a step ahead of the other in every tile of queries:
 * where links wait, they wait for little. In an odd group, of causal=1 alone, the first keys come
 * first, and walks go down, from the last query: the short walks of the group before end first, so
 * that the long ones of this group begin each a step or two behind the one before. The order of the
 * sums of dq, dk and dv depends on the group.
 *
 * Without a mask and with four tiles of keys or more, the last group's last links are added like
 * the others. Blocks that draw behind all walks round the sums (hopper_rounding.h), each tile of
 * queries once its chain is complete.
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
 *                                   or, of a last link, has the sums
 *     link_done                     of even and of odd steps: dq is there, or the sums were read
 */
#ifndef ASSAY_ATTENTION_HOPPER_BACKWARD_PLAN_H
#define ASSAY_ATTENTION_HOPPER_BACKWARD_PLAN_H

#include "kernels/attention/hopper_core.h"
#include "kernels/attention/hopper_groups.h"

static constexpr int ROUNDS = -1; /* steps of a block that rounds */

/* A block's tile of keys and its walk along tiles of queries. */
struct backward_walk {
    place at;
    int first, steps; /* the number of the first tile; how many, or ROUNDS of that one */
    int last_links;   /* the step from which on its links are their chains' last ones */
    bool down;

    __device__ __forceinline__ int tile(int step) const {
        return down ? first - step : first + step;
    }
};

template <typename Plan> struct backward_memory;

/* Scores and dP have QUERIES / 2 registers each of a thread's 240, dk and dv COLUMNS / 2 each. */
template <int D_, int QUERIES_, int STAGES_, int COLUMNS_ = D_> struct backward_plan {
    static constexpr int D = D_, QUERIES = QUERIES_, STAGES = STAGES_, GROUPS = 2;
    static constexpr int COLUMNS = COLUMNS_; /* that are multiplied, of boxes' D */
    static constexpr int LINK_COLUMNS = COLUMNS < BOX ? COLUMNS : BOX; /* a warpgroup's of dq */
    static constexpr int ROWS = GROUPS * GROUP_ROWS;                   /* keys */
    static constexpr int THREADS = (GROUPS + 1) * GROUP, WARPS = GROUPS * GROUP / WARP;
    static constexpr int FEW_REGISTERS = 24, MANY_REGISTERS = 240;
    static constexpr int OWN_BYTES = ROWS * D * 2, STAGE_BYTES = QUERIES * D * 2;
    static constexpr int SLOPE_BYTES = QUERIES * ROWS * 2;
    static constexpr int TERM_BYTES = QUERIES * (int)sizeof(float2);
    static constexpr int SUMS = GROUPS * GROUP_ROWS * LINK_COLUMNS; /* of dq, of a tile */
    static constexpr int LINK_BYTES = SUMS * (int)sizeof(float);
    static constexpr int BARRIERS = 4 + 4 * STAGES;
    static constexpr int SHARED = TENSOR_ALIGNMENT + 2 * OWN_BYTES + 2 * SLOPE_BYTES + LINK_BYTES +
                                  STAGES * (2 * STAGE_BYTES + TENSOR_ALIGNMENT) +
                                  BARRIERS * (int)sizeof(uint64_t) + (int)sizeof(backward_walk) +
                                  (int)sizeof(int);
    static_assert(QUERIES == 2 * GROUP_ROWS || (QUERIES == GROUP_ROWS && D == 2 * BOX),
                  "a warpgroup has half of dq's rows, or of its columns");
    static_assert(TERM_BYTES <= TENSOR_ALIGNMENT, "a stage has room for them");
    static_assert(SHARED <= ASSAY_MAX_SHARED, "a block has them all");
    typedef backward_memory<backward_plan> memory;
};

static constexpr int NOT_LAST = -1;

/* Where warpgroups and the threads that pass links on meet. */
struct link_slot {
    unsigned char *sums; /* fp32, a thread's four beside those of its neighbours */
    uint64_t *ready;
    int *before; /* links of the step's chain before the block's own where that is the last one, or
                    NOT_LAST */
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
    __device__ __forceinline__ link_slot slot() const {
        return {link(), own_full() + 1, reinterpret_cast<int *>(walk() + 1)};
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
};

template <typename Plan>
static __device__ __forceinline__ typename Plan::memory backward_memory_in(unsigned char *shared) {
    return {shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT};
}

template <typename Plan>
static __device__ __forceinline__ void make_barriers(const backward_memory<Plan> &memory) {
    mbarrier_init(memory.own_full(), 1);
    mbarrier_init(memory.slot().ready, 1);
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

/* As few groups as let the cache hold q, do and the sums of dq of a group's heads, 8 bytes for each
 * element of a query. A group has a tile of keys for each multiprocessor at least. Without a mask
 * all of a chain's links begin at once, each a step behind the one before: a group has eight heads
 * at least, or steps wait longer than memory takes. */
template <typename Plan> static head_groups groups_of_walks(const sizes &n) {
    const int64_t bytes = n.heads * ceil_div(n.sq, Plan::QUERIES) * Plan::SUMS * 8;
    const int64_t tiles = n.heads * ceil_div(n.sk, Plan::ROWS);
    const int64_t wanted = ceil_div(bytes, CACHE * ASSAY_MULTIPROCESSORS);
    const int64_t most = tiles / ASSAY_MULTIPROCESSORS;
    return groups_of(n, wanted, n.causal ? most : clamp(most, 1, ceil_div(n.heads, 8)));
}

/* Whether dq of the last group's heads is rounded by other blocks, which draw behind all walks. The
 * last walk of each head would be a quarter longer than others, when most multiprocessors are idle.
 * Where chains are short, many walks have last links, and with causal=1 all have. */
template <typename Plan>
static __host__ __device__ __forceinline__ bool rounds_apart(const sizes &n) {
    return !n.causal && n.sk > 3 * Plan::ROWS;
}

template <typename Plan>
static __device__ __forceinline__ backward_walk walk_of(const sizes &n, const head_groups &groups,
                                                        uint32_t drawn) {
    const uint32_t tiles = (uint32_t)ceil_div(n.sk, Plan::ROWS);
    const uint32_t all = (uint32_t)n.heads * tiles, last = (uint32_t)groups.heads;
    if (drawn >= all) { /* a tile of queries whose sums are to be rounded */
        const uint32_t number = drawn - all;
        return {{(int64_t)((uint32_t)n.heads - last + number % last), 0},
                (int)(number / last),
                ROUNDS,
                0,
                false};
    }
    const turn_of_head turn = turn_at(groups, tiles, drawn);
    const bool apart = rounds_apart<Plan>(n) && turn.head >= (uint32_t)n.heads - last;
    const bool down = n.causal && turn.group % 2 == 1;
    const place at = {turn.head, (int64_t)(down ? turn.turn : tiles - 1 - turn.turn) * Plan::ROWS};
    const auto first_tile = [&](int64_t key) { return (int)(first_query(n, key) / Plan::QUERIES); };
    const int end = (int)ceil_div(n.sq, Plan::QUERIES), begin_here = first_tile(at.row);
    const int steps = end - begin_here;
    const int64_t key = at.row + Plan::ROWS;
    if (down)
        return {at, end - 1, steps, key < n.sk ? end - first_tile(key) : 0, true};
    return {at, begin_here, steps, at.row == 0 && !apart ? 0 : steps, false};
}

/* A step's link in the chain of its tile of queries. */
struct chain_link {
    int tile;   /* the number of the tile of queries, those of heads before included */
    int before; /* links that come before it */
    bool last;
};

template <typename Plan>
static __device__ __forceinline__ chain_link link_at(const sizes &n, const backward_walk &walk,
                                                     int step) {
    const int tile = walk.tile(step), key = (int)walk.at.row / Plan::ROWS;
    const int reach = (int)keys_in_reach(n, (int64_t)tile * Plan::QUERIES, Plan::QUERIES);
    return {(int)walk.at.head * (int)ceil_div(n.sq, Plan::QUERIES) + tile,
            walk.down ? key : (reach - 1) / Plan::ROWS - key, step >= walk.last_links};
}

#endif
