/* Backward of attention v3_hopper: dq of the tiles of queries whose sums are LOST, once more, in
 * v3's tiles. */
#ifndef ASSAY_ATTENTION_HOPPER_AGAIN_H
#define ASSAY_ATTENTION_HOPPER_AGAIN_H

#include "kernels/attention/hopper_backward.h"
#include "kernels/attention/v3_backward.h"

/* Of the chains of tiles of QUERIES queries. */
template <int QUERIES>
static __device__ __forceinline__ bool has_lost(const sizes &n, const unsigned *counts,
                                                const place &at, int queries) {
    const int64_t tiles = ceil_div(n.sq, QUERIES);
    const int64_t end = clamp((at.row + queries) / QUERIES, 0, tiles);
    bool lost = false;
    for (int64_t tile = at.row / QUERIES; tile < end; ++tile)
        lost = lost || (counts[at.head * tiles + tile] & LOST);
    return lost;
}

template <typename Core, typename Plan, int QUERIES>
static __global__ void __launch_bounds__(Plan::THREADS, Plan::BLOCKS)
    lost_gradients(backward_problem<typename Core::storage> p, const unsigned *counts,
                   const unsigned *lost) {
    static_assert(Plan::ROWS % QUERIES == 0, "whole tiles of the chains");
    const int64_t tiles = *lost ? p.n.heads * ceil_div(p.n.sq, Plan::ROWS) : 0;
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const place at = query_place<Plan>(tile, p.n, p.part);
        if (has_lost<QUERIES>(p.n, counts, at, Plan::ROWS)) {
            __syncthreads(); /* all warps are done with the tile before */
            add_keys<Core, Plan>(p, at);
        }
    }
}

#endif
