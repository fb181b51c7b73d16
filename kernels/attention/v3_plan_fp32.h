/*
 * Tile sizes of attention v3 in strict fp32. Shared memory brings a multiprocessor's lanes 32
 * numbers a clock, and they make 128 multiply-adds: a lane must make 4 with every number that it
 * reads. 8 x 8 sums make 64 with 16 numbers, 8 x 4 no more than 32 with 12. Two bands and 64
 * streamed rows give a lane 8 x 8 scores. With 32 streamed rows they are 8 x 4, with one band 4 x
 * 4: where registers or shared memory have no room for more, this sets the pace. Two bands and 64
 * columns of a result are 8 x 8, too, and 128 columns 8 x 16.
 *
 * `few` is for so few rows that `forward` or `keys` would leave multiprocessors idle, `fewer` for
 * sequences of a few hundred: there, warps share rows. Backward, keys of more than 32 numbers that
 * are so few are left to pairs of tiles (v3_pairs.h).
 */
#ifndef ASSAY_ATTENTION_V3_PLAN_FP32_H
#define ASSAY_ATTENTION_V3_PLAN_FP32_H

#include "kernels/attention/v3_plan.h"

/*
 * The product for dq: a block has ROWS queries and all D columns, its warps 64 x 32 of them, a lane
 * 8 x 8; where there are few queries, SPLITS warps have the same, and take turns at the keys.
 * Slices of DEPTH keys for each of those come through STAGES stages. Lanes are 8 down and 4 across,
 * numbered as in fma_core.
 */
template <int D_, int ROWS_, int SPLITS_> struct slope_plan {
    static constexpr int D = D_, ROWS = ROWS_, SPLITS = SPLITS_, STAGES = 3;
    static constexpr int DEPTH = SPLITS > 1 ? 8 : 16, KEYS = DEPTH * SPLITS; /* of a slice */
    static constexpr int WARP_ROWS = 64, COLUMNS = 32;                       /* of a warp */
    static constexpr int DOWN = ROWS / WARP_ROWS, ACROSS = D / COLUMNS;
    static constexpr int WARPS = DOWN * ACROSS * SPLITS, THREADS = WARPS * WARP;
    static constexpr int BLOCKS = 512 / THREADS; /* that share a multiprocessor */
    static constexpr int LEFT = KEYS * ROWS, STAGE = LEFT + KEYS * tile_stride<float, D>;

    static __device__ __forceinline__ int row(int i) {
        return warp() / SPLITS % DOWN * WARP_ROWS + (i / 4 * 8 + lane() / 2 % 8) * 4 + i % 4;
    }
    static __device__ __forceinline__ int column(int j) {
        return warp() / SPLITS / DOWN * COLUMNS + (j / 4 * 4 + lane() % 2 + lane() / 16 * 2) * 4 +
               j % 4;
    }
};

/* plan<D, WARPS, BANDS, STREAMED, PARTS, BLOCKS, SPLITS> */
template <> struct plans<fma_core, 16> {
    typedef plan<16, 4, 2, 64, 1, 2> forward;
    typedef plan<16, 8, 2, 32, 1, 1, 4> forward_few;
    typedef plan<16, 8, 1, 32, 1, 1, 8> forward_fewer;
    typedef plan<16, 4, 2, 32, 1, 3> keys;
    typedef plan<16, 8, 2, 32, 1, 1, 4> keys_few;
    typedef plan<16, 8, 1, 32, 1, 1, 8> keys_fewer;
    typedef slope_plan<32, 128, 1> slopes;
    typedef slope_plan<32, 64, 4> slopes_few;
};
template <> struct plans<fma_core, 32> {
    typedef plan<32, 4, 2, 64, 1, 2> forward;
    typedef plan<32, 8, 2, 32, 1, 1, 4> forward_few;
    typedef plan<32, 4, 1, 32, 1, 1, 4> forward_fewer;
    typedef plan<32, 4, 2, 32, 1, 2> keys;
    typedef plan<32, 8, 2, 32, 1, 1, 4> keys_few;
    typedef plan<32, 4, 1, 32, 1, 1, 4> keys_fewer;
    typedef slope_plan<32, 128, 1> slopes;
    typedef slope_plan<32, 64, 4> slopes_few;
};
template <> struct plans<fma_core, 64> {
    typedef plan<64, 4, 2, 64, 1, 2> forward;
    typedef plan<64, 8, 2, 64, 1, 1, 4> forward_few;
    typedef plan<64, 8, 1, 32, 1, 1, 8> forward_fewer;
    typedef plan<64, 8, 2, 32> keys;
    typedef plan<64, 8, 2, 32, 1, 1, 4> keys_few, keys_fewer;
    typedef slope_plan<64, 128, 1> slopes;
    typedef slope_plan<64, 64, 4> slopes_few;
};
template <> struct plans<fma_core, 128> {
    typedef plan<128, 8, 2, 32> forward;
    typedef plan<128, 8, 2, 32, 1, 1, 4> forward_few;
    typedef plan<128, 4, 1, 32, 1, 1, 4> forward_fewer;
    typedef plan<128, 8, 1, 32> keys;
    typedef plan<128, 8, 1, 32, 1, 1, 2> keys_few, keys_fewer;
    typedef slope_plan<128, 128, 1> slopes;
    typedef slope_plan<128, 64, 4> slopes_few;
};
template <> struct plans<fma_core, 256> {
    typedef plan<256, 4, 1, 32> forward, forward_few, forward_fewer;
    typedef plan<256, 4, 1, 16, 2> keys, keys_few, keys_fewer;
    typedef slope_plan<256, 128, 1> slopes, slopes_few;
};

#endif
