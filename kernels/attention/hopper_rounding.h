/* Blocks of attention v3_hopper's backward that round dq behind all walks (hopper_backward_plan.h).
 */
#ifndef ASSAY_ATTENTION_HOPPER_ROUNDING_H
#define ASSAY_ATTENTION_HOPPER_ROUNDING_H

#include "kernels/attention/hopper_backward.h"

/* Rounds the tile of queries whose turn it is, and then others, until there are no more. */
template <typename Plan, typename T>
static __device__ __forceinline__ void round_tiles(const backward_on_hopper<T> &p,
                                                   const backward_memory<Plan> &memory) {
    constexpr int THREADS = Plan::GROUPS * GROUP;
    const int tiles = (int)ceil_div(p.n.sq, Plan::QUERIES);
    const int links = (int)ceil_div(p.n.sk, Plan::ROWS);
    for (;;) {
        const backward_walk walk = *memory.walk();
        const int64_t tile = walk.at.head * tiles + walk.first;
        if (walk.first >= tiles)
            return;
        if (threadIdx.x == 0)
            await_links(p.counts + tile, links);
        __syncthreads();
        if (threadIdx.x >= GROUP) {
            const float4 *const from =
                reinterpret_cast<const float4 *>(p.sums + tile * Plan::SUMS) + threadIdx.x - GROUP;
            hopper_sums<Plan::LINK_COLUMNS> dq;
            UNROLL
            for (int i = 0; i < Plan::LINK_COLUMNS / 8; ++i) {
                const float4 four = __ldcg(from + i * THREADS);
                dq.value[4 * i] = four.x;
                dq.value[4 * i + 1] = four.y;
                dq.value[4 * i + 2] = four.z;
                dq.value[4 * i + 3] = four.w;
            }
            store_dq<Plan, T>(p, walk.at.head, walk.first * Plan::QUERIES, dq);
        } else if (threadIdx.x == 0) {
            *memory.walk() = walk_of<Plan>(p.n, p.groups, atomicAdd(p.draw, 1u));
        }
        __syncthreads();
    }
}

#endif
