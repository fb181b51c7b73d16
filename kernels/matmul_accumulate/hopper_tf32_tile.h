/*
 * A persistent kernel for products in TF32: TMA rounds operands to a ring of stages in shared
 * memory, wgmma multiplies them. Threads, stages and mbarriers are those of hopper_tile.h, but that
 * each warp leaves a stage by an arrival of its own.
 *
 * Tiles of 256 and 192 columns send results through the ring, as those do. Smaller ones, and where
 * results or what is added cannot be mapped, store pairs of neighbours from registers, and thread 0
 * asks the L2 cache for what is added. On an H100, cold, with something added, pairs take at
 * m = n = k = 4096 6 % longer, at 1024, in tiles of 64 columns, 15 % less.
 *
 * wgmma takes TF32 from shared memory only with lines along k. The right operand's are. The left
 * one's may be across k: then it is held in registers, where a thread's numbers come from anywhere
 * (tf32_row), loaded for the next slice while this one is multiplied.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_HOPPER_TF32_TILE_H
#define ASSAY_MATMUL_ACCUMULATE_HOPPER_TF32_TILE_H

#include "kernels/matmul_accumulate/hopper_tile.h"

constexpr int TF32_DEPTH = TENSOR_LINE_BYTES / 4; /* of a slice of k */
constexpr int TF32_STEP = 8;                      /* of k, of a wgmma */
constexpr int TF32_STEPS = TF32_DEPTH / TF32_STEP;
constexpr int TF32_BOX = TENSOR_LINE_BYTES / 4;                /* numbers in a line of a box */
constexpr int TF32_BOX_BYTES = TF32_DEPTH * TENSOR_LINE_BYTES; /* of one across k */
constexpr int TF32_GROUP_ROWS = ROWS / 2;                      /* a warpgroup's */

template <int COLUMNS, int STAGES_, bool MIXED = false> struct tf32_tile {
    static constexpr bool mixed = MIXED;
    static constexpr int down = 1;
    static constexpr int columns = COLUMNS, stages = STAGES_, sums = COLUMNS / 2;
    static constexpr int left_bytes = ROWS * TENSOR_LINE_BYTES;
    static constexpr int stage_bytes = left_bytes + COLUMNS * TENSOR_LINE_BYTES;
    /* Results: boxes of 64 lines of 32 numbers, two warpgroups' side by side. */
    static constexpr int boxes = COLUMNS / TF32_BOX, per_stage = stage_bytes / (2 * BOX_BYTES);
    static constexpr bool may_stage = COLUMNS > 128; /* smaller ones are done sooner without */
    static constexpr int result_stages = (boxes + per_stage - 1) / per_stage;
    static constexpr int shared_bytes =
        TENSOR_ALIGNMENT + stages * (stage_bytes + 3 * (int)sizeof(uint64_t));
    static_assert(shared_bytes <= ASSAY_MAX_SHARED, "the ring fits a block");
    static_assert(result_stages < stages, "slices come while results leave");
};

/* A kind of product: whether the left operand's lines are across k, the result's in memory are
 * columns, and something may be added. */
template <bool HELD, bool TURNED, bool MAY_ADD> struct tf32_kind {
    static constexpr bool held = HELD, turned = TURNED, may_add = MAY_ADD;
    static_assert(HELD || !TURNED, "pairs of neighbours in a column are a held operand's");
};

/* out = times left right + added, if it adds. */
struct tf32_problem {
    matrix<const float> added;
    matrix<float> out;
    int64_t m, n;
    int32_t slices; /* of k */
    float times;
    bool adds, staged; /* staged: results, and what is added, by way of the maps */
    bool pairs;        /* even elements of a line lie at multiples of 8 bytes */
    bool fetches;      /* not staged: what is added, by its map, to the L2 cache */
};

constexpr int TF32_UNIT_BOXES = UNIT / TF32_BOX;

template <typename Kind> static __device__ __forceinline__ bool adds(const tf32_problem &p) {
    return Kind::may_add && p.adds;
}

template <typename Tile>
static __device__ __forceinline__ void make_tf32_barriers(hopper_ring<Tile> ring) {
    for (int s = 0; s < Tile::stages; ++s) {
        mbarrier_init(ring.full(), 1);
        mbarrier_init(ring.results(), WARPS);
        mbarrier_init(ring.empty(), WARPS);
        ring.next();
    }
    mbarriers_made();
}

