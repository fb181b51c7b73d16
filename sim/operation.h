/* Operations of the asynchronous proxy that no thread has waited for yet (proxy.h). */
#ifndef ASSAY_SIM_OPERATION_H
#define ASSAY_SIM_OPERATION_H

#include "sim/block.h"

typedef struct sim_operation sim_operation;
struct sim_operation {
    sim_operation *next;
    void (*run)(sim_operation *op); /* does it */
    void *barrier;                  /* that hears of it; NULL: it is in a bulk group */
    uint32_t phase;                 /* of the barrier, counted, when it was issued */
    uint32_t group;                 /* commits of its thread before it */
    uint64_t block;                 /* that issued it */
    int32_t thread;
    const char *shared; /* the bytes of a block that it reads or writes */
    uint32_t bytes;
    sim_site site;
    bool done;
};

/* Keeps it, freed when it has been waited for; done at once or later. */
void sim_operation_issue(sim_operation *op);

/* One of the barrier's operations that are not done is done; false: there is none. */
bool sim_operation_advance(const void *barrier);
/* One that is not done; NULL: there is none. */
const sim_operation *sim_operation_under_way(const void *barrier);
/* A thread has seen that phases before `phases` are complete. */
void sim_operation_awaited(const void *barrier, uint32_t phases);
/* Groups before `until` of the thread that runs are done, and awaited. */
void sim_operation_wait(uint32_t until);

/* The last thread of the block that runs ends: an operation that still uses its shared memory is a
 * defect. */
void sim_operation_block_end(void);
/* A launch begins or ends. */
void sim_operation_forget(void);

/* mbarrier.c: bytes of a copy have come; the number of phases that are complete; a block's memory
 * is another's. */
void sim_mbarrier_bytes(const sim_operation *op);
uint32_t sim_mbarrier_phases(const void *barrier, const sim_site *site);
void sim_mbarrier_block_end(const sim_range shared[2]);
void sim_mbarrier_forget(void);

/* wgmma.c: all lanes of a warp have come, each with its request. */
void sim_wgmma_meet(int32_t warp, const uint64_t values[SIM_WARP]);

#endif
