/*
 * A persistent kernel for products in fp64: TMA brings operands to a ring of stages in shared
 * memory, eight warps multiply them by mma.sync, from registers.
 *
 * The threads of a block of three warpgroups:
 *
 *     thread 0     fills stages with slices of 16 k, 128 bytes of each line along k; behind the
 *                  tile's last, it brings what is added to the L2 cache
 *     the other    eight warps with a part of the tile each: load fragments for a step of k while
 *     256          the step before is multiplied, over the ends of slices, too
 *
 * Two mbarriers a stage: `full`, of the copies' bytes, and `empty`, of one arrival of each warp.
 *
 * 16 lines of an operand are 2 KB of a stage: where they are along k, each is 128 bytes there; else
 * each k is 128 bytes with their 16 numbers. TMA swizzles pieces of 16 bytes. Which of the lines a
 * lane has is free, for elements of the result do not mix: f64_line() chooses so that the loads of
 * a warp meet no bank twice. k stays as it is, so each element is one chain of fused multiply-adds,
 * k ascending, with v3's bits.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_HOPPER_F64_TILE_H
#define ASSAY_MATMUL_ACCUMULATE_HOPPER_F64_TILE_H

#include "kernels/common/tensor.h"
#include "kernels/matmul_accumulate/hopper_tile.h"

constexpr int F64_DEPTH = TENSOR_LINE_BYTES / 8; /* of a slice of k */
constexpr int F64_STEP = 4;                      /* of k, of an instruction */
constexpr int F64_STEPS = F64_DEPTH / F64_STEP;  /* an even number: two fragments take turns */
constexpr int F64_GROUP = 16;                    /* lines */
constexpr int F64_GROUP_BYTES = F64_GROUP * TENSOR_LINE_BYTES;
constexpr int F64_WORDS = 4; /* of 16 bits, as maps count, in a number */

/* ROWS x COLUMNS of the result, in WARPS parts, DOWN of them below each other. */
template <int COLUMNS, int DOWN, int STAGES_> struct f64_tile {
    static constexpr int columns = COLUMNS, stages = STAGES_, down = DOWN;
    static constexpr int part_rows = ROWS / DOWN, part_columns = COLUMNS * DOWN / WARPS;
    static constexpr int left_bytes = ROWS * TENSOR_LINE_BYTES;
    static constexpr int stage_bytes = left_bytes + COLUMNS * TENSOR_LINE_BYTES;
    static constexpr int shared_bytes =
        TENSOR_ALIGNMENT + stages * (stage_bytes + 2 * (int)sizeof(uint64_t));
    static_assert(part_rows % F64_GROUP == 0 && part_columns % F64_GROUP == 0, "whole groups");
    static_assert(COLUMNS * DOWN % WARPS == 0, "whole parts");
    static_assert(shared_bytes <= ASSAY_MAX_SHARED, "the ring fits a block");
};

/* out = times left right + added, if it adds. */
struct f64_problem {
    matrix<const double> added;
    matrix<double> out;
    int64_t m, n;
    int32_t slices; /* of k */
    double times;
    bool adds, pairs; /* pairs: neighbours in even columns lie at multiples of 16 bytes */
    bool fetches;     /* what is added, by its map, to the L2 cache */
};

struct f64_maps {
    tensor_map left, right, added;
};

/* ---- the ring ---- */

template <typename Tile> struct f64_ring : stage_ring<Tile> {
    __device__ __forceinline__ uint64_t *empty() const {
        return this->full() + Tile::stages;
    }
};

template <typename Tile> static __device__ __forceinline__ void make_barriers(f64_ring<Tile> ring) {
    for (int s = 0; s < Tile::stages; ++s) {
        mbarrier_init(ring.full(), 1);
        mbarrier_init(ring.empty(), WARPS);
        ring.next();
    }
    mbarriers_made();
}

/* LINES of an operand at (line, k) to `to`: one box where they are along k, else one of each 16. */
template <bool K_INNER, int LINES>
static __device__ __forceinline__ void load_lines(const tensor_map *map, unsigned char *to,
                                                  int32_t line, int32_t k, uint64_t *full) {
    if constexpr (K_INNER) {
        tensor_load(to, map, k * F64_WORDS, line, full);
    } else {
#pragma unroll 1
        for (int i = 0; i < LINES / F64_GROUP; ++i)
            tensor_load(to + i * F64_GROUP_BYTES, map, (line + i * F64_GROUP) * F64_WORDS, k, full);
    }
}

template <typename Tile, typename Kind>
static __device__ __forceinline__ void fill(const f64_problem &p, const f64_maps &maps,
                                            f64_ring<Tile> ring) {
    each_tile<Tile::columns>(p.m, p.n, [&](hopper_place at) {
        for (int32_t slice = 0; slice < p.slices; ++slice) {
            const int32_t k = slice * F64_DEPTH;
            mbarrier_wait(ring.empty(), ring.round ^ 1);
            mbarrier_expect(ring.full(), Tile::stage_bytes);
            load_lines<Kind::left_k, ROWS>(&maps.left, ring.data(), at.row, k, ring.full());
            load_lines<Kind::right_k, Tile::columns>(&maps.right, ring.data() + Tile::left_bytes,
                                                     at.column, k, ring.full());
            ring.next();
        }
        for (int i = 0; Kind::may_add && p.fetches && i < Tile::columns / F64_GROUP; ++i)
            tensor_prefetch(&maps.added, (at.column + i * F64_GROUP) * F64_WORDS, at.row);
    });
}