/* Where box i of a warpgroup's results begins in memory. */
struct box_place {
    int32_t element, line;
};
template <typename Kind>
static __device__ __forceinline__ box_place place_of_box(hopper_place at, int i, int group) {
    const int32_t row = at.row + group * TF32_GROUP_ROWS;
    if constexpr (Kind::turned)
        return {row + i % 2 * TF32_BOX, at.column + i / 2 * TF32_GROUP_ROWS};
    return {at.column + i * TF32_BOX, row};
}

/* ---- thread 0 ---- */

template <typename Tile, typename Kind>
static __device__ __forceinline__ void fill_slices(const tf32_problem &p, const hopper_maps &maps,
                                                   hopper_place at, int units,
                                                   hopper_ring<Tile> &ring) {
    for (int32_t slice = 0; slice < p.slices; ++slice) {
        const int32_t k = slice * TF32_DEPTH;
        mbarrier_wait(ring.empty(), ring.round ^ 1);
        mbarrier_expect(ring.full(), Tile::left_bytes + units * UNIT * TENSOR_LINE_BYTES);
        if constexpr (Kind::held) {
            for (int i = 0; i < ROWS / TF32_BOX; ++i)
                tensor_load(ring.data() + i * TF32_BOX_BYTES, &maps.left, at.row + i * TF32_BOX, k,
                            ring.full());
        } else {
            tensor_load(ring.data(), &maps.left, k, at.row, ring.full());
        }
        for (int i = 0; i < units * UNIT; i += right_lines<Tile>)
            tensor_load(ring.data() + Tile::left_bytes + i * TENSOR_LINE_BYTES, &maps.right, k,
                        at.column + i, ring.full());
        ring.next();
    }
}

template <typename Tile, typename Kind>
static __device__ __forceinline__ void fill(const tf32_problem &p, const hopper_maps &maps,
                                            hopper_ring<Tile> ring) {
    each_part<Tile>(p.m, p.n, [&](hopper_place at, int units) {
        const int all = units * TF32_UNIT_BOXES;
        fill_slices<Tile, Kind>(p, maps, at, units, ring);
        for (int i = 0; Kind::may_add && p.fetches && i < 2 * all; ++i) {
            const box_place from = place_of_box<Kind>(at, i / 2, i % 2);
            tensor_prefetch(&maps.added, from.element * 2, from.line);
        }
        for (int i = 0; Tile::may_stage && p.staged && i < all; ++i) {
            const int boxes = (int)clamp(all - i, 0, Tile::per_stage);
            if (ring.is_first(i)) {
                mbarrier_wait(ring.empty(), ring.round ^ 1);
                mbarrier_expect(ring.full(), adds<Kind>(p) ? boxes * 2 * BOX_BYTES : 0);
            }
            for (int group = 0; adds<Kind>(p) && group < 2; ++group) {
                const box_place from = place_of_box<Kind>(at, i, group);
                tensor_load(ring.box(i, group), &maps.added, from.element * 2, from.line,
                            ring.full());
            }
            if (ring.is_last(i, all))
                ring.next();
        }
    });
}

/* ---- thread 32 ---- */

template <typename Tile, typename Kind>
static __device__ __forceinline__ void drain(const tf32_problem &p, const hopper_maps &maps,
                                             hopper_ring<Tile> ring) {
    const int slices = p.slices % Tile::stages;
    uint32_t rounds = 0; /* a bit for each stage: the parity of its results */
    each_part<Tile>(p.m, p.n, [&](hopper_place at, int units) {
        const int all = units * TF32_UNIT_BOXES;
        ring.stage = (ring.stage + slices) % Tile::stages;
        for (int i = 0; i < all; ++i) {
            if (ring.is_first(i))
                mbarrier_wait(ring.results(), rounds >> ring.stage & 1);
            for (int group = 0; group < 2; ++group) {
                const box_place to = place_of_box<Kind>(at, i, group);
                tensor_store(&maps.out, to.element * 2, to.line, ring.box(i, group));
            }
            if (ring.is_last(i, all)) {
                bulk_commit();
                bulk_wait_read<0>();
                for (int warp = 0; warp < WARPS; ++warp)
                    mbarrier_arrive(ring.empty());
                rounds ^= 1u << ring.stage;
                ring.next();
            }
        }
    });
    bulk_wait<0>();
}

/* ---- the left operand in registers ---- */

