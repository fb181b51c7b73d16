/*
 * Workers (engine/process/pool.h) check a case each. A worker is a copy of this process, so a
 * report travels as its bytes: names and operators have the same addresses in both. Only its rows,
 * pairs and series get new places; they travel in a file of memory, because a job's own bytes are
 * few.
 */
#include "cli/check_jobs.h"
#include "cli/cli.h"
#include "engine/memory.h"
#include "engine/process/pool.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct check_job {
    int64_t number;
    assay_status status;
    char line[ASSAY_REASON]; /* why, where status is no ASSAY_OK */
    assay_report report;     /* its arrays are addresses in the worker */
    int64_t series;          /* numbers */
    int file;                /* the worker's: rows, pairs and series */
} check_job;

/* ALONE: it did not fit beside other cases, and runs in this process when they are done. */
typedef enum fate { PENDING, ARRIVED, ALONE } fate;

typedef struct run {
    const check_pool *check;
    pool pool;
    bool pooled; /* workers run */
    int *file;   /* of each worker; -1: none */
    fate *fate;
    assay_report *report;
    int64_t given, taken; /* cases that workers got; reports that were handed over */
    bool more;
} run;

int32_t check_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    const int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count > POOL_MOST_WORKERS ? POOL_MOST_WORKERS : count;
}

/* ---- a report's parts ---- */

