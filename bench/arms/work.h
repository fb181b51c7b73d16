/*
 * One stage of one case: the call, its sets, and how it is timed. Sets that are timed
 * hold other data at every call (disturb.h), but at the last one: that call's results can be
 * verified.
 */
#ifndef ASSAY_BENCH_ARMS_WORK_H
#define ASSAY_BENCH_ARMS_WORK_H

#include "bench/arms/set.h"
#include "bench/arms/timing.h"
#include "bench/result.h"

#include "assay/rng.h"

/* The variant, and its device. */
typedef struct work_place {
    const assay_device *device;
    const assay_variant *variant;
    const arm_timer *timer;
    void *stream; /* the timer's */
} work_place;

typedef struct work {
    const assay_device *device;
    const assay_variant *variant;
    const form *form;
    void *stream;
    bench_stage stage;
    bool own_forward; /* its backward computes its own forward: both is the one call */
    set *sets;        /* the owner's */
    int64_t n_sets;
    assay_tensor *argument; /* of one call */
    size_t workspace_bytes[ASSAY_STAGES];
    size_t workspace_room; /* the larger of them */
    void *workspace;       /* of every call */
    timing timing;
    assay_rng rng;
    int64_t timed_calls; /* so far */
    int64_t together;    /* calls that are timed as one when caches are warm */
    bool kept;           /* the timer replays these */
} work;

/* The arguments of a stage, for each set. */
set_groups work_needs(bench_stage stage);

/* Moves the sets to the device and makes the calls that must precede any timing. */
assay_status work_init(work *w, const work_place *place, const form *f, bench_stage stage,
                       set *sets, int64_t n_sets, const shared *memory) ASSAY_MUST_CHECK;
void work_clear(work *w);

/* One call on a set as it was given. */
assay_status work_run(work *w, int64_t set) ASSAY_MUST_CHECK;
/* Copies the results of the last call on that set into the shared memory. */
assay_status work_take(work *w, int64_t set, const shared *memory) ASSAY_MUST_CHECK;

/* Microseconds of one call, `count` times; `last`: no more will be asked for. */
assay_status work_time(work *w, bench_cache cache, int64_t count, bool last,
                       double *microseconds) ASSAY_MUST_CHECK;
/* `count` calls back to back, and the wait for their end. */
assay_status work_burst(work *w, int64_t count) ASSAY_MUST_CHECK;

/* Gives all timed sets data that no call has seen, at a time that is not measured. */
assay_status work_settle(work *w) ASSAY_MUST_CHECK;

/* Device memory that a call of the stage holds, and memory that is held just before the backward:
 * bytes of one set's tensors and the workspace. */
void work_memory(const work *w, size_t *peak, size_t *before);

#endif
