/*
 * A persistent kernel for products in bf16 and f16: TMA brings operands to a ring of stages in
 * shared memory, wgmma multiplies them, TMA takes the results away.
 *
 * The threads of a block of three warpgroups:
 *
 *     thread 0     fills stages: for each tile its slices of k, then what is added to it
 *     thread 32    empties those that hold results
 *     the other    two warpgroups, 64 rows of the tile each: add up a tile's products in registers,
 *     256          then add what lies in the ring behind the slices, and put the results there
 *
 * Three mbarriers a stage hand it on:
 *
 *     full         one arrival and the copies' bytes    thread 0 to the warpgroups
 *     results      a lane of each of the eight warps    the warpgroups to thread 32
 *     empty        two arrivals                         both warpgroups, or thread 32 alone, which
 *                                                       arrives twice, to thread 0
 *
 * So the copies of the next tile's slices are under way while this one's results are rounded and
 * stored. Where results or what is added cannot be mapped, the warpgroups load and store elements.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_HOPPER_TILE_H
#define ASSAY_MATMUL_ACCUMULATE_HOPPER_TILE_H

#include "kernels/matmul_accumulate/hopper_cluster.h"
#include "kernels/matmul_accumulate/hopper_operand.h"
#include "kernels/matmul_accumulate/hopper_shares.h"

enum {
    GROUP = 128, /* threads of a warpgroup */
    WARPS = 8,   /* that multiply */
    THREADS = 3 * GROUP,
    BOX = TENSOR_BOX_LENGTH,
    DEPTH = BOX, /* of a slice of k */
    STEP = 16,   /* of k, of a wgmma */
    BOX_BYTES = BOX * TENSOR_LINE_BYTES,
    FEW_REGISTERS = 40,
    MANY_REGISTERS = 232, /* 128 FEW + 256 MANY are what launch bounds leave for 384 threads */
};

/* MIXED: COLUMNS are the most of a tile, and hopper_shares.h says which tiles there are. DOWN:
 * hopper_cluster.h. */
template <int COLUMNS, int STAGES_, bool MIXED = false, int DOWN = 1> struct hopper_tile {
    static constexpr bool mixed = MIXED;
    static constexpr int down = DOWN; /* blocks of a cluster */
    static constexpr int columns = COLUMNS, stages = STAGES_, sums = COLUMNS / 2;
    static constexpr int left_bytes = ROWS * DEPTH * 2, right_bytes = COLUMNS * DEPTH * 2;
    static constexpr int stage_bytes = left_bytes + right_bytes;
    /* Results: boxes of 64 rows and columns, two warpgroups' side by side. */
    static constexpr int boxes = COLUMNS / BOX, per_stage = stage_bytes / (2 * BOX_BYTES);
    static constexpr int result_stages = (boxes + per_stage - 1) / per_stage;
    static constexpr int shared_bytes =
        TENSOR_ALIGNMENT + stages * (stage_bytes + 3 * (int)sizeof(uint64_t));
    static_assert(shared_bytes <= ASSAY_MAX_SHARED, "the ring fits a block");
    static_assert(result_stages < stages, "slices come while results leave");
};

/* Lines of the right operand's box, where they are along k: 256 at most. */
template <typename Tile>
constexpr int right_lines = Tile::mixed                ? UNIT
                            : Tile::columns > 4 * UNIT ? Tile::columns / 2
                                                       : Tile::columns;

/* Blocks that a result keeps busy: one for each share, or for each tile, STEP columns from the next
 * one's. */
template <typename Tile, int STEP = Tile::columns>
static int64_t hopper_blocks(int64_t m, int64_t n) {
    return Tile::mixed ? blocks_of_shares(m, n, Tile::down)
                       : Tile::down * hopper_tiles<STEP, Tile::down>(m, n);
}

/* visit(place, units) for this block's tiles, of so many units of 64 columns: a constant unless
 * they are mixed. */
