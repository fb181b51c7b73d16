/*
 * Workers that check cases and shrink them, one task each at a time; one that dies costs its task,
 * and is replaced. Each has a device of its own with guests of its own. Where all variants share a
 * guest (`together` in isolate.h), all workers do, too: processes take turns on a GPU, and threads
 * of one process do not. A worker whose variant ends that guest asks it again in one of its own.
 */
#ifndef ASSAY_FUZZ_SEARCH_WORKERS_H
#define ASSAY_FUZZ_SEARCH_WORKERS_H

#include "engine/isolate.h"
#include "engine/process/pool.h"
#include "fuzz/search/check.h"
#include "fuzz/search/shrink.h"

enum { FUZZ_MOST_JOBS = POOL_MOST_WORKERS };

/* An operator under test, with its variants as assay_check() takes them. */
typedef struct fuzz_target {
    const assay_op *op;
    const char *const *variant;
    int32_t n_variants;
} fuzz_target;

typedef struct fuzz_task {
    int64_t number; /* the asker's */
    int32_t target;
    bool shrink;      /* shrink the case, which has `failure`; otherwise check it */
    int64_t relation; /* as fuzz_check() takes it */
    assay_case c;
    fuzz_failure failure;
} fuzz_task;

/* Memory that a worker and its parent share. */
typedef struct fuzz_job {
    fuzz_task task;
    fuzz_result result; /* of checking */
    fuzz_shrunk shrunk; /* of shrinking */
} fuzz_job;

typedef struct fuzz_workers {
    const char *device, *twin;  /* names; no twin: NULL */
    const assay_isolation *how; /* of its variants */
    const fuzz_target *target;
    int32_t n_targets;
    int64_t rows; /* as fuzz_subject has them */
    check_scope scope;
    int32_t jobs;
    pool pool;
    process shared; /* the guest of all workers; none: each has its own */
    int32_t n_ends; /* channels to it, for workers that have yet to begin */
    int *end;
} fuzz_workers;

/* Starts `jobs` workers; the other members are set. ASSAY_ERR_UNSUPPORTED when the device
 * cannot run here, or has no such variant. */
assay_status fuzz_workers_start(fuzz_workers *workers) ASSAY_MUST_CHECK;

/* Ends them, also in the middle of a task. */
void fuzz_workers_end(fuzz_workers *workers);

/* Whether all of them have a task; whether all are idle. */
bool fuzz_workers_is_full(const fuzz_workers *workers);
bool fuzz_workers_is_idle(const fuzz_workers *workers);

/* Gives a task to an idle worker, while not all are busy. */
assay_status fuzz_workers_give(fuzz_workers *workers, const fuzz_task *task) ASSAY_MUST_CHECK;

/* Waits until one is done, for `milliseconds` at most, or until a signal: hands over its job,
 * valid until it gets its next task, or NULL. Of one that died it says so in the result. */
assay_status fuzz_workers_wait(fuzz_workers *workers, int milliseconds,
                               const fuzz_job **done) ASSAY_MUST_CHECK;

#endif