struct alignas(8) tf32_pair {
    uint32_t v[2];
};

/* Which of a line's eight pieces of 16 bytes this lane's pair is in. A load is done for half a warp
 * at a time, of four k; pieces p and p + 4 are swizzled to all eight places then. */
static __device__ __forceinline__ int tf32_piece() {
    const int g = (int)threadIdx.x % 32 / 4, warp = (int)threadIdx.x / 32;
    return 2 * (warp % 2) + g / 4 + g / 2 % 2 * 4;
}

/* This thread's rows of its warpgroup's 64, `half` 0 and 1. Which rows wgmma's are is free, for
 * elements of the result do not mix: held, two neighbours, in the half of a box that is the warp's.
 */
template <typename Kind> static __device__ __forceinline__ int tf32_row(int half) {
    const int g = (int)threadIdx.x % 32 / 4, warp = (int)threadIdx.x % GROUP / 32;
    if constexpr (Kind::held)
        return warp / 2 * TF32_BOX + tf32_piece() * 4 + g % 2 * 2 + half;
    return 16 * warp + g + 8 * half;
}

/* A slice's, as steps of wgmma take it. */
struct tf32_held {
    uint32_t x[TF32_STEPS][4];

    __device__ __forceinline__ void load(const unsigned char *lines) {
        const int g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
        const int warp = (int)threadIdx.x % GROUP / 32;
        const unsigned char *const box = lines + warp / 2 * TF32_BOX_BYTES + g % 2 * 8;
#pragma unroll
        for (int k = 0; k < TF32_DEPTH; k += 4) {
            const tf32_pair pair = load_whole(reinterpret_cast<const tf32_pair *>(
                box + (k + t) * TENSOR_LINE_BYTES + (tf32_piece() ^ (k + t) % 8) * 16));
            x[k / TF32_STEP][k / 4 % 2 * 2] = pair.v[0];
            x[k / TF32_STEP][k / 4 % 2 * 2 + 1] = pair.v[1];
        }
    }
};

/* ---- products ---- */

static __device__ __forceinline__ void leave(uint64_t *empty) {
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        mbarrier_arrive(empty);
}

template <typename Tile>
static __device__ __forceinline__ uint64_t right_of(const hopper_ring<Tile> &ring) {
    return wgmma_descriptor(shared_address(ring.data()) + Tile::left_bytes, 0);
}

constexpr int TF32_STEP_BYTES = TF32_STEP * 4;

/* The ring's slices of one tile, where both operands are in shared memory. A stage is free when the
 * products of the next one have begun, of which the wait leaves one group. */
template <typename Tile, int SUMS>
static __device__ __forceinline__ void
multiply_shared(int32_t slices, int group, hopper_ring<Tile> &ring, float (&sums)[SUMS]) {
    hopper_ring<Tile> before = ring;
    for (int32_t slice = 0; slice < slices; ++slice) {
        const uint64_t left = wgmma_descriptor(
            shared_address(ring.data()) + group * TF32_GROUP_ROWS * TENSOR_LINE_BYTES, 0);
        const uint64_t right = right_of(ring);
        mbarrier_wait(ring.full(), ring.round);
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < TF32_STEPS; ++step)
            wgmma_tf32(sums, left + (step * TF32_STEP_BYTES >> 4),
                       right + (step * TF32_STEP_BYTES >> 4), slice > 0 || step > 0);
        wgmma_commit();
        wgmma_wait<1>();
        if (slice > 0)
            leave(before.empty());
        before = ring;
        ring.next();
    }
    wgmma_wait<0>();
    wgmma_results(sums);
    leave(before.empty());
}

/* The same with the left operand in registers: `next` is loaded while `held` is multiplied. The
 * other warpgroup's products fill the time between two slices of this one. */
template <typename Tile, int SUMS>
static __device__ __forceinline__ void
multiply_slice(bool first, bool last, int group, hopper_ring<Tile> &ring, const tf32_held &held,
               tf32_held &next, float (&sums)[SUMS]) {
    const uint64_t right = right_of(ring);
    uint64_t *const empty = ring.empty();
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < TF32_STEPS; ++step)
        wgmma_tf32(sums, held.x[step], right + (step * TF32_STEP_BYTES >> 4), !first || step > 0);
    wgmma_commit();
    ring.next();
    if (!last) {
        mbarrier_wait(ring.full(), ring.round);
        next.load(ring.data() + group * 2 * TF32_BOX_BYTES);
    }
    wgmma_wait<0>();
    leave(empty);
}

