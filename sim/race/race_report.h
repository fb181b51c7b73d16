/* Collects conflicts, one entry for each pair of places in the source, and tells of them. */
#ifndef ASSAY_SIM_RACE_RACE_REPORT_H
#define ASSAY_SIM_RACE_RACE_REPORT_H

#include "sim/race/race.h"
#include "sim/trace.h"

/* One side of a conflict; `how` as trace.h has it. */
typedef struct sim_race_side {
    uint32_t how, place;
    uint64_t block;
    int32_t thread;
    bool async; /* the asynchronous proxy, for this thread */
} sim_race_side;

/* Why nothing orders the two. */
typedef enum sim_race_reason {
    SIM_NO_BARRIER,
    SIM_NO_ORDER_OF_BLOCKS,
    SIM_NO_FENCE,       /* a flag was read, but no fence follows */
    SIM_NO_WAIT,        /* for accesses of the asynchronous proxy */
    SIM_NO_PROXY_FENCE, /* between a thread's write and the asynchronous proxy */
    SIM_SCOPE_OF_BLOCK, /* atomics of different blocks, one of them of .cta scope */
} sim_race_reason;

typedef struct sim_race_found {
    sim_race_class class;
    sim_race_side after, before;
    sim_race_reason reason;
    const volatile void *address; /* of the first byte */
    uint32_t bytes;
    sim_range memory; /* the shared memory that holds it; empty: global memory */
    bool dynamic;     /* shared memory of a launch, rather than a variable's */
    uint32_t phase;   /* SIM_MISSED: the next one */
    uint64_t count;
} sim_race_found;

void sim_race_begin(void); /* of a launch */

/* True when the pair is known already; then it has been counted. */
bool sim_race_again(sim_race_class class, uint32_t after, uint32_t before);
void sim_race_add(const sim_race_found *found);

/* Hands all that was found to sim_defect(). */
void sim_race_end(void);

#endif
