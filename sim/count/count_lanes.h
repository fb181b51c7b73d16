/*
 * Which accesses of a warp's lanes are one request. Threads run one after the other, so lanes come
 * to an instruction one by one: those from the same place in the code are one request that are each
 * lane's n-th since the warp last converged.
 */
#ifndef ASSAY_SIM_COUNT_COUNT_LANES_H
#define ASSAY_SIM_COUNT_COUNT_LANES_H

#include "sim/count/count_request.h"

#include <stdbool.h>

/* The kind of a request, and its memory. */
typedef struct sim_purpose {
    sim_access kind;
    bool shared;
    bool copies; /* the far end of a cp.async */
} sim_purpose;

/* The current thread asks for `bytes`, at most SIM_WIDEST, at `place` in the code. */
void sim_lanes_note(sim_purpose purpose, uint64_t place, uintptr_t address, size_t bytes);

/* All lanes of the warp meet: hands over its requests, which are complete. */
typedef void (*sim_request_taker)(sim_purpose purpose, const sim_request *request);
void sim_lanes_converge(int32_t warp, sim_request_taker take);

/* Some lanes meet, and go on with equal n. */
void sim_lanes_level(int32_t warp, uint32_t lanes);

/* The launch is over. */
void sim_lanes_forget(void);

/* Counting, like recording, has no way on without memory: aborts the process when it is NULL. */
void *sim_count_must(void *memory);

#endif
