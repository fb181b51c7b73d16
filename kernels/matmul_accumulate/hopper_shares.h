/*
 * A result in equal shares for the blocks of a persistent kernel, in tiles of several widths.
 *
 * Tiles of one width leave multiprocessors idle in the last turn: 2048 x 2560 elements are 160
 * tiles of 128 x 256, which take two turns of 132 blocks, as 264 would. Here each row of tiles has
 * as many blocks as the others. The shares of a row differ by one unit of 64 columns at most, and a
 * block computes its share in tiles of two to four units, or five: in the example 128 shares of
 * five units, of three and two.
 *
 * On an H100, cold, bf16, b transposed, microseconds: 2048 x 2560 x 10240 takes 153 so, 169 in
 * tiles of 192 columns; 4096 x 2560 x 10240 275, and 316 in tiles of 256; TF32, 525 and 605. Shares
 * that are cut anywhere from all rows, one behind the other, leave no block idle and take 20 %
 * longer than shares of rows: tiles that begin at different times share no operand in L2.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_HOPPER_SHARES_H
#define ASSAY_MATMUL_ACCUMULATE_HOPPER_SHARES_H

#include "kernels/matmul_accumulate/hopper_place.h"

constexpr int UNIT = 64; /* columns */

/* Units of the first of the tiles of so many units, of which there are at least two: MOST, but what
 * two tiles take is halved, so that no tile of one unit is left, and as three and three are done
 * sooner than four and two. */
template <int MOST> static __host__ __device__ __forceinline__ int units_of_first(int64_t units) {
    return (int)(units <= MOST ? units : units < 2 * MOST ? (units + 1) / 2 : MOST);
}

/* visit(place, units) for the tiles of this block's share; DOWN blocks, a cluster, have the same
 * share of DOWN rows below each other. */
template <int MOST, int DOWN, typename Visit>
static __device__ __forceinline__ void each_tile_of_share(int64_t m, int64_t n, Visit visit) {
    const int64_t across = ceil_div(n, UNIT), shares = gridDim.x / DOWN / ceil_div(m, DOWN * ROWS);
    const int64_t row = blockIdx.x / DOWN / shares * DOWN + blockIdx.x % DOWN;
    const int64_t share = blockIdx.x / DOWN % shares, end = across * (share + 1) / shares;
    for (int64_t unit = across * share / shares; unit < end;) {
        const int units = units_of_first<MOST>(end - unit);
        visit(hopper_place{(int32_t)(row * ROWS), (int32_t)(unit * UNIT)}, units);
        unit += units;
    }
}

/* ---- on the host ---- */

/* How long tiles of one to MOST units take. */
template <int MOST> struct tile_times { int64_t of[MOST]; };

/* Of a GPU's 132 blocks each row then has three. With two, in 64 rows, tiles of 256 columns that
 * take as many turns were done 4 % sooner. */
constexpr int64_t MOST_ROWS_OF_SHARES = 44, LEAST_SHARE = 4 /* units */;

/* Blocks for the shares of a result that is not empty; 0: it has none. Smaller shares would be
 * tiles of one width, all done in one turn without this. */
static inline int64_t blocks_of_shares(int64_t m, int64_t n, int down = 1) {
    const int64_t rows = ceil_div(m, down * ROWS), shares = ASSAY_MULTIPROCESSORS / down / rows;
    const bool enough = shares * LEAST_SHARE <= ceil_div(n, UNIT);
    return enough && down * rows <= MOST_ROWS_OF_SHARES ? down * shares * rows : 0;
}

/* How long the longest share takes; INT64_MAX: there is none. */
template <int MOST>
static inline int64_t time_of_shares(int64_t m, int64_t n, const tile_times<MOST> &times,
                                     int down = 1) {
    const int64_t blocks = blocks_of_shares(m, n, down);
    if (blocks == 0)
        return INT64_MAX;
    const int64_t shares = blocks / down / ceil_div(m, down * ROWS);
    int64_t time = 0;
    for (int64_t left = ceil_div(ceil_div(n, UNIT), shares); left > 0;) {
        const int units = units_of_first<MOST>(left);
        time += times.of[units - 1];
        left -= units;
    }
    return time;
}

#endif