template <typename Tile, int STEP = Tile::columns, typename Visit>
static __device__ __forceinline__ void each_part(int64_t m, int64_t n, Visit visit) {
    if constexpr (Tile::mixed)
        each_tile_of_share<Tile::columns / UNIT, Tile::down>(m, n, visit);
    else
        each_tile<STEP, Tile::down>(m, n, [&](hopper_place at) { visit(at, STEP / UNIT); });
}

/* multiply(sums) for a tile of mixed ones. Not zeroed, sums of several widths are all alive at once
 * to ptxas, which serializes wgmma for want of registers. */
template <int UNITS, typename Multiply>
static __device__ __forceinline__ void with_zeros(Multiply multiply) {
    float sums[UNITS * UNIT / 2] = {};
    multiply(sums);
}

/* A tile's sums in registers: multiply(sums). */
template <typename Tile, typename Multiply>
static __device__ __forceinline__ void with_sums(int units, Multiply multiply) {
    if constexpr (!Tile::mixed) {
        float sums[Tile::sums];
        multiply(sums);
    } else {
        if constexpr (Tile::columns > 4 * UNIT)
            if (units == 5)
                return with_zeros<5>(multiply);
        if (units == 4)
            with_zeros<4>(multiply);
        else if (units == 3)
            with_zeros<3>(multiply);
        else
            with_zeros<2>(multiply);
    }
}

struct hopper_maps {
    tensor_map left, right, added, out;
};

/* A kind of product: whether the operands' lines in memory are along k, and whether something may
 * be added. */
template <bool LEFT_K_INNER, bool RIGHT_K_INNER, bool MAY_ADD> struct hopper_kind {
    static constexpr bool left_k = LEFT_K_INNER, right_k = RIGHT_K_INNER, may_add = MAY_ADD;
};

/* out = times left right + added, if it adds. `staged`: by way of the maps. */
template <typename T> struct hopper_problem {
    matrix<const T> added;
    matrix<T> out;
    int64_t m, n;
    int32_t slices; /* of k */
    float times;
    bool adds, staged;
};

template <typename Kind, typename T>
static __device__ __forceinline__ bool adds(const hopper_problem<T> &p) {
    return Kind::may_add && p.adds;
}

/* Where a role is in a ring of stages, which mbarriers follow. */
template <typename Tile> struct stage_ring {
    unsigned char *stages;
    int stage;
    uint32_t round; /* parity */

    __device__ __forceinline__ void next() {
        if (++stage == Tile::stages) {
            stage = 0;
            round ^= 1;
        }
    }
    __device__ __forceinline__ uint64_t *full() const {
        return reinterpret_cast<uint64_t *>(stages + Tile::stages * Tile::stage_bytes) + stage;
    }
    __device__ __forceinline__ unsigned char *data() const {
        return stages + stage * Tile::stage_bytes;
    }
};

template <typename Tile> struct hopper_ring : stage_ring<Tile> {
    __device__ __forceinline__ uint64_t *results() const {
        return this->full() + Tile::stages;
    }
    __device__ __forceinline__ uint64_t *empty() const {
        return this->full() + 2 * Tile::stages;
    }
    /* The results' box i of a warpgroup. */
    __device__ __forceinline__ unsigned char *box(int i, int group) const {
        return this->data() + (2 * (i % Tile::per_stage) + group) * BOX_BYTES;
    }
    /* Of the boxes in one stage. */
    static __device__ __forceinline__ bool is_first(int i) {
        return i % Tile::per_stage == 0;
    }
    static __device__ __forceinline__ bool is_last(int i, int boxes) {
        return i % Tile::per_stage == Tile::per_stage - 1 || i == boxes - 1;
    }
};

template <typename Ring> static __device__ __forceinline__ Ring ring_in(unsigned char *shared) {
    return {shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT, 0, 0};
}

