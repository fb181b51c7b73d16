/*
 * One sample: the timed calls, behind a wait that is long enough for all of them to be queued when
 * the first begins. Otherwise a short call's time is that of the host that launches it. The call's
 * results are overwritten behind the wait as well: results that do not come in the order of the
 * stream, and so are not timed, are lost.
 */
#ifndef ASSAY_BENCH_ARMS_TIMING_H
#define ASSAY_BENCH_ARMS_TIMING_H

#include "bench/arms/timer.h"

typedef struct timing {
    const assay_device *device;
    const arm_timer *timer;
    double wait;   /* microseconds */
    bool unqueued; /* no wait was long enough: it waits for the device itself, or is too long for
                      the queue. Its times are then those of host and device together. */
} timing;

void timing_init(timing *t, const assay_device *device, const arm_timer *timer);

typedef struct timing_job {
    void *context;
    assay_status (*before)(void *context); /* queued ahead of the wait, on every attempt */
    assay_status (*clear)(void *context);  /* queued behind the wait */
    assay_status (*run)(void *context);    /* the timed work */
    assay_status (*after)(void *context);  /* queued right behind that */
    bool cold;                             /* caches are overwritten before it */
    bool once;                             /* not to be repeated, though it was not queued whole */
} timing_job;

/* A sample that was not queued whole is taken again, behind a longer wait. */
assay_status timing_sample(timing *t, const timing_job *job, double *microseconds) ASSAY_MUST_CHECK;

#endif
