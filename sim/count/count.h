/*
 * Counters of the simulated device: the requests of each launch to memory, warp by warp. They are a
 * mode of recorded kernels: while it is on, races are not looked for. docs/profile.md says what is
 * exact.
 */
#ifndef ASSAY_SIM_COUNT_COUNT_H
#define ASSAY_SIM_COUNT_COUNT_H

#include "sim/race/race.h"
#include "sim/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The requests of warps to one memory. A request is one instruction of a warp: at most 16 bytes
 * from each of its lanes that take part. */
typedef struct sim_requests {
    uint64_t requests;
    uint64_t partial; /* of them, those of fewer than 32 lanes */
    uint64_t lanes;   /* accesses of threads, all requests together */
    uint64_t bytes;   /* that they asked for; the same byte counts once for each lane */
    uint64_t steps; /* global memory: sectors of 32 bytes touched; shared: passes over the banks */
    uint64_t ideal; /* the fewest for as many distinct bytes; shared: without bank conflicts */
    uint64_t repeats; /* atomics: lanes that had to wait for another one at their address, the
                         longest row of each request */
} sim_requests;

/* Warps that met in collectives; barriers: blocks that met. */
typedef struct sim_meetings {
    uint64_t barriers, syncwarps, shuffles, votes, matches, reductions;
    uint64_t mma_bf16, mma_f16, mma_tf32, mma_f64;
    uint64_t ldmatrix, cp_async; /* instructions of a warp; their accesses are in the requests */
} sim_meetings;

typedef struct sim_count {
    const char *kernel; /* as written in ASSAY_LAUNCH */
    uint3 grid, block;
    uint64_t dynamic_shared; /* bytes */
    sim_requests global[SIM_ACCESSES], shared[SIM_ACCESSES];
    sim_meetings met;
    uint64_t event[SIM_EVENTS];
} sim_count;

/* Forgets all counts; launches are counted from now on, until the end. Not within a launch. */
void sim_count_begin(void);
void sim_count_end(void);

/* Launches that were counted, in their order. */
int32_t sim_count_launches(void);
const sim_count *sim_count_at(int32_t i);

#ifdef __cplusplus
}
#endif

#endif