/* All of the bytes, through write(), which changes none, or read(). */
static bool move_all(int file, void *bytes, size_t size, bool out) {
    char *at = bytes;
    while (size > 0) {
        const ssize_t n = out ? write(file, at, size) : read(file, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static bool move_parts(const check_job *j, const assay_report *r, bool out) {
    return lseek(j->file, 0, SEEK_SET) == 0 &&
           move_all(j->file, r->rows, (size_t)r->n_rows * sizeof *r->rows, out) &&
           move_all(j->file, r->pairs, (size_t)r->n_pairs * sizeof *r->pairs, out) &&
           move_all(j->file, r->series, (size_t)j->series * sizeof *r->series, out);
}

static int64_t series_of(const assay_report *report) {
    int64_t count = 0;
    for (int32_t r = 0; r < report->n_rows; ++r)
        count += report->rows[r].got != NULL ? 2 * report->rows[r].cmp.count : 0;
    return count;
}

/* The rows' numbers lie in the series, wherever that lies now. */
static void move_series(assay_report *report, const double *before) {
    for (int32_t i = 0; i < report->n_rows; ++i) {
        assay_row *row = &report->rows[i];
        if (row->got == NULL)
            continue;
        row->got = report->series + (row->got - before);
        row->want = report->series + (row->want - before);
    }
}

static assay_status take_report(const check_job *j, assay_report *r) {
    *r = j->report;
    r->rows = calloc((size_t)r->n_rows + 1, sizeof *r->rows);
    r->pairs = calloc((size_t)r->n_pairs + 1, sizeof *r->pairs);
    r->series = calloc((size_t)j->series + 1, sizeof *r->series);
    const bool room = r->rows != NULL && r->pairs != NULL && r->series != NULL;
    if (room && move_parts(j, r, false)) {
        move_series(r, j->report.series);
        return ASSAY_OK;
    }
    assay_report_clear(r);
    return room ? assay_fail(ASSAY_ERR_FILE, "the results of a process of --jobs are lost: %s",
                             strerror(errno))
                : assay_fail(ASSAY_ERR_MEMORY, "no memory for the results of --jobs");
}

/* ---- in a worker ---- */

/* Its share of the memory: a case that needs more runs alone, when all others are done. */
static assay_status begin(void *context, int32_t worker, void **state) {
    const run *r = context;
    const double share = assay_memory_available() / r->check->processes;
    char text[32];
    snprintf(text, sizeof text, "%.6f", share / (1 << 30));
    if (isfinite(share))
        setenv("ASSAY_HOST_MEMORY_GIB", text, 1);
    *state = &r->file[worker];
    return ASSAY_OK;
}

static assay_status work(void *context, void *state, void *job) {
    const check_pool *check = ((const run *)context)->check;
    check_job *j = job;
    j->file = *(const int *)state;
    j->status = check->judge(check->context, j->number, &j->report);
    if (j->status == ASSAY_OK) {
        assay_report mine = j->report;
        j->series = series_of(&mine);
        if (!move_parts(j, &mine, true))
            j->status = assay_fail(ASSAY_ERR_MEMORY, "no memory for a report: %s", strerror(errno));
        assay_report_clear(&mine);
    }
    if (j->status != ASSAY_OK)
        snprintf(j->line, sizeof j->line, "%s", assay_error());
    return ASSAY_OK;
}

/* ---- the order of the cases ---- */

static assay_status hand_over(run *r) {
    const check_pool *check = r->check;
    assay_status status = ASSAY_OK;
    while (status == ASSAY_OK && r->more && r->taken < check->cases &&
           r->fate[r->taken] != PENDING && !assay_cli_interrupted()) {
        const int64_t i = r->taken;
        if (r->fate[i] == ALONE && r->pooled)
            return ASSAY_OK;
        if (r->fate[i] == ALONE)
            status = check->judge(check->context, i, &r->report[i]);
        if (status != ASSAY_OK)
            return status;
        ++r->taken;
        status = check->take(check->context, i, &r->report[i], &r->more);
    }
    return status;
}

static assay_status accept(run *r, const pool_done *done) {
    const check_job *j = done->job;
    const int64_t i = j->number;
    assay_status status = ASSAY_OK;
    if (done->end != PROCESS_NOT_ENDED) {
        char reason[ASSAY_REASON];
        snprintf(reason, sizeof reason, "the process that checked this case %s", done->line);
        status = r->check->broken(r->check->context, i, reason, &r->report[i]);
    } else if (j->status == ASSAY_OK) {
        status = take_report(j, &r->report[i]);
    } else if (j->status != ASSAY_ERR_MEMORY) {
        return assay_fail(j->status, "%s", j->line);
    }
    if (status != ASSAY_OK)
        return status;
    const bool alone = done->end == PROCESS_NOT_ENDED && j->status == ASSAY_ERR_MEMORY;
    r->fate[i] = alone ? ALONE : ARRIVED;
    return hand_over(r);
}

static assay_status give(run *r) {
    assay_status status = ASSAY_OK;
    check_job *j;
    while (status == ASSAY_OK && r->more && r->given < r->check->cases &&
           !assay_cli_interrupted() && (j = pool_idle(&r->pool)) != NULL) {
        *j = (check_job){.number = r->given++};
        status = pool_give(&r->pool, j);
    }
    return status;
}

static assay_status run_pool(run *r) {
    assay_status status = give(r);
    while (status == ASSAY_OK && r->more && pool_busy(&r->pool) > 0 && !assay_cli_interrupted()) {
        pool_done done;
        status = pool_wait(&r->pool, -1, &done);
        if (status == ASSAY_OK && done.job != NULL)
            status = accept(r, &done);
        if (status == ASSAY_OK)
            status = give(r);
    }
    return status;
}

static assay_status open_files(run *r) {
    for (int32_t i = 0; i < r->check->processes; ++i) {
        r->file[i] = memfd_create("assay-check", MFD_CLOEXEC);
        if (r->file[i] < 0)
            return assay_fail(ASSAY_ERR_MEMORY, "no memory for --jobs: %s", strerror(errno));
    }
    return ASSAY_OK;
}

static void clear(run *r) {
    for (int32_t i = 0; r->file != NULL && i < r->check->processes; ++i)
        if (r->file[i] >= 0)
            close(r->file[i]);
    for (int64_t i = r->taken; r->fate != NULL && i < r->check->cases; ++i)
        if (r->fate[i] == ARRIVED)
            assay_report_clear(&r->report[i]);
    free(r->file);
    free(r->fate);
    free(r->report);
}

static assay_status run_in_turn(const check_pool *check) {
    bool more = true;
    for (int64_t i = 0; more && i < check->cases && !assay_cli_interrupted(); ++i) {
        assay_report report;
        assay_status status = check->judge(check->context, i, &report);
        if (status == ASSAY_OK)
            status = check->take(check->context, i, &report, &more);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

assay_status check_pool_run(const check_pool *check) {
    if (check->processes < 2)
        return run_in_turn(check);
    const size_t cases = (size_t)check->cases;
    run r = {.check = check,
             .file = calloc((size_t)check->processes, sizeof *r.file),
             .fate = calloc(cases, sizeof *r.fate),
             .report = calloc(cases, sizeof *r.report),
             .more = true};
    const pool_plan plan = {.workers = check->processes,
                            .job_bytes = sizeof(check_job),
                            .context = &r,
                            .begin = begin,
                            .work = work};
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; r.file != NULL && i < check->processes; ++i)
        r.file[i] = -1;
    if (r.file == NULL || r.fate == NULL || r.report == NULL)
        status = assay_fail(ASSAY_ERR_MEMORY, "no memory for --jobs");
    if (status == ASSAY_OK)
        status = open_files(&r);
    if (status == ASSAY_OK)
        status = pool_start(&r.pool, &plan);
    if (status == ASSAY_OK) {
        r.pooled = true;
        status = run_pool(&r);
        pool_end(&r.pool);
        r.pooled = false;
    }
    if (status == ASSAY_OK)
        status = hand_over(&r);
    clear(&r);
    return status;
}