template <typename Tile, int SUMS>
static __device__ __forceinline__ void multiply_held(int32_t slices, int group,
                                                     hopper_ring<Tile> &ring, float (&sums)[SUMS]) {
    tf32_held even, odd = {};
    mbarrier_wait(ring.full(), ring.round);
    even.load(ring.data() + group * 2 * TF32_BOX_BYTES);
    for (int32_t slice = 0; slice < slices; slice += 2) {
        multiply_slice(slice == 0, slice + 1 >= slices, group, ring, even, odd, sums);
        if (slice + 1 < slices)
            multiply_slice(false, slice + 2 >= slices, group, ring, odd, even, sums);
    }
    wgmma_results(sums);
}

/* ---- results ---- */

struct alignas(8) float_pair {
    float v[2];
};

template <typename Kind>
static __device__ __forceinline__ float result(const tf32_problem &p, float sum, float added) {
    return adds<Kind>(p) ? fma_(p.times, sum, added) : p.times * sum;
}

/* Puts a pair of results where what is added lies. */
template <typename Kind>
static __device__ __forceinline__ void finish_pair(const tf32_problem &p, unsigned char *at,
                                                   float one, float other) {
    float_pair *const pair = reinterpret_cast<float_pair *>(at);
    const float_pair added = adds<Kind>(p) ? load_whole(pair) : float_pair{};
    *pair = {result<Kind>(p, one, added.v[0]), result<Kind>(p, other, added.v[1])};
}

/* This thread's results in box i, which begins at `box`. */
template <typename Kind, int SUMS>
static __device__ __forceinline__ void finish_box(const tf32_problem &p, unsigned char *box, int i,
                                                  const float (&sums)[SUMS]) {
    const int g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
    const int warp = (int)threadIdx.x % GROUP / 32;
    if constexpr (Kind::turned) {
        if (warp / 2 != i % 2)
            return;
#pragma unroll
        for (int e = 0; e < 16; ++e) {
            const int line = 8 * (e / 2) + 2 * t + e % 2, one = 32 * (i / 2) + e / 2 * 4 + e % 2;
            finish_pair<Kind>(
                p, box + line * TENSOR_LINE_BYTES + (tf32_piece() ^ line % 8) * 16 + g % 2 * 8,
                sums[one], sums[one + 2]);
        }
    } else {
#pragma unroll
        for (int e = 0; e < 8; ++e) {
            const int line = tf32_row<Kind>(e % 2), piece = e / 2 * 2 + t / 2, one = 16 * i + 2 * e;
            finish_pair<Kind>(p,
                              box + line * TENSOR_LINE_BYTES + (piece ^ line % 8) * 16 + t % 2 * 8,
                              sums[one], sums[one + 1]);
        }
    }
}

template <typename Tile, typename Kind, int SUMS>
static __device__ __forceinline__ void finish_staged(const tf32_problem &p, int group,
                                                     hopper_ring<Tile> &ring,
                                                     const float (&sums)[SUMS]) {
    constexpr int boxes = 2 * SUMS / TF32_BOX;
#pragma unroll
    for (int i = 0; i < boxes; ++i) {
        if (ring.is_first(i))
            mbarrier_wait(ring.full(), ring.round);
        finish_box<Kind>(p, ring.box(i, group), i, sums);
        if (ring.is_last(i, boxes)) {
            fence_proxy_async();
            leave(ring.results());
            ring.next();
        }
    }
}

/* ---- results that are not staged ---- */

/* Where an element's neighbour in memory is the next one in its line. */
template <typename Kind> struct pair_place {
    int64_t row, column;

    __device__ __forceinline__ bool is_inside(const tf32_problem &p) const {
        return row < p.m && column < p.n;
    }
    __device__ __forceinline__ bool has_both(const tf32_problem &p) const {
        return Kind::turned ? row + 1 < p.m : column + 1 < p.n;
    }
    /* The first one, in a matrix whose lines lie as the result's do. */
    __device__ __forceinline__ int64_t offset(int64_t stride) const {
        return Kind::turned ? column * stride + row : row * stride + column;
    }
};