template <typename Tile>
static __device__ __forceinline__ void make_barriers(hopper_ring<Tile> ring) {
    for (int s = 0; s < Tile::stages; ++s) {
        mbarrier_init(ring.full(), 1);
        mbarrier_init(ring.results(), WARPS);
        mbarrier_init(ring.empty(), 2 * Tile::down);
        ring.next();
    }
    mbarriers_made();
}

/* ---- thread 0 ---- */

/* `lines` of an operand at (line, k) to `to`: in boxes of BOX_LINES where they are along k, else of
 * 64 by 64. */
template <bool K_INNER, int BOX_LINES>
static __device__ __forceinline__ void load_operand(const tensor_map *map, unsigned char *to,
                                                    int32_t line, int32_t k, int lines,
                                                    uint64_t *full) {
    for (int i = 0; i < lines; i += K_INNER ? BOX_LINES : BOX)
        tensor_load(to + i * TENSOR_LINE_BYTES, map, K_INNER ? k : line + i, K_INNER ? line + i : k,
                    full);
}

/* This block's part of a right operand's slice, for all of its cluster. */
template <typename Tile, typename Kind>
static __device__ __forceinline__ void load_right(const tensor_map *map, unsigned char *to,
                                                  int32_t column, int32_t k, int lines,
                                                  uint64_t *full) {
    constexpr int down = Tile::down, part = (Kind::right_k ? right_lines<Tile> : DEPTH) / down;
    const int first = rank_in_cluster<down>() * part;
    if constexpr (Kind::right_k)
        for (int i = first; i < lines; i += part * down)
            load_for_all<down>(to + i * TENSOR_LINE_BYTES, map, k, column + i, full);
    else
        for (int i = 0; i < lines; i += BOX)
            load_for_all<down>(to + (i + first) * TENSOR_LINE_BYTES, map, column + i, k + first,
                               full);
}

template <typename Tile, typename Kind, typename T>
static __device__ __forceinline__ void fill(const hopper_problem<T> &p, const hopper_maps &maps,
                                            hopper_ring<Tile> ring) {
    each_part<Tile>(p.m, p.n, [&](hopper_place at, int units) {
        for (int32_t slice = 0; slice < p.slices; ++slice) {
            uint64_t *full = ring.full();
            const int32_t k = slice * DEPTH;
            mbarrier_wait(ring.empty(), ring.round ^ 1);
            mbarrier_expect(full, Tile::left_bytes + units * BOX_BYTES);
            load_operand<Kind::left_k, ROWS>(&maps.left, ring.data(), at.row, k, ROWS, full);
            load_right<Tile, Kind>(&maps.right, ring.data() + Tile::left_bytes, at.column, k,
                                   units * UNIT, full);
            ring.next();
        }
        for (int i = 0; p.staged && i < units; ++i) {
            uint64_t *full = ring.full();
            const int boxes = (int)clamp(units - i, 0, Tile::per_stage);
            if (ring.is_first(i)) {
                mbarrier_wait(ring.empty(), ring.round ^ 1);
                mbarrier_expect(full, adds<Kind>(p) ? boxes * 2 * BOX_BYTES : 0);
            }
            for (int group = 0; adds<Kind>(p) && group < 2; ++group)
                tensor_load(ring.box(i, group), &maps.added, at.column + i * BOX,
                            at.row + group * BOX, full);
            if (ring.is_last(i, units))
                ring.next();
        }
    });
}

/* ---- thread 32 ---- */