/* ---- fragments ---- */

struct alignas(16) f64_pair {
    double v[2];
};

/*
 * Which of 16 lines an instruction's `place`, 0 to 7, of the first 8 (half 0) or the others has:
 * both halves' are neighbours. In loads a lane has place lane / 4, so that
 *
 *     along k    half a warp has four lines, whose line / 2 % 4 differ, and two pieces of each, of
 *                which it takes 8 bytes; the swizzle puts these eight into all eight places
 *     across     a quarter of a warp has pieces p and p ^ 6 of four k, which the swizzle puts into
 *                all eight places, too
 *
 * and in results the places 2 (lane % 4) + q of four lanes are 8 columns side by side.
 */
static __device__ __forceinline__ int f64_line(int place, int half) {
    return 2 * (place / 2 ^ place % 2 * 6) + half;
}

/* x[half] of 16 lines, at k + lane % 4. */
template <bool K_INNER>
static __device__ __forceinline__ void load_fragment(double (&x)[2], const unsigned char *lines,
                                                     int k) {
    const int g = (int)threadIdx.x % 32 / 4, at = k + (int)threadIdx.x % 4;
    if constexpr (K_INNER) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int line = f64_line(g, half);
            x[half] = *reinterpret_cast<const double *>(lines + line * TENSOR_LINE_BYTES +
                                                        (at / 2 ^ line % 8) * 16 + at % 2 * 8);
        }
    } else {
        const f64_pair both = load_whole(reinterpret_cast<const f64_pair *>(
            lines + at * TENSOR_LINE_BYTES + (f64_line(g, 0) / 2 ^ at % 8) * 16));
        x[0] = both.v[0];
        x[1] = both.v[1];
    }
}

/* What a warp multiplies in a step: its rows, and its columns, of instructions. */
template <typename Tile, typename Kind> struct f64_fragments {
    static constexpr int rows = Tile::part_rows / F64_GROUP,
                         columns = Tile::part_columns / F64_GROUP;
    double left[rows][2], right[columns][2];

    __device__ __forceinline__ void load(const unsigned char *left_lines,
                                         const unsigned char *right_lines, int k) {
#pragma unroll
        for (int i = 0; i < rows; ++i)
            load_fragment<Kind::left_k>(left[i], left_lines + i * F64_GROUP_BYTES, k);
#pragma unroll
        for (int j = 0; j < columns; ++j)
            load_fragment<Kind::right_k>(right[j], right_lines + j * F64_GROUP_BYTES, k);
    }
};

/* ---- a warp's part of a tile ---- */

template <typename Tile, typename Kind> struct f64_part {
    typedef f64_fragments<Tile, Kind> fragments;
    static constexpr int rows = fragments::rows, columns = fragments::columns;
    int row, column; /* its first ones in the tile */
    double sum[rows][2 * columns][4];

    __device__ __forceinline__ explicit f64_part(int warp)
        : row(warp % Tile::down * Tile::part_rows), column(warp / Tile::down * Tile::part_columns) {
    }

    __device__ __forceinline__ void load(fragments &to, const f64_ring<Tile> &ring,
                                         int step) const {
        to.load(ring.data() + row * TENSOR_LINE_BYTES,
                ring.data() + Tile::left_bytes + column * TENSOR_LINE_BYTES, step * F64_STEP);
    }

    __device__ __forceinline__ void multiply(const fragments &x) {
#pragma unroll
        for (int i = 0; i < rows; ++i)
#pragma unroll
            for (int j = 0; j < 2 * columns; ++j)
                mma_m16n8k4_f64(sum[i][j], x.left[i], &x.right[j / 2][j % 2]);
    }

    /* The ring's slices of one tile. A stage is free when its last fragments are multiplied: then
     * their loads have ended. PTX orders the loads before an arrival behind them, too; but ptxas
     * lets it follow the last of them at once, and on an H100 some elements were wrong. */
    __device__ __forceinline__ void add_slices(int32_t slices, f64_ring<Tile> &ring) {
        fragments x[2];
#pragma unroll
        for (int e = 0; e < rows * columns * 8; ++e)
            sum[e / 8 / columns][e / 4 % (2 * columns)][e % 4] = 0;
        mbarrier_wait(ring.full(), ring.round);
        load(x[0], ring, 0);
        for (int32_t slice = 0; slice < slices; ++slice)
#pragma unroll
            for (int step = 0; step < F64_STEPS; ++step) {
                uint64_t *const empty = ring.empty();
                if (step + 1 < F64_STEPS) {
                    load(x[(step + 1) % 2], ring, step + 1);
                } else {
                    ring.next();
                    if (slice + 1 < slices) {
                        mbarrier_wait(ring.full(), ring.round);
                        load(x[0], ring, 0);
                    }
                }
                multiply(x[step % 2]);
                if (step + 1 == F64_STEPS)
                    leave(empty);
            }
    }

    /* Of the tile: rows of sum[i], and columns of neighbours in sum[i][2j] and sum[i][2j + 1]. */
    __device__ __forceinline__ int row_of(int i, int half) const {
        return row + i * F64_GROUP + f64_line((int)threadIdx.x % 32 / 4, half);
    }
    __device__ __forceinline__ int column_of(int j, int q) const {
        return column + j * F64_GROUP + f64_line(2 * ((int)threadIdx.x % 4) + q, 0);
    }

    static __device__ __forceinline__ void leave(uint64_t *empty) {
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            mbarrier_arrive(empty);
    }
};