template <typename Kind>
static __device__ __forceinline__ float_pair added_to(const tf32_problem &p,
                                                      const pair_place<Kind> &at) {
    float_pair c = {};
    if (!adds<Kind>(p) || !at.is_inside(p))
        return c;
    const float *const from = p.added.data + at.offset(p.added.stride);
    if (p.pairs && at.has_both(p))
        return load_whole(reinterpret_cast<const float_pair *>(from));
    c.v[0] = from[0];
    if (at.has_both(p))
        c.v[1] = from[1];
    return c;
}

template <typename Kind>
static __device__ __forceinline__ void store_pair(const tf32_problem &p, const pair_place<Kind> &at,
                                                  const float_pair &sums, const float_pair &added) {
    if (!at.is_inside(p))
        return;
    float *const to = p.out.data + at.offset(p.out.stride);
    float_pair y;
#pragma unroll
    for (int i = 0; i < 2; ++i)
        y.v[i] = result<Kind>(p, sums.v[i], added.v[i]);
    if (p.pairs && at.has_both(p)) {
        *reinterpret_cast<float_pair *>(to) = y;
        return;
    }
    to[0] = y.v[0];
    if (at.has_both(p))
        to[1] = y.v[1];
}

/* visit(place, sums) for this thread's pair e of the tile. */
template <typename Kind, int SUMS, typename Visit>
static __device__ __forceinline__ void with_pair(hopper_place at, int group, int e,
                                                 const float (&sums)[SUMS], Visit visit) {
    const int first = 4 * (e / 2), t = (int)threadIdx.x % 4;
    const int half = Kind::turned ? 0 : e % 2, q = Kind::turned ? e % 2 : 0;
    const int one = first + 2 * half + q, other = Kind::turned ? one + 2 : one + 1;
    visit(pair_place<Kind>{(int64_t)at.row + group * TF32_GROUP_ROWS + tf32_row<Kind>(half),
                           (int64_t)at.column + 8 * (e / 2) + 2 * t + q},
          float_pair{sums[one], sums[other]});
}

/* Loads what is added to some pairs before it stores their results. */
template <typename Kind, int SUMS>
static __device__ __forceinline__ void store_sums(const tf32_problem &p, hopper_place at, int group,
                                                  const float (&sums)[SUMS]) {
    constexpr int pairs = SUMS / 2, some = 16;
#pragma unroll
    for (int first = 0; first < pairs; first += some) {
        float_pair added[some];
#pragma unroll
        for (int e = 0; e < some; ++e)
            with_pair<Kind>(at, group, first + e, sums,
                            [&](const pair_place<Kind> &place, const float_pair &) {
                                added[e] = added_to(p, place);
                            });
#pragma unroll
        for (int e = 0; e < some; ++e)
            with_pair<Kind>(at, group, first + e, sums,
                            [&](const pair_place<Kind> &place, const float_pair &sum) {
                                store_pair(p, place, sum, added[e]);
                            });
    }
}

template <typename Tile, typename Kind>
static __device__ __forceinline__ void multiply_tiles_of(const tf32_problem &p, int group,
                                                         hopper_ring<Tile> ring) {
    each_part<Tile>(p.m, p.n, [&](hopper_place at, int units) {
        with_sums<Tile>(units, [&](auto &sums) {
            if constexpr (Kind::held)
                multiply_held(p.slices, group, ring, sums);
            else
                multiply_shared(p.slices, group, ring, sums);
            if (Tile::mixed || (Tile::may_stage && p.staged))
                finish_staged<Tile, Kind>(p, group, ring, sums);
            else
                store_sums<Kind>(p, at, group, sums);
        });
    });
}

template <typename Tile, typename Kind>
static __global__ void __launch_bounds__(THREADS, 1)
    multiply_tf32_on_hopper(const tf32_problem p, const __grid_constant__ hopper_maps maps) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    const hopper_ring<Tile> ring = ring_in<hopper_ring<Tile>>(shared);
    if (threadIdx.x == 0)
        make_tf32_barriers(ring);
    __syncthreads();
    if (threadIdx.x < GROUP) {
        registers_lower<FEW_REGISTERS>();
        if (threadIdx.x == 0)
            fill<Tile, Kind>(p, maps, ring);
        else if (Tile::may_stage && threadIdx.x == 32 && p.staged)
            drain<Tile, Kind>(p, maps, ring);
    } else {
        registers_raise<MANY_REGISTERS>();
        multiply_tiles_of<Tile, Kind>(p, (int)threadIdx.x / GROUP - 1, ring);
    }
}

#endif
