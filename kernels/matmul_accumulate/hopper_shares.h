/*
 * A result in equal shares for the blocks of a persistent kernel, in tiles of several widths.
 *
 * Tiles of one width leave multiprocessors idle in the last turn: 2048 x 2560 elements are 160
 * tiles of 128 x 256, which take two turns of 132 blocks, as 264 would. Here each row of tiles has
 * as many blocks as the others. The shares of a row differ by one unit of 64 columns at most, and a
 * block computes its share in tiles of two to four units: in the example 128 shares of five units,
 * of three and two.
 *
 * On an H100, cold, bf16, b transposed, microseconds: 2048 x 2560 x 10240 takes 153 so, 169 in
 * tiles of 192 columns; 4096 x 2560 x 10240 275, and 316 in tiles of 256; TF32, 525 and 605. Shares
 * that are cut anywhere from all rows, one behind the other, leave no block idle and take 20 %
 * longer than shares of rows: tiles that begin at different times share no operand in L2.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_HOPPER_SHARES_H
#define ASSAY_MATMUL_ACCUMULATE_HOPPER_SHARES_H

#include "kernels/matmul_accumulate/hopper_place.h"

constexpr int UNIT = 64 /* columns */, MOST_UNITS = 4 /* of a tile */;

/* Units of the first of the tiles of so many units, of which there are at least two: as many as can
 * be, but five and six begin with three, so that no tile of one unit is left of five, and as three
 * and three are done sooner than four and two. */
static __host__ __device__ __forceinline__ int units_of_first(int64_t units) {
    return units == 5 || units == 6 ? 3 : (int)(units < MOST_UNITS ? units : MOST_UNITS);
}

/* visit(place, units) for the tiles of this block's share. */
template <typename Visit>
static __device__ __forceinline__ void each_tile_of_share(int64_t m, int64_t n, Visit visit) {
    const int64_t across = ceil_div(n, UNIT), shares = gridDim.x / ceil_div(m, ROWS);
    const int64_t row = blockIdx.x / shares, share = blockIdx.x % shares;
    const int64_t end = across * (share + 1) / shares;
    for (int64_t unit = across * share / shares; unit < end;) {
        const int units = units_of_first(end - unit);
        visit(hopper_place{(int32_t)(row * ROWS), (int32_t)(unit * UNIT)}, units);
        unit += units;
    }
}

/* ---- on the host ---- */

/* How long tiles of one to four units take. */
struct tile_times {
    int64_t of[MOST_UNITS];
};

/* Of a GPU's 132 blocks each row then has three. With two, in 64 rows, tiles of 256 columns that
 * take as many turns were done 4 % sooner. */
constexpr int64_t MOST_ROWS_OF_SHARES = 44;

/* Blocks for the shares of a result that is not empty; 0: it has none. Smaller shares would be
 * tiles of one width, all done in one turn without this. */
static inline int64_t blocks_of_shares(int64_t m, int64_t n) {
    const int64_t down = ceil_div(m, ROWS), shares = ASSAY_MULTIPROCESSORS / down;
    const bool enough = shares * MOST_UNITS <= ceil_div(n, UNIT);
    return enough && down <= MOST_ROWS_OF_SHARES ? shares * down : 0;
}

/* How long the longest share takes; INT64_MAX: there is none. */
static inline int64_t time_of_shares(int64_t m, int64_t n, const tile_times &times) {
    const int64_t blocks = blocks_of_shares(m, n);
    if (blocks == 0)
        return INT64_MAX;
    int64_t time = 0;
    for (int64_t left = ceil_div(ceil_div(n, UNIT), blocks / ceil_div(m, ROWS)); left > 0;) {
        const int units = units_of_first(left);
        time += times.of[units - 1];
        left -= units;
    }
    return time;
}

#endif