/* ---- results ---- */

template <typename Kind> static __device__ __forceinline__ bool adds(const f64_problem &p) {
    return Kind::may_add && p.adds;
}

/* What is added to an element in an even column and to its neighbour. */
template <typename Kind>
static __device__ __forceinline__ f64_pair added_to(const f64_problem &p, int64_t row,
                                                    int64_t column) {
    f64_pair c = {};
    if (!adds<Kind>(p) || row >= p.m || column >= p.n)
        return c;
    const double *const from = p.added.data + (row * p.added.stride + column);
    const bool both = column + 1 < p.n;
    if (p.pairs && both)
        return load_whole(reinterpret_cast<const f64_pair *>(from));
    c.v[0] = from[0];
    if (both)
        c.v[1] = from[1];
    return c;
}

template <typename Kind>
static __device__ __forceinline__ void store_pair(const f64_problem &p, int64_t row, int64_t column,
                                                  const f64_pair &sums, const f64_pair &added) {
    if (row >= p.m || column >= p.n)
        return;
    double *const to = p.out.data + (row * p.out.stride + column);
    const bool both = column + 1 < p.n;
    f64_pair y;
#pragma unroll
    for (int i = 0; i < 2; ++i)
        y.v[i] = adds<Kind>(p) ? fma_(p.times, sums.v[i], added.v[i]) : p.times * sums.v[i];
    if (p.pairs && both) {
        *reinterpret_cast<f64_pair *>(to) = y;
        return;
    }
    to[0] = y.v[0];
    if (both)
        to[1] = y.v[1];
}

/* Loads what is added to half of the pairs before it stores their results. */
template <typename Tile, typename Kind>
static __device__ __forceinline__ void store_part(const f64_problem &p, hopper_place at,
                                                  const f64_part<Tile, Kind> &part) {
    constexpr int columns = f64_part<Tile, Kind>::columns;
    constexpr int pairs = f64_part<Tile, Kind>::rows * columns * 4, some = pairs / 2;
    /* Pair e: of rows i, columns j, the half of those rows, and neighbours q. */
    const auto visit = [&](int e, auto with) {
        const int i = e / 4 / columns, j = e / 4 % columns, half = e / 2 % 2, q = e % 2;
        with(at.row + part.row_of(i, half), at.column + part.column_of(j, q),
             f64_pair{part.sum[i][2 * j][2 * half + q], part.sum[i][2 * j + 1][2 * half + q]});
    };
#pragma unroll
    for (int first = 0; first < pairs; first += some) {
        f64_pair added[some];
#pragma unroll
        for (int e = 0; e < some; ++e)
            visit(first + e, [&](int64_t row, int64_t column, const f64_pair &) {
                added[e] = added_to<Kind>(p, row, column);
            });
#pragma unroll
        for (int e = 0; e < some; ++e)
            visit(first + e, [&](int64_t row, int64_t column, const f64_pair &sums) {
                store_pair<Kind>(p, row, column, sums, added[e]);
            });
    }
}

template <typename Tile, typename Kind>
static __device__ __forceinline__ void multiply_tiles_of(const f64_problem &p, int warp,
                                                         f64_ring<Tile> ring) {
    f64_part<Tile, Kind> part(warp);
    each_tile<Tile::columns>(p.m, p.n, [&](hopper_place at) {
        part.add_slices(p.slices, ring);
        store_part<Tile, Kind>(p, at, part);
    });
}

template <typename Tile, typename Kind>
static __global__ void __launch_bounds__(THREADS, 1)
    multiply_f64_on_hopper(const f64_problem p, const __grid_constant__ f64_maps maps) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    const f64_ring<Tile> ring = ring_in<f64_ring<Tile>>(shared);
    if (threadIdx.x == 0)
        make_barriers(ring);
    __syncthreads();
    if (threadIdx.x < GROUP) {
        registers_lower<FEW_REGISTERS>();
        if (threadIdx.x == 0)
            fill<Tile, Kind>(p, maps, ring);
    } else {
        registers_raise<MANY_REGISTERS>();
        multiply_tiles_of<Tile, Kind>(p, ((int)threadIdx.x - GROUP) / 32, ring);
    }
}

#endif
