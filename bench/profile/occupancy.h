/* Theoretical occupancy: the warps that a multiprocessor can hold of a kernel, of those it can hold
 * at all, by the rules of NVIDIA's occupancy calculator for compute capability 9.0. */
#ifndef ASSAY_BENCH_PROFILE_OCCUPANCY_H
#define ASSAY_BENCH_PROFILE_OCCUPANCY_H

#include "bench/profile/record.h"

typedef struct profile_occupancy {
    double share;      /* of the warps; 0: not one block fits */
    uint32_t blocks;   /* of a multiprocessor */
    const char *limit; /* the limit that keeps more blocks out: "threads", "blocks", "registers",
                          "shared memory" */
} profile_occupancy;

profile_occupancy occupancy_of(const profile_record *kernel, const profile_limits *limits);

#endif
