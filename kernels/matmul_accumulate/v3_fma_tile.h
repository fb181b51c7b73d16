/*
 * A tile of v3's product in strict fp32, on CUDA cores.
 *
 * An element is a sum of sums of RUN products, k ascending in each and among them: the error of k
 * random products is √(RUN/k + 1/RUN) of that of one chain, as a root mean square (measured in
 * tests/sim/v3_matmul_accumulate.cu). So runs can be multiplied side by side: the warps of a block
 * form teams, and each team multiplies runs of its own for the whole tile. Totals are in shared
 * memory; the teams add to them one after another, in the order of their runs. A team waits for
 * nothing else of the others: it has barriers of its own.
 *
 * In shared memory a slice has a line for each k, whatever the operand's order in memory is: for
 * each k a lane takes its rows and its columns by accesses of 16 bytes, or of 8 where it has fewer
 * than four. Each team fetches its own slices by cp.async, through a ring of stages. A copy is 16
 * bytes; it is 4 where lines in memory are along k, which transposes them, or are not aligned.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_V3_FMA_TILE_H
#define ASSAY_MATMUL_ACCUMULATE_V3_FMA_TILE_H

#include "kernels/matmul_accumulate/v3_fma_copies.h"

enum { RUN = 128 /* products */ };

/* A lane has LANE_ROWS x LANE_COLUMNS elements, DOWN lanes of a warp are below one another. The
 * products of UNROLLED k are instructions of their own. */
template <int ROWS, int COLUMNS, int TEAMS, int LANE_ROWS, int LANE_COLUMNS, int DOWN, int DEPTH,
          int STAGES_, int BLOCKS, int UNROLLED>
struct fma_tile {
    static constexpr int rows = ROWS, columns = COLUMNS, teams = TEAMS;
    static constexpr int lane_rows = LANE_ROWS, lane_columns = LANE_COLUMNS;
    static constexpr int down = DOWN, across = WARP / DOWN;
    static constexpr int warp_rows = down * lane_rows, warp_columns = across * lane_columns;
    static constexpr int warps_down = rows / warp_rows;
    static constexpr int team_threads = warps_down * (columns / warp_columns) * WARP;
    static constexpr int threads = teams * team_threads;
    static constexpr int blocks = BLOCKS; /* that a multiprocessor must hold */
    static constexpr int depth = DEPTH, stages = STAGES_, unrolled = UNROLLED;
    static constexpr int left_stride = rows + LINE_GAP, right_stride = columns + LINE_GAP;
    static constexpr int slice = depth * (left_stride + right_stride); /* a team's */
    static constexpr int totals = rows * right_stride;
    static constexpr size_t bytes = (totals + stages * teams * slice) * sizeof(float);
    static_assert(depth % unrolled == 0 && unrolled % 2 == 0, "two fragments take turns");
    static_assert(1 + 2 * teams <= 16, "barriers of a block");
};

/* ---- slices ---- */

/* Starts one copy; what is not `there` is 0. */
template <int PACK, bool WHOLE>
static __device__ __forceinline__ void copy_pack(float *to, const float *from, bool there,
                                                 const operand<float> &x) {
    if (!WHOLE && !there)
        from = x.data;
    const int valid = WHOLE || there ? PACK * (int)sizeof(float) : 0;
    if constexpr (PACK == 1)
        cp_async_4(to, from, valid);
    else
        cp_async_16(to, from, valid);
}

