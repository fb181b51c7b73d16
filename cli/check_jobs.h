/* Cases judged by several processes at once, and their reports in the order of the cases. */
#ifndef ASSAY_CLI_CHECK_JOBS_H
#define ASSAY_CLI_CHECK_JOBS_H

#include "engine/check.h"

typedef struct check_pool {
    int64_t cases;
    int32_t processes; /* at most POOL_MOST_WORKERS */

    /* Judges case i: in a worker, or here if the case needed more memory than a worker's share. */
    assay_status (*judge)(void *context, int64_t i, assay_report *report);

    /* A report in its place for a case whose process died. */
    assay_status (*broken)(void *context, int64_t i, const char *reason, assay_report *report);

    /* Takes over the report of case i, in this process, for i = 0, 1, ... *more = false: no
     * further case is wanted. */
    assay_status (*take)(void *context, int64_t i, assay_report *report, bool *more);

    void *context;
} check_pool;

/* The reports are those of one process, for any `processes`. Ends early, and ASSAY_OK, after
 * SIGINT. */
assay_status check_pool_run(const check_pool *pool) ASSAY_MUST_CHECK;

/* Processors that this process may use. */
int32_t check_processors(void);

#endif
