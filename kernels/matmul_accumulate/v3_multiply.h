/*
 * v3's product on tensor cores: tiles whose operands are brought by asynchronous copies, on the
 * core for the type and precision asked for. v3.cu tells how.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_V3_MULTIPLY_H
#define ASSAY_MATMUL_ACCUMULATE_V3_MULTIPLY_H

#include "kernels/matmul_accumulate/v3_core.h"

typedef square<2, 4, 64, 32> large_tile;
typedef square<1, 2, 32, 16> small_tile;

enum { LARGE = large_tile::side, SMALL = small_tile::side };

/* The slices' way through shared memory: slice s is in stage s % STAGES. */
template <typename Core, typename Left, typename Right>
static __device__ __forceinline__ void add_slices(const problem<typename Core::storage> &p,
                                                  tile_place at, typename Core::storage *shared,
                                                  Core &core) {
    constexpr int STAGE = Left::elements + Right::elements;
    const int64_t slices = ceil_div(p.k, Left::depth);
    typedef typename Core::tile tile;
    const int row = warp_row<tile>(), column = warp_column<tile>();
    const bool needed = at.row + row < p.m && at.column + column < p.n;
    const auto start = [&](int64_t s) {
        typename Core::storage *stage = shared + s % STAGES * STAGE;
        if (s < slices) {
            fetch<typename Core::storage, Left>(p.left, at.row, s * Left::depth, stage);
            fetch<typename Core::storage, Right>(p.right, at.column, s * Right::depth,
                                                 stage + Left::elements);
        }
        cp_async_commit(); /* an empty group behind the last slice keeps the count below */
    };
    for (int s = 0; s < STAGES - 1; ++s)
        start(s);
    for (int64_t s = 0; s < slices; ++s) {
        cp_async_wait<STAGES - 2>();
        /* All threads have slice s, and have left slice s - 1, whose stage is the next to fill. */
        __syncthreads();
        start(s + STAGES - 1);
        const typename Core::storage *stage = shared + s % STAGES * STAGE;
        if (needed)
            core.template add<Left, Right>(stage, row, stage + Left::elements, column);
    }
}

template <typename Core>
static __device__ __forceinline__ void store(const problem<typename Core::storage> &p,
                                             tile_place at, const Core &core) {
    typedef typename Core::storage T;
    typedef typename Core::tile tile;
    const int64_t row = at.row + warp_row<tile>(), column = at.column + warp_column<tile>();
    core.each([&](int i, int j, acc_t<T> sum) {
        if (row + i >= p.m || column + j >= p.n)
            return;
        const int64_t to = (row + i) * p.out.stride + column + j;
        const int64_t from = (row + i) * p.added.stride + column + j;
        p.out.data[to] =
            narrow<T>(p.added.data ? fma_(p.times, sum, widen(p.added.data[from])) : p.times * sum);
    });
}

/* One tile a block: memory holds no result of as many tiles as a grid may have blocks, 2^31. */
template <typename Core, typename Left, typename Right>
static __global__ void __launch_bounds__(Core::tile::threads, Core::BLOCKS)
    multiply_tiles(problem<typename Core::storage> p) {
    ASSAY_DYNAMIC_SHARED(typename Core::storage, shared);
    const tile_place at = place_of<Core::tile::side, Core::tile::side>(blockIdx.x, p.m, p.n);
    Core core;
    add_slices<Core, Left, Right>(p, at, shared, core);
    store(p, at, core);
}

template <typename Tile> static int64_t tiles_of(int64_t m, int64_t n) {
    return ceil_div(m, Tile::side) * ceil_div(n, Tile::side);
}

template <typename Core, bool LEFT_K_INNER, bool RIGHT_K_INNER>
static assay_status launch(void *stream, const problem<typename Core::storage> &p) {
    typedef typename Core::tile tile;
    typedef slice<typename Core::storage, tile, LEFT_K_INNER> left;
    typedef slice<typename Core::storage, tile, RIGHT_K_INNER> right;
    const size_t bytes =
        STAGES * (left::elements + right::elements) * sizeof(typename Core::storage);
    return ASSAY_LAUNCH(stream, whole_grid(tiles_of<tile>(p.m, p.n)), dim3(tile::threads), bytes,
                        (multiply_tiles<Core, left, right>), p);
}

/* `left_k`, `right_k`: the operand's lines in memory are k. */
template <typename Core>
static assay_status launch_for(void *stream, const problem<typename Core::storage> &p, bool left_k,
                               bool right_k) {
    if (left_k)
        return right_k ? launch<Core, true, true>(stream, p) : launch<Core, true, false>(stream, p);
    return right_k ? launch<Core, false, true>(stream, p) : launch<Core, false, false>(stream, p);
}

/* Large tiles ask least of shared memory and of L2; with fewer of them than the device has
 * multiprocessors, small ones give all of those something to do. */
template <template <typename> class Core, typename T>
static assay_status multiply(const assay_call *call, const product<T> &asked) {
    const product<T> x = with_rows(asked);
    const problem<T> p = problem_of(x);
    const bool left_k = !x.left.transposed, right_k = x.right.transposed;
    if (tiles_of<large_tile>(x.m, x.n) < ASSAY_MULTIPROCESSORS)
        return launch_for<Core<small_tile>>(call->stream, p, left_k, right_k);
    return launch_for<Core<large_tile>>(call->stream, p, left_k, right_k);
}

#endif