/* A team's slice at (row, k) of an operand whose lines in memory are rows. */
template <typename Tile, int LINES, int PACK, bool WHOLE>
static __device__ __forceinline__ void fetch_rows(const operand<float> &x, int64_t row, int64_t k,
                                                  float *to) {
    constexpr int PACKS = LINES / PACK;
    constexpr int PACK_STEP = PACKS < Tile::team_threads ? PACKS : Tile::team_threads;
    constexpr int STEP = Tile::team_threads / PACK_STEP;
    static_assert(PACKS % PACK_STEP == 0 && Tile::team_threads % PACK_STEP == 0, "whole lines");
    const int thread = (int)threadIdx.x % Tile::team_threads;
    const int first = thread % PACK_STEP * PACK, own = thread / PACK_STEP;
    if (STEP > Tile::depth && own >= Tile::depth)
        return;
    const float *from = x.data + (k + own) * x.stride + row + first;
    to += own * (LINES + LINE_GAP) + first;
#pragma unroll
    for (int d = 0; d < Tile::depth; d += STEP) {
#pragma unroll
        for (int i = 0; i < LINES; i += PACK_STEP * PACK)
            copy_pack<PACK, WHOLE>(to + d * (LINES + LINE_GAP) + i, from + i,
                                   row + first + i < x.rows && k + own + d < x.depth, x);
        from += STEP * x.stride;
    }
}

/* The same where lines in memory are along k. */
template <typename Tile, int LINES, bool WHOLE>
static __device__ __forceinline__ void fetch_k(const operand<float> &x, int64_t row, int64_t k,
                                               float *to) {
    constexpr int GROUPS = Tile::team_threads / K_ACROSS;
    constexpr int LINE_STEP = LINES < GROUPS ? LINES : GROUPS;
    constexpr int STEP = GROUPS / LINE_STEP * K_ACROSS;
    static_assert(LINES % LINE_STEP == 0 && GROUPS % LINE_STEP == 0, "whole lines");
    const int thread = (int)threadIdx.x % Tile::team_threads, group = thread / K_ACROSS;
    const int line = group % LINE_STEP, own = thread % K_ACROSS + group / LINE_STEP * K_ACROSS;
    const float *from = x.data + (row + line) * x.stride + k + own;
    to += own * (LINES + LINE_GAP) + line;
    if (STEP > Tile::depth && own >= Tile::depth)
        return;
#pragma unroll
    for (int i = 0; i < LINES; i += LINE_STEP) {
#pragma unroll
        for (int d = 0; d < Tile::depth; d += STEP)
            copy_pack<1, WHOLE>(to + d * (LINES + LINE_GAP) + i, from + d,
                                row + line + i < x.rows && k + own + d < x.depth, x);
        from += LINE_STEP * x.stride;
    }
}

template <typename Tile, int LINES, bool K_INNER, bool WHOLE>
static __device__ __forceinline__ void fetch_lines(const operand<float> &x, int64_t row, int64_t k,
                                                   float *to) {
    if constexpr (K_INNER)
        fetch_k<Tile, LINES, WHOLE>(x, row, k, to);
    else if (x.packs && x.rows % 4 == 0)
        fetch_rows<Tile, LINES, 4, WHOLE>(x, row, k, to);
    else
        fetch_rows<Tile, LINES, 1, WHOLE>(x, row, k, to);
}

/* Starts to fetch a team's slice of one operand; what lies outside of that is 0. */
template <typename Tile, int LINES, bool K_INNER>
static __device__ __forceinline__ void fetch_slice(const operand<float> &x, int64_t row, int64_t k,
                                                   float *to) {
    if (row + LINES <= x.rows && k + Tile::depth <= x.depth)
        fetch_lines<Tile, LINES, K_INNER, true>(x, row, k, to);
    else
        fetch_lines<Tile, LINES, K_INNER, false>(x, row, k, to);
}

/* ---- a lane's elements ---- */

template <int N> struct alignas(N * sizeof(float)) neighbours { float v[N]; };

/* A lane's rows, or columns, come as many at a time as one access takes. */
template <int COUNT> constexpr int width = COUNT % 4 == 0 ? 4 : COUNT % 2 == 0 ? 2 : 1;

/* Behind the lane's first row or column, the i-th, where LANES lanes share them. */
template <int COUNT, int LANES> static __device__ __forceinline__ int line_of(int i) {
    return i / width<COUNT> * LANES * width<COUNT> + i % width<COUNT>;
}

