/* The lanes' values from a warp collective's result. */
#ifndef ASSAY_SIM_PTX_DEVICE_WARP_H
#define ASSAY_SIM_PTX_DEVICE_WARP_H

#include "sim/ptx/device/base.h"

#define LANE ((uint32_t)*x->thread_number & 31)

/* Of a ballot: the votes, and in the upper half the lanes that met. */
INLINE bool all_of(uint64_t ballot) {
    return (uint32_t)ballot == (uint32_t)(ballot >> 32);
}
INLINE bool uniform_of(uint64_t ballot) {
    return (uint32_t)ballot == 0 || all_of(ballot);
}
INLINE uint64_t elected(uint64_t ballot, uint32_t lane) {
    const uint32_t leader = (uint32_t)__builtin_ctz((uint32_t)ballot);
    return leader | (uint64_t)(leader == lane) << 32;
}
INLINE uint64_t matched(uint64_t lanes) {
    return (uint32_t)lanes | (uint64_t)((uint32_t)lanes != 0) << 32;
}

/* Of the thread's block in its cluster. */
#define IN_CLUSTER(c) (x->block->c % x->cluster_shape.c)
#define CLUSTER_RANK                                                                               \
    (IN_CLUSTER(x) + x->cluster_shape.x * (IN_CLUSTER(y) + x->cluster_shape.y * IN_CLUSTER(z)))
#define CLUSTER_SIZE (x->cluster_shape.x * x->cluster_shape.y * x->cluster_shape.z)

#endif