template <typename Tile, typename T>
static __device__ __forceinline__ void drain(const hopper_problem<T> &p, const hopper_maps &maps,
                                             hopper_ring<Tile> ring) {
    const int slices = p.slices % Tile::stages;
    uint32_t rounds = 0; /* a bit for each stage: the parity of its results */
    each_part<Tile>(p.m, p.n, [&](hopper_place at, int units) {
        ring.stage = (ring.stage + slices) % Tile::stages;
        for (int i = 0; i < units; ++i) {
            if (ring.is_first(i))
                mbarrier_wait(ring.results(), rounds >> ring.stage & 1);
            for (int group = 0; group < 2; ++group)
                tensor_store(&maps.out, at.column + i * BOX, at.row + group * BOX,
                             ring.box(i, group));
            if (ring.is_last(i, units)) {
                bulk_commit();
                bulk_wait_read<0>();
                arrive_at_all<Tile::down>(ring.empty(), 2);
                rounds ^= 1u << ring.stage;
                ring.next();
            }
        }
    });
    bulk_wait<0>();
}

/* ---- the warpgroups that multiply ---- */

static __device__ __forceinline__ bool leads_group() {
    return threadIdx.x % GROUP == 0;
}

/* The sums from the first of them on. */
template <int N> static __device__ __forceinline__ float (&sums_from(float *first))[N] {
    return *reinterpret_cast<float(*)[N]>(first);
}

/* A step of k. A wgmma has 256 columns at most, so those of five units are two. */
template <typename Kind, typename T, int SUMS>
static __device__ __forceinline__ void multiply_step(float (&sums)[SUMS], uint64_t left,
                                                     uint64_t right, bool adds) {
    constexpr int first = 3 * UNIT;
    if constexpr (2 * SUMS <= 4 * UNIT) {
        wgmma<T, !Kind::left_k, !Kind::right_k>(sums, left, right, adds);
    } else {
        wgmma<T, !Kind::left_k, !Kind::right_k>(sums_from<first / 2>(sums), left, right, adds);
        wgmma<T, !Kind::left_k, !Kind::right_k>(sums_from<SUMS - first / 2>(sums + first / 2), left,
                                                right + (first * TENSOR_LINE_BYTES >> 4), adds);
    }
}

/* The ring's slices of one tile. A stage is free when the products of the next one have begun, of
 * which the wait leaves one group. */
template <typename Tile, typename Kind, typename T, int SUMS>
static __device__ __forceinline__ void multiply_slices(const hopper_problem<T> &p, int group,
                                                       hopper_ring<Tile> &ring,
                                                       float (&sums)[SUMS]) {
    constexpr int left_step = (Kind::left_k ? STEP * 2 : STEP * TENSOR_LINE_BYTES) >> 4;
    constexpr int right_step = (Kind::right_k ? STEP * 2 : STEP * TENSOR_LINE_BYTES) >> 4;
    hopper_ring<Tile> before = ring;
    for (int32_t slice = 0; slice < p.slices; ++slice) {
        const uint32_t stage = shared_address(ring.data());
        const uint64_t left = wgmma_descriptor(stage + group * BOX_BYTES, BOX_BYTES);
        const uint64_t right = wgmma_descriptor(stage + Tile::left_bytes, BOX_BYTES);
        mbarrier_wait(ring.full(), ring.round);
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < DEPTH / STEP; ++step)
            multiply_step<Kind, T>(sums, left + step * left_step, right + step * right_step,
                                   slice > 0 || step > 0);
        wgmma_commit();
        wgmma_wait<1>();
        if (slice > 0)
            group_arrives_at_all<Tile::down, GROUP>(before.empty());
        before = ring;
        ring.next();
    }
    wgmma_wait<0>();
    wgmma_results(sums);
    group_arrives_at_all<Tile::down, GROUP>(before.empty());
}

template <typename Kind, typename T>
static __device__ __forceinline__ float result(const hopper_problem<T> &p, float sum, T added) {
    return adds<Kind>(p) ? fma_(p.times, sum, widen(added)) : p.times * sum;
}

/* Rounds this thread's results of one box into it, where what is added lies. */
template <typename Kind, typename T>
static __device__ __forceinline__ void finish_box(const hopper_problem<T> &p, unsigned char *box,
                                                  const float *sums) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x % GROUP / 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row = 16 * warp + lane / 4 + 8 * half;