template <int COUNT, int LANES>
static __device__ __forceinline__ void load_lines(float x[COUNT], const float *from) {
    constexpr int N = width<COUNT>;
#pragma unroll
    for (int i = 0; i < COUNT; i += N) {
        const neighbours<N> some =
            load_whole(reinterpret_cast<const neighbours<N> *>(from + line_of<COUNT, LANES>(i)));
#pragma unroll
        for (int e = 0; e < N; ++e)
            x[i + e] = some.v[e];
    }
}

/*
 * Where a thread's elements begin in the tile. Lanes whose numbers differ in their lowest bit have
 * the same rows, in the bit above the same columns: shared memory then serves 16 bytes to each lane
 * of a warp in two steps, not four.
 */
template <typename Tile> struct fma_place {
    int team, row, column, warp_row, warp_column;

    __device__ __forceinline__ fma_place() {
        const int thread = (int)threadIdx.x, lane = thread % WARP;
        const int warp = thread % Tile::team_threads / WARP;
        const int down = lane / 2 % 2 + lane / (2 * Tile::across) * 2;
        const int across = lane % 2 + lane / 4 % (Tile::across / 2) * 2;
        team = thread / Tile::team_threads;
        warp_row = warp % Tile::warps_down * Tile::warp_rows;
        warp_column = warp / Tile::warps_down * Tile::warp_columns;
        row = warp_row + down * width<Tile::lane_rows>;
        column = warp_column + across * width<Tile::lane_columns>;
    }
};

template <typename Tile> struct fma_sums {
    enum { ROWS = Tile::lane_rows, COLUMNS = Tile::lane_columns };
    float sum[ROWS][COLUMNS] = {};

    /* Adds a slice's products; a and b point to the lane's first row and column. Calls `copy()`
     * before the k that are unrolled. */
    template <typename Copy>
    __device__ __forceinline__ void add(const float *a, const float *b, Copy copy) {
        float x[2][ROWS], y[2][COLUMNS];
        load_lines<ROWS, Tile::down>(x[0], a);
        load_lines<COLUMNS, Tile::across>(y[0], b);
#pragma unroll 1
        for (int done = Tile::unrolled; done <= Tile::depth; done += Tile::unrolled) {
            copy();
#pragma unroll
            for (int k = 0; k < Tile::unrolled; ++k) {
                a += Tile::left_stride;
                b += Tile::right_stride;
                if (k + 1 < Tile::unrolled || done < Tile::depth) {
                    load_lines<ROWS, Tile::down>(x[(k + 1) % 2], a);
                    load_lines<COLUMNS, Tile::across>(y[(k + 1) % 2], b);
                }
                /* Neighbours in this order share an operand, which spares a read of registers. */
#pragma unroll
                for (int i = 0; i < ROWS; ++i)
#pragma unroll
                    for (int n = 0; n < COLUMNS; ++n) {
                        const int j = i % 2 ? COLUMNS - 1 - n : n;
                        sum[i][j] = fma_(x[k % 2][i], y[k % 2][j], sum[i][j]);
                    }
            }
        }
    }

    /* Adds the sums to totals, of which `total` is the lane's first, and begins new ones. */
    __device__ __forceinline__ void settle(float *total) {
        constexpr int N = width<COLUMNS>;
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
#pragma unroll
            for (int j = 0; j < COLUMNS; j += N) {
                float *const at = total + line_of<ROWS, Tile::down>(i) * Tile::right_stride +
                                  line_of<COLUMNS, Tile::across>(j);
                neighbours<N> some = load_whole(reinterpret_cast<const neighbours<N> *>(at));
#pragma unroll
                for (int e = 0; e < N; ++e) {
                    some.v[e] += sum[i][j + e];
                    sum[i][j + e] = 0;
                }
                *reinterpret_cast<neighbours<N> *>(at) = some;
            }
    }
};

/* ---- the tile ---- */

/* Of the first team, the slice behind the one at k. */
template <typename Tile> static __device__ __forceinline__ int64_t next_slice(int64_t k) {
    const int64_t next = k + Tile::depth;
    return next % RUN == 0 ? next + (Tile::teams - 1) * RUN : next;
}

/* Waits for the other threads of the team. */
template <typename Tile> static __device__ __forceinline__ void meet_team(int team) {
    if constexpr (Tile::teams == 1)
        __syncthreads();
    else
        barrier_sync(1 + Tile::teams + team, Tile::team_threads);
}

