/*
 * The block of attention v3_bf16x6 and v3_bf16x3: its tiles, its shared memory and its order of
 * work.
 *
 * GROUPS warpgroups have 64 queries each, all digits of them, one thread of a warpgroup of its own
 * brings what they need. A ring's units have one digit of KEYS keys or values. For each tile of
 * keys it brings the keys' digits, the last first, then the values'. All groups wait for every
 * unit, and give it back, each one by an arrival.
 */
#ifndef ASSAY_ATTENTION_DIGIT_PLAN_H
#define ASSAY_ATTENTION_DIGIT_PLAN_H

#include "kernels/attention/digit_split.h"
#include "kernels/attention/hopper_core.h"

enum { HEADS_ABREAST = 8 };

/* A thread's registers: D / 2 of o, with PARTS as many of a tile's part of it, KEYS / 2 of
 * scores, whose digits, KEYS / 4 each, then take their place. */
template <typename Digits_, int D_, int KEYS_, int UNITS_, int COLUMNS_ = D_> struct digit_plan {
    typedef Digits_ Digits;
    static constexpr int N_DIGITS = Digits::N, SCORE_DIGITS = Digits::OF_SCORES;
    static constexpr int D = D_, COLUMNS = COLUMNS_, GROUPS = 2, KEYS = KEYS_, UNITS = UNITS_;
    static constexpr int ROWS = GROUPS * GROUP_ROWS, THREADS = (GROUPS + 1) * GROUP;
    static constexpr int FEW_REGISTERS = 24, MANY_REGISTERS = 240;
    static constexpr int QUERY_BYTES = GROUP_ROWS * D * 2; /* a digit's */
    static constexpr int UNIT_BYTES = KEYS * D * 2;
    static constexpr int SHARED = TENSOR_ALIGNMENT + GROUPS * SCORE_DIGITS * QUERY_BYTES +
                                  UNITS * UNIT_BYTES + (2 * UNITS + GROUPS) * (int)sizeof(uint64_t);
    static_assert(SHARED <= ASSAY_MAX_SHARED, "a block has them all");
    static_assert(UNITS >= SCORE_DIGITS + N_DIGITS, "a tile's keys and values");
};

/* The block's shared memory. */
template <typename Plan> struct digit_memory {
    unsigned char *base;

    __device__ __forceinline__ unsigned char *queries(int group, int digit) const {
        return base + (group * Plan::SCORE_DIGITS + digit) * Plan::QUERY_BYTES;
    }
    __device__ __forceinline__ unsigned char *unit(int i) const {
        return queries(Plan::GROUPS, 0) + i * Plan::UNIT_BYTES;
    }
    __device__ __forceinline__ uint64_t *full(int i) const {
        return reinterpret_cast<uint64_t *>(unit(Plan::UNITS)) + i;
    }
    __device__ __forceinline__ uint64_t *empty(int i) const {
        return full(Plan::UNITS) + i;
    }
    __device__ __forceinline__ uint64_t *queries_full(int group) const {
        return empty(Plan::UNITS) + group;
    }
};

template <typename Plan>
static __device__ __forceinline__ digit_memory<Plan> digit_memory_in(unsigned char *shared) {
    return {shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT};
}

template <typename Plan>
static __device__ __forceinline__ void make_barriers(const digit_memory<Plan> &memory) {
    for (int i = 0; i < Plan::UNITS; ++i) {
        mbarrier_init(memory.full(i), 1);
        mbarrier_init(memory.empty(i), Plan::GROUPS);
    }
    for (int group = 0; group < Plan::GROUPS; ++group)
        mbarrier_init(memory.queries_full(group), 1);
    mbarriers_made();
}

/* Head and tile of a block, of so many tiles of each of so many heads. Heads come one after the
 * other, so that blocks that run together walk along the same keys; with causal=1, where walks are
 * not of one length, some side by side, the first tile of each, then the second. */
struct turn_of_walks {
    int64_t head, tile;
};

static __device__ __forceinline__ turn_of_walks turn_of_walk(int64_t block, const sizes &n,
                                                             int64_t heads, int64_t tiles) {
    const int64_t most = n.causal ? HEADS_ABREAST : 1, group = block / (most * tiles) * most;
    const int64_t abreast = heads - group < most ? heads - group : most;
    const int64_t inside = block - group * tiles;
    return {group + inside % abreast, inside / abreast};
}

/* A block's tile of queries: the longest walks come first. */
template <typename Plan>
static __device__ __forceinline__ place digit_place(int64_t block, const sizes &n, int64_t heads) {
    const int64_t tiles = ceil_div(n.sq, Plan::ROWS);
    const turn_of_walks turn = turn_of_walk(block, n, heads, tiles);
    return {turn.head, (tiles - 1 - turn.tile) * Plan::ROWS};
}

#endif
