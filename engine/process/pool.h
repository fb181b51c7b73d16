/*
 * Workers: copies of this process that do jobs, one at a time each. A job is some bytes that worker
 * and parent share: the task goes in, the result comes back in it, as it is in memory. A worker
 * that dies costs its job, which is then not done, and never the parent; its next job gets a new
 * worker.
 */
#ifndef ASSAY_ENGINE_POOL_H
#define ASSAY_ENGINE_POOL_H

#include "assay/status.h"
#include "engine/process/process.h"

#include <stdint.h>

enum { POOL_MOST_WORKERS = 256 };

typedef struct pool_plan {
    int32_t workers; /* 1 to POOL_MOST_WORKERS */
    size_t job_bytes;
    void *context; /* of the calls below, which happen in a worker */

    /* Once, before its first job: opens the things that all of its jobs need, into `*state`. NULL:
     * they need nothing. */
    assay_status (*begin)(void *context, int32_t worker, void **state);
    /* One job. An error is the job's, and its line goes to the parent. */
    assay_status (*work)(void *context, void *state, void *job);
} pool_plan;

typedef struct pool_worker pool_worker;

typedef struct pool {
    pool_plan plan;
    pool_worker *worker;
} pool;

/* The outcome of a job. */
typedef struct pool_done {
    void *job;       /* the worker's, until it is given another one; NULL: no job is done yet */
    process_end end; /* PROCESS_NOT_ENDED; otherwise its worker ended so, and it is not done */
    char line[PROCESS_LINE]; /* how that ended, as process_how() says it */
} pool_done;

/* Starts all workers, side by side, and waits until they have begun. An error of one, a fork that
 * fails among them, is the error of all. */
assay_status pool_start(pool *p, const pool_plan *plan) ASSAY_MUST_CHECK;

/* Ends them, also in the middle of a job. */
void pool_end(pool *p);

/* The bytes of a worker without a job, for pool_give() to hand over; NULL: all are busy. */
void *pool_idle(const pool *p);
int32_t pool_busy(const pool *p);

/* The job in these bytes begins. An error: its worker had died, and no new one could be started. */
assay_status pool_give(pool *p, void *job) ASSAY_MUST_CHECK;

/* Waits until a job is done, for `milliseconds` at most (-1: no limit), or until a signal comes. An
 * error is the one that the job returned. */
assay_status pool_wait(pool *p, int milliseconds, pool_done *done) ASSAY_MUST_CHECK;

#endif