/* Adds the sums of a team's run to the totals, behind those of the runs before. */
template <typename Tile>
static __device__ __forceinline__ void settle_in_turn(fma_sums<Tile> &sums,
                                                      const fma_place<Tile> &own, int64_t run,
                                                      int64_t k, float *totals) {
    constexpr int pair = 2 * Tile::team_threads;
    if (Tile::teams > 1 && run > 0)
        barrier_sync(1 + own.team, pair);
    sums.settle(totals + own.row * Tile::right_stride + own.column);
    if (Tile::teams > 1 && run + RUN < k)
        barrier_arrive(1 + (own.team + 1) % Tile::teams, pair);
}

/* Makes the totals of the tile at `at`, in shared memory before the slices. Calls `meanwhile()`
 * when the first copies are under way. */
template <typename Tile, bool LEFT_K, bool RIGHT_K, typename Meanwhile>
static __device__ __forceinline__ void total_tile(const problem<float> &p, tile_place at,
                                                  float *shared, Meanwhile meanwhile) {
    const fma_place<Tile> own;
    const bool parts = slice_copies<Tile, LEFT_K, RIGHT_K>::possible(p, at);
    const bool needed = at.row + own.warp_row < p.m && at.column + own.warp_column < p.n;
    const int64_t ahead = own.team * RUN; /* of the first team's k */
    float *const slices = shared + Tile::totals + own.team * Tile::slice;
    const auto stage_of = [&](int stage) { return slices + stage * Tile::teams * Tile::slice; };
    const auto stage_behind = [](int stage) { return stage + 1 == Tile::stages ? 0 : stage + 1; };

    int64_t coming = 0;
    int filled = 0;
    const auto go_on = [&] {
        cp_async_commit(); /* an empty group behind the last slice keeps the count below */
        coming = next_slice<Tile>(coming);
        filled = stage_behind(filled);
    };
    const auto start = [&] {
        const int64_t k = coming + ahead;
        float *const slice = stage_of(filled);
        if (k < p.k) {
            fetch_slice<Tile, Tile::rows, LEFT_K>(p.left, at.row, k, slice);
            fetch_slice<Tile, Tile::columns, RIGHT_K>(p.right, at.column, k,
                                                      slice + Tile::depth * Tile::left_stride);
        }
        go_on();
    };
#pragma unroll 1
    for (int s = 0; s < Tile::stages; ++s)
        start();
    for (int e = (int)threadIdx.x; e < Tile::totals; e += Tile::threads)
        shared[e] = 0;
    meanwhile();
    __syncthreads(); /* the zeros are there */

    fma_sums<Tile> sums;
    int stage = 0;
#pragma unroll 1
    for (int64_t k = 0; k < p.k; k = next_slice<Tile>(k)) {
        cp_async_wait<Tile::stages - 2>();
        /* The team has its slice at k, and left the one before, whose stage is free. */
        meet_team<Tile>(own.team);
        const float *const slice = stage_of(stage), *const a = slice + own.row,
                           *const b = slice + Tile::depth * Tile::left_stride + own.column;
        const int64_t next = coming + ahead;
        if (k > 0 && parts && next + Tile::depth <= p.k) {
            sums.add(a, b, slice_copies<Tile, LEFT_K, RIGHT_K>(p, at, next, stage_of(filled)));
            go_on();
        } else {
            if (k > 0)
                start();
            if (needed && k + ahead < p.k)
                sums.add(a, b, no_copies());
        }
        stage = stage_behind(stage);
        if ((k + Tile::depth) % RUN != 0 && next_slice<Tile>(k) < p.k)
            continue;
        const int64_t run = k / RUN * RUN + ahead;
        if (run < p.k)
            settle_in_turn<Tile>(sums, own, run, p.k, shared);
    }
    if (Tile::teams > 1) /* compute-sanitizer's racecheck overlooks the first behind an arrival */
        __syncthreads();
    __syncthreads();
}

#endif
