/*
 * Fibers: stacks of their own that one host thread switches between. A pool keeps them: a fiber
 * that is released waits inside its entry function and goes on there when it is acquired again.
 */
#ifndef ASSAY_SIM_FIBER_H
#define ASSAY_SIM_FIBER_H

#include "assay/status.h"
#include "sim/asan.h"
#include "sim/context.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sim_fiber {
    sim_context context;
    char *low;
    size_t size;
    void *fake_stack; /* AddressSanitizer's */
    bool fresh;       /* must start at the entry when it is acquired */
} sim_fiber;

/* Reserves address space for the stacks of `most` fibers at a time, while no fiber is in use; every
 * fiber runs `entry`, which never returns. */
assay_status sim_fiber_setup(void (*entry)(void), int32_t most) ASSAY_MUST_CHECK;

/* The caller's own stack, as a fiber to come back to. */
sim_fiber *sim_fiber_host(void);

/* NULL when memory is out, or as many are in use as there may be. */
sim_fiber *sim_fiber_acquire(void);
void sim_fiber_release(sim_fiber *fiber);

/* Throws away the state of all fibers; each acquired from now on starts at `entry`. */
void sim_fiber_abandon_all(void);

/* Suspends `from`, which runs, and resumes `to`. Returns when something switches back. */
#if defined(SIM_ASAN)
void sim_fiber_switch(sim_fiber *from, sim_fiber *to);
#else
static inline void sim_fiber_switch(sim_fiber *from, sim_fiber *to) {
    sim_context_switch(&from->context, &to->context);
}
#endif

#endif
