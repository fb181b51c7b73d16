/*
 * A launch's blocks in several processes: forks of this one, which share the device's memory with
 * it (MAP_SHARED) and take the next block from one counter. For launches whose blocks may run at
 * the same time (sim_launch.unordered), while nothing is recorded and no chance is drawn. A launch
 * begins in one process; it is shared out when it has taken some time.
 */
#ifndef ASSAY_SIM_SPLIT_H
#define ASSAY_SIM_SPLIT_H

#include "sim/runtime.h"

/* Of the launches to come: by how many processes at most, once they have taken so many nanoseconds.
 * 1 at first. All that kernels may write must be shared memory before it is more. */
void sim_split_allow(int32_t processes, int64_t nanoseconds);

/* By how many the last launch was run. */
int32_t sim_split_processes(void);

void sim_split_begin(const sim_launch *launch);

/* Perhaps forks: `next` of the launch's `all` blocks have run, and no other has begun. */
void sim_split(uint64_t next, uint64_t all);

/* The place in the launch's order of the next block to run: `next`, or where there are several
 * processes the first that none has taken; UINT64_MAX: there is none, or one before it failed. */
uint64_t sim_split_take(uint64_t next, uint64_t all);

/* The launch ends. `failed`: in the block that was taken last. Only the process that began it comes
 * back, with the defect of the first block that has one. */
void sim_split_end(bool failed);

#endif
