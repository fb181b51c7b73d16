/*
 * Clusters of hopper_tile.h's blocks. DOWN blocks compute tiles below each other at the same time,
 * so they multiply the same slices of the right operand: each loads its part of them, and TMA puts
 * it into the shared memory of all. The stages of their rings go round together: one is empty when
 * it is in all of the blocks.
 *
 * What bounds products whose lines begin within L2's is how many of L2's lines they ask for: a line
 * of a box lies in two. Two blocks ask for a third less. On an H100, cold, C added, 4104^3 takes
 * 361 us in single blocks' tiles of 256 columns, 246 in clusters'; in tiles of 320, 317 and 238.
 * With copies of b alone, or of both, whose lines are L2's, single blocks take 344 and 347.
 * Clusters of two blocks side by side take 292, of two by two 272: of these only 30 have room at a
 * time.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_HOPPER_CLUSTER_H
#define ASSAY_MATMUL_ACCUMULATE_HOPPER_CLUSTER_H

#include "kernels/common/hopper.h"

template <int DOWN> static __device__ __forceinline__ int rank_in_cluster() {
    return DOWN > 1 ? (int)(blockIdx.x % DOWN) : 0;
}

/* A box to the same place in all blocks. */
template <int DOWN>
static __device__ __forceinline__ void load_for_all(unsigned char *to, const tensor_map *map,
                                                    int32_t column, int32_t line, uint64_t *full) {
    if constexpr (DOWN > 1)
        tensor_load_to(to, map, column, line, full, (1 << DOWN) - 1);
    else
        tensor_load(to, map, column, line, full);
}

/* Arrives at the blocks' barriers. */
template <int DOWN>
static __device__ __forceinline__ void arrive_at_all(uint64_t *empty, int arrivals) {
    for (int i = 0; i < DOWN; ++i)
        if constexpr (DOWN > 1)
            mbarrier_arrive_at(empty, (uint32_t)i, (uint32_t)arrivals);
        else
            for (int arrival = 0; arrival < arrivals; ++arrival)
                mbarrier_arrive(empty);
}

/* The same, once, by the first DOWN threads of a warpgroup of GROUP. */
template <int DOWN, int GROUP>
static __device__ __forceinline__ void group_arrives_at_all(uint64_t *empty) {
    const uint32_t thread = threadIdx.x % GROUP;
    if (thread >= DOWN)
        return;
    if constexpr (DOWN > 1)
        mbarrier_arrive_at(empty, thread, 1);
    else
        mbarrier_arrive(empty);
}

#endif