#pragma unroll
        for (int j = 0; j < BOX / 8; ++j) {
            pair_t<T> *pair = reinterpret_cast<pair_t<T> *>(box + row * TENSOR_LINE_BYTES +
                                                            (j ^ row % 8) * 16 + lane % 4 * 4);
            const pair_t<T> added = adds<Kind>(p) ? load_whole(pair) : narrow_pair<T>(0, 0);
            *pair = narrow_pair<T>(result<Kind>(p, sums[4 * j + 2 * half], added.x),
                                   result<Kind>(p, sums[4 * j + 2 * half + 1], added.y));
        }
    }
}

template <typename Tile, typename Kind, typename T, int SUMS>
static __device__ __forceinline__ void finish_staged(const hopper_problem<T> &p, int group,
                                                     hopper_ring<Tile> &ring,
                                                     const float (&sums)[SUMS]) {
    constexpr int boxes = 2 * SUMS / BOX;
#pragma unroll
    for (int i = 0; i < boxes; ++i) {
        if (ring.is_first(i))
            mbarrier_wait(ring.full(), ring.round);
        finish_box<Kind>(p, ring.box(i, group), sums + i * BOX / 2);
        if (ring.is_last(i, boxes)) {
            fence_proxy_async();
            __syncwarp();
            if (threadIdx.x % 32 == 0)
                mbarrier_arrive(ring.results());
            ring.next();
        }
    }
}

template <typename Kind, typename T, int SUMS>
static __device__ __forceinline__ void finish_elements(const hopper_problem<T> &p, hopper_place at,
                                                       int group, const float (&sums)[SUMS]) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x % GROUP / 32;
#pragma unroll
    for (int i = 0; i < SUMS; ++i) {
        const int64_t row = (int64_t)at.row + group * BOX + 16 * warp + lane / 4 + 8 * (i % 4 / 2);
        const int64_t column = (int64_t)at.column + i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (row >= p.m || column >= p.n)
            continue;
        const T added = adds<Kind>(p) ? p.added.data[row * p.added.stride + column] : narrow<T>(0);
        p.out.data[row * p.out.stride + column] = narrow<T>(result<Kind>(p, sums[i], added));
    }
}

template <typename Tile, typename Kind, typename T>
static __device__ __forceinline__ void multiply_tiles_of(const hopper_problem<T> &p, int group,
                                                         hopper_ring<Tile> ring) {
    each_part<Tile>(p.m, p.n, [&](hopper_place at, int units) {
        with_sums<Tile>(units, [&](auto &sums) {
            multiply_slices<Tile, Kind>(p, group, ring, sums);
            if (Tile::mixed || p.staged)
                finish_staged<Tile, Kind>(p, group, ring, sums);
            else
                finish_elements<Kind>(p, at, group, sums);
        });
    });
}

template <typename Tile, typename Kind, typename T>
static __global__ void __launch_bounds__(THREADS, 1)
    multiply_on_hopper(const hopper_problem<T> p, const __grid_constant__ hopper_maps maps) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    const hopper_ring<Tile> ring = ring_in<hopper_ring<Tile>>(shared);
    if (threadIdx.x == 0)
        make_barriers(ring);
    __syncthreads();
    if constexpr (Tile::down > 1)
        mbarriers_made_in_cluster();
    if (threadIdx.x < GROUP) {
        registers_lower<FEW_REGISTERS>();
        if (threadIdx.x == 0)
            fill<Tile, Kind>(p, maps, ring);
        else if (threadIdx.x == 32 && p.staged)
            drain(p, maps, ring);
    } else {
        registers_raise<MANY_REGISTERS>();
        multiply_tiles_of<Tile, Kind>(p, (int)threadIdx.x / GROUP - 1, ring);
    }
    if constexpr (Tile::down > 1) /* behind the last arrivals at each other's barriers */
        cluster_barrier();
}

#endif
