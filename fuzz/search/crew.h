/*
 * Workers that judge cases and shrink them, one task each at a time. Each has a device of its own
 * with guests of its own; one that dies costs its task, and is replaced.
 */
#ifndef ASSAY_FUZZ_SEARCH_CREW_H
#define ASSAY_FUZZ_SEARCH_CREW_H

#include "engine/isolate.h"
#include "engine/process/pool.h"
#include "fuzz/search/judge.h"
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
    bool shrink;      /* shrink the case, which has `failure`; otherwise judge it */
    int64_t relation; /* as fuzz_judge() takes it */
    assay_case c;
    fuzz_failure failure;
} fuzz_task;

/* What a worker and its parent share. */
typedef struct fuzz_desk {
    fuzz_task task;
    fuzz_result result; /* of judging */
    fuzz_shrunk shrunk; /* of shrinking */
} fuzz_desk;

typedef struct fuzz_crew {
    const char *device, *twin;  /* names; no twin: NULL */
    const assay_isolation *how; /* of its variants */
    const fuzz_target *target;
    int32_t n_targets;
    int64_t rows; /* as fuzz_court has them */
    int32_t jobs;
    pool pool;
} fuzz_crew;

/* Starts `jobs` workers; the rest of the crew is set. ASSAY_ERR_UNSUPPORTED when the device
 * cannot run here, or has no such variant. */
assay_status fuzz_crew_start(fuzz_crew *crew) ASSAY_MUST_CHECK;

/* Ends them, whatever they do. */
void fuzz_crew_end(fuzz_crew *crew);

/* Whether all of them have a task; whether none has. */
bool fuzz_crew_is_full(const fuzz_crew *crew);
bool fuzz_crew_is_idle(const fuzz_crew *crew);

/* Gives a task to one that has none, while the crew is not full. */
assay_status fuzz_crew_give(fuzz_crew *crew, const fuzz_task *task) ASSAY_MUST_CHECK;

/* Waits until one is done, for `milliseconds` at most, or until a signal: hands over its desk,
 * valid until it gets its next task, or NULL. Of one that died it says so in the result. */
assay_status fuzz_crew_wait(fuzz_crew *crew, int milliseconds,
                            const fuzz_desk **done) ASSAY_MUST_CHECK;

#endif
