/* The widths that hopper_tile.h's tiles have. */
#ifndef ASSAY_MATMUL_ACCUMULATE_HOPPER_WIDTHS_H
#define ASSAY_MATMUL_ACCUMULATE_HOPPER_WIDTHS_H

#include "kernels/matmul_accumulate/hopper_tile.h"

typedef hopper_tile<256, 4> wide_tile;
typedef hopper_tile<192, 5> middle_tile;
typedef hopper_tile<128, 6> narrow_tile;
typedef hopper_tile<64, 8> thin_tile;
typedef hopper_tile<256, 4, true> mixed_tile;

/* Of clusters of two blocks (hopper_cluster.h). */
typedef hopper_tile<320, 4, false, 2> paired_vast_tile;
typedef hopper_tile<256, 4, false, 2> paired_wide_tile;
typedef hopper_tile<192, 5, false, 2> paired_middle_tile;
typedef hopper_tile<128, 6, false, 2> paired_narrow_tile;
typedef hopper_tile<320, 4, true, 2> paired_mixed_tile;

/*
 * A tile's time. On an H100 one turn of tiles with k = 4096 takes 42.2, 33.2, 23.8 and 18.2 us; of
 * many turns the middle and narrow ones take 61 and 44 to 54 of the wide one's 80, as more bytes
 * come from L2. So chosen, 96 products of a model's shapes and cubes take 0.5 % longer than in the
 * tiles that are fastest for each; without middle tiles, 4.5 %. Clusters' middle and narrow ones
 * take longer in many turns where lines begin within L2's, of 4104^3 69 and 57 of the vast ones'
 * 100; in three turns, of 2056^3, the narrow ones take 47.
 */
enum { VAST_TIME = 100, WIDE_TIME = 80, MIDDLE_TIME = 61, NARROW_TIME = 44, THIN_TIME = 33 };
enum { PAIRED_MIDDLE_TIME = 69, PAIRED_NARROW_TIME = 48 };

static constexpr tile_times<4> MIXED_TIMES = {{THIN_TIME, NARROW_TIME, MIDDLE_TIME, WIDE_TIME}};
static constexpr tile_times<5> VAST_TIMES = {
    {THIN_TIME, NARROW_TIME, MIDDLE_TIME, WIDE_TIME, VAST_TIME}};

#endif
