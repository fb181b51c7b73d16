/*
 * The block of attention v3_hopper: its tiles, its shared memory and its order of work.
 *
 * GROUPS warpgroups have 64 queries each, one thread of a warpgroup of its own brings what they
 * need. Shared memory holds the groups' queries and a ring of stages, which have KEYS keys or KEYS
 * values. For a tile of queries the ring brings, with n tiles of keys that these queries see,
 *
 *     k 0,  k 1, v 0,  k 2, v 1,  ...  k n - 1, v n - 2,  v n - 1
 *
 * so that the scores of a tile can be under way while the one before is weighed. Every warp waits
 * for every stage and hands it back, also where none of its own queries sees the tile: keys once it
 * has weighed them, as it may read them again (hopper_forward.h). With plans that are TOGETHER no
 * warp does, and a warpgroup hands stages back as one.
 *
 * Two mbarriers for each stage, and two for each group's queries:
 *
 *     full     one arrival and the copies' bytes      the loading thread to the groups
 *     empty    of each warp, or group, that has it    the groups to the loading thread
 */
#ifndef ASSAY_ATTENTION_HOPPER_PLAN_H
#define ASSAY_ATTENTION_HOPPER_PLAN_H

#include "kernels/attention/hopper_core.h"
#include "kernels/attention/hopper_groups.h"

/* Of two groups each thread has 240 registers, of three 160, of four 112: o has D / 2 of them, the
 * scores of a tile KEYS / 2, their weights KEYS / 4. LOOKS: in each tile a row's largest product is
 * looked for before it is weighed. Without (hopper_forward.h) takes more registers. TOGETHER: where
 * it does and d is at most 64, a group's warps hand stages back together, rows end behind their
 * last product, and a block's first loads begin before its threads meet. */
template <int D_, int GROUPS_, int KEYS_, int STAGES_, int COLUMNS_ = D_> struct hopper_plan {
    static constexpr int D = D_, COLUMNS = COLUMNS_, GROUPS = GROUPS_, KEYS = KEYS_,
                         STAGES = STAGES_;
    static constexpr int ROWS = GROUPS * GROUP_ROWS, THREADS = (GROUPS + 1) * GROUP;
    static constexpr int FEW_REGISTERS = GROUPS == 3 ? 32 : 24;
    static constexpr int MANY_REGISTERS = GROUPS == 2 ? 240 : GROUPS == 3 ? 160 : 112;
    static constexpr int SPARE_REGISTERS = MANY_REGISTERS - COLUMNS / 2 - KEYS / 2 - KEYS / 4;
    static constexpr bool LOOKS = D > 128 || SPARE_REGISTERS < 48;
    static constexpr bool TOGETHER = LOOKS && D <= BOX;
    /* Arrivals of a group that hands something back. */
    static constexpr int RELEASES = TOGETHER ? 1 : GROUP_WARPS;
    static constexpr int QUERY_BYTES = GROUP_ROWS * D * 2, STAGE_BYTES = KEYS * D * 2;
    static constexpr int SHARED = TENSOR_ALIGNMENT + GROUPS * QUERY_BYTES + STAGES * STAGE_BYTES +
                                  2 * (STAGES + GROUPS) * (int)sizeof(uint64_t);
    static_assert(SHARED <= ASSAY_MAX_SHARED, "a block has them all");
    static_assert(STAGES >= 4, "a tile's keys and another's values, and the next of both");
};

/* The block's shared memory. */
template <typename Plan> struct hopper_memory {
    unsigned char *base;

    __device__ __forceinline__ unsigned char *queries(int group) const {
        return base + group * Plan::QUERY_BYTES;
    }
    __device__ __forceinline__ unsigned char *stage(int i) const {
        return queries(Plan::GROUPS) + i * Plan::STAGE_BYTES;
    }
    __device__ __forceinline__ uint64_t *full(int i) const {
        return reinterpret_cast<uint64_t *>(stage(Plan::STAGES)) + i;
    }
    __device__ __forceinline__ uint64_t *empty(int i) const {
        return full(Plan::STAGES) + i;
    }
    __device__ __forceinline__ uint64_t *queries_full(int group) const {
        return empty(Plan::STAGES) + group;
    }
    __device__ __forceinline__ uint64_t *queries_empty(int group) const {
        return queries_full(Plan::GROUPS) + group;
    }
};

template <typename Plan>
static __device__ __forceinline__ hopper_memory<Plan> memory_in(unsigned char *shared) {
    return {shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT};
}

template <typename Plan>
static __device__ __forceinline__ void make_barriers(const hopper_memory<Plan> &memory) {
    for (int i = 0; i < Plan::STAGES; ++i) {
        mbarrier_init(memory.full(i), 1);
        mbarrier_init(memory.empty(i), Plan::GROUPS * Plan::RELEASES);
    }
    for (int group = 0; group < Plan::GROUPS; ++group) {
        mbarrier_init(memory.queries_full(group), 1);
        mbarrier_init(memory.queries_empty(group), Plan::RELEASES);
    }
    mbarriers_made();
}

/* Heads of tiles of `length` rows, which walk along `walked` rows. As few groups as let half the
 * cache hold keys and values, or q and do, of a group's heads, 4 bytes for each element of a row.
 * With a mask a group has two tiles for each multiprocessor at least, so that short walks and long
 * ones meet. Without one it has two heads at the most, few of which are under way at once. */
template <typename Plan>
static head_groups groups_of_places(const sizes &n, int64_t length, int64_t walked) {
    const int64_t bytes = n.heads * walked * Plan::D * 4;
    const int64_t tiles = n.heads * ceil_div(length, Plan::ROWS);
    const int64_t wanted = ceil_div(bytes, CACHE / 2 * ASSAY_MULTIPROCESSORS);
    if (!n.causal)
        return groups_of(n, clamp(wanted, ceil_div(n.heads, 2), n.heads), n.heads);
    return groups_of(n, wanted, wanted == 1 ? 0 : tiles / (2 * ASSAY_MULTIPROCESSORS));
}

template <typename Plan> static head_groups groups_of_tiles(const sizes &n) {
    return groups_of_places<Plan>(n, n.sq, n.sk);
}

/* This block's tiles of `length` rows, the last of which have the longest walks.
 * In the last group these come first, in the one before the shortest; and blocks take tiles to and
 * fro, so that all have about as much to do. */
template <typename Plan> struct tile_turns {
    const head_groups &groups;
    uint32_t of_head, tiles, begin, own;
    bool alone;

    __device__ __forceinline__ tile_turns(const sizes &n, int64_t length, const head_groups &in)
        : groups(in), of_head((uint32_t)ceil_div(length, Plan::ROWS)),
          tiles((uint32_t)n.heads * of_head), begin(0), own(blockIdx.x),
          alone(n.heads == in.heads) {
    }
    __device__ __forceinline__ bool more() const {
        return begin + own < tiles;
    }
    __device__ __forceinline__ void next() {
        begin += gridDim.x;
        own = gridDim.x - 1 - own;
    }
    /* Meaningless where there are no more. */
    __device__ __forceinline__ place here() const {
        const turn_of_head turn = turn_at(groups, of_head, begin + own);
        const bool grows = !alone && turn.group % 2 == 0;
        return {turn.head, (int64_t)(grows ? turn.turn : of_head - 1 - turn.turn) * Plan::ROWS};
    }
};

/* visit(place) for each. */
template <typename Plan, typename Visit>
static __device__ __forceinline__ void each_place(const sizes &n, int64_t length,
                                                  const head_groups &groups, Visit visit) {
    for (tile_turns<Plan> turns(n, length, groups); turns.more(); turns.next())
        visit(turns.here());
}

template <typename Plan, typename Visit>
static __device__ __forceinline__ void each_tile(const sizes &n, const head_groups &groups,
                                                 Visit visit) {
    each_place<Plan>(n, n.sq, groups, visit);
}

/* Tiles of keys that one of `count` queries from `first` on sees. */
template <typename Plan>
static __device__ __forceinline__ int tiles_in_reach(const sizes &n, int64_t first, int count) {
    return (int)ceil_div(keys_in_reach(n, first, count), Plan::KEYS);
}

#endif
