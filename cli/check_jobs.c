/*
 * A process for each job takes the next case from a counter in shared memory and sends its report
 * through a pipe. A fork shares all addresses that were there before, so that a report travels as
 * its bytes: names and operators are where they were, and only the rows, pairs and series, which
 * follow it, get new places.
 */
#include "cli/check_jobs.h"
#include "cli/cli.h"
#include "engine/memory.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_PROCESSES = 256 };

typedef struct shared {
    _Atomic int64_t next;               /* the first case that no process has taken */
    _Atomic bool stop;                  /* no further case is wanted */
    _Atomic int64_t at[MOST_PROCESSES]; /* the case that a process is at; -1: none */
} shared;

typedef struct message {
    int64_t number;
    assay_status status;
    char line[ASSAY_REASON]; /* why, where status is no ASSAY_OK */
    assay_report report;
    int64_t series; /* numbers */
} message;

typedef struct worker {
    pid_t pid;
    int from; /* -1: it is gone */
} worker;

typedef enum fate { PENDING, ARRIVED, ALONE } fate;

typedef struct run {
    const check_pool *pool;
    shared *shared;
    worker *worker;
    int32_t alive;
    fate *fate;
    assay_report *report;
    int64_t taken; /* reports that were handed over */
    bool more;
} run;

int32_t check_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    const int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count > MOST_PROCESSES ? MOST_PROCESSES : count;
}

/* ---- bytes ---- */

/* All of them, through write(), which changes none, or read(). */
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

static int64_t series_of(const assay_report *report) {
    int64_t count = 0;
    for (int32_t r = 0; r < report->n_rows; ++r)
        count += report->rows[r].got != NULL ? 2 * report->rows[r].cmp.count : 0;
    return count;
}

/* What follows a report's own bytes. */
static bool move_parts(int file, const message *m, bool out) {
    const assay_report *r = &m->report;
    return move_all(file, r->rows, (size_t)r->n_rows * sizeof *r->rows, out) &&
           move_all(file, r->pairs, (size_t)r->n_pairs * sizeof *r->pairs, out) &&
           move_all(file, r->series, (size_t)m->series * sizeof *r->series, out);
}

static bool send_report(int to, message *m) {
    m->series = m->status == ASSAY_OK ? series_of(&m->report) : 0;
    return move_all(to, m, sizeof *m, true) && (m->status != ASSAY_OK || move_parts(to, m, true));
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

static bool receive_report(int from, message *m) {
    if (!move_all(from, m, sizeof *m, false))
        return false;
    if (m->status != ASSAY_OK)
        return true;
    assay_report *r = &m->report;
    const double *before = r->series;
    r->rows = calloc((size_t)r->n_rows + 1, sizeof *r->rows);
    r->pairs = calloc((size_t)r->n_pairs + 1, sizeof *r->pairs);
    r->series = calloc((size_t)m->series + 1, sizeof *r->series);
    if (r->rows != NULL && r->pairs != NULL && r->series != NULL && move_parts(from, m, false)) {
        move_series(r, before);
        return true;
    }
    assay_report_clear(r);
    return false;
}

/* ---- a process ---- */

static void work(const run *r, int32_t self, int to) {
    for (;;) {
        const int64_t i = atomic_fetch_add(&r->shared->next, 1);
        if (i >= r->pool->cases || atomic_load(&r->shared->stop) || assay_cli_interrupted())
            return;
        atomic_store(&r->shared->at[self], i);
        message m = {.number = i};
        m.status = r->pool->judge(r->pool->context, i, &m.report);
        if (m.status != ASSAY_OK)
            snprintf(m.line, sizeof m.line, "%s", assay_error());
        const bool sent = send_report(to, &m);
        if (m.status == ASSAY_OK)
            assay_report_clear(&m.report);
        if (!sent)
            return;
        atomic_store(&r->shared->at[self], -1);
    }
}

/* Of the memory that is there: what needs more than a share runs alone, when all others are done.
 */
static void take_share(int32_t processes) {
    const double share = assay_memory_available() / processes;
    char text[32];
    snprintf(text, sizeof text, "%.6f", share / (1 << 30));
    if (isfinite(share))
        setenv("ASSAY_HOST_MEMORY_GIB", text, 1);
}

static assay_status start(run *r, int32_t self) {
    int ends[2];
    if (pipe(ends) != 0)
        return assay_fail(ASSAY_ERR_FILE, "no pipe for --jobs: %s", strerror(errno));
    atomic_store(&r->shared->at[self], -1);
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        for (int32_t i = 0; i < r->pool->processes; ++i)
            if (r->worker[i].from >= 0)
                close(r->worker[i].from);
        take_share(r->pool->processes);
        work(r, self, ends[1]);
        r->pool->leave(r->pool->context);
        _exit(0);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return assay_fail(ASSAY_ERR_MEMORY, "no process for --jobs: %s", strerror(errno));
    }
    r->worker[self] = (worker){.pid = pid, .from = ends[0]};
    ++r->alive;
    return ASSAY_OK;
}

/* ---- the order of the cases ---- */

static assay_status hand_over(run *r) {
    const check_pool *pool = r->pool;
    assay_status status = ASSAY_OK;
    while (status == ASSAY_OK && r->more && r->taken < pool->cases &&
           r->fate[r->taken] != PENDING && !assay_cli_interrupted()) {
        const int64_t i = r->taken;
        /* What did not fit beside other cases runs when they are through. */
        if (r->fate[i] == ALONE && r->alive > 0)
            return ASSAY_OK;
        if (r->fate[i] == ALONE)
            status = pool->judge(pool->context, i, &r->report[i]);
        if (status != ASSAY_OK)
            return status;
        ++r->taken;
        status = pool->take(pool->context, i, &r->report[i], &r->more);
    }
    if (!r->more)
        atomic_store(&r->shared->stop, true);
    return status;
}

static assay_status accept(run *r, const message *m) {
    if (m->status != ASSAY_OK && m->status != ASSAY_ERR_MEMORY)
        return assay_fail(m->status, "%s", m->line);
    r->report[m->number] = m->report;
    r->fate[m->number] = m->status == ASSAY_OK ? ARRIVED : ALONE;
    return hand_over(r);
}

/* The pipe has ended: the process is through, or it died at a case. */
static assay_status bury(run *r, int32_t self) {
    worker *w = &r->worker[self];
    char reason[128] = "the process that judged this case ended in the middle of it";
    int how = 0;
    const int64_t at = atomic_load(&r->shared->at[self]);
    close(w->from);
    w->from = -1;
    --r->alive;
    while (waitpid(w->pid, &how, 0) < 0 && errno == EINTR)
        continue;
    if (WIFSIGNALED(how))
        snprintf(reason, sizeof reason, "the process that checked this case was ended by signal %d",
                 WTERMSIG(how));
    if (at < 0 || assay_cli_interrupted())
        return hand_over(r);
    assay_status status = r->pool->broken(r->pool->context, at, reason, &r->report[at]);
    if (status != ASSAY_OK)
        return status;
    r->fate[at] = ARRIVED;
    status = hand_over(r);
    if (status == ASSAY_OK && r->more && atomic_load(&r->shared->next) < r->pool->cases)
        status = start(r, self);
    return status;
}

static assay_status hear(run *r) {
    struct pollfd ends[MOST_PROCESSES];
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < r->pool->processes; ++i)
        ends[i] = (struct pollfd){.fd = r->worker[i].from, .events = POLLIN};
    if (poll(ends, (nfds_t)r->pool->processes, -1) < 0 && errno != EINTR)
        return assay_fail(ASSAY_ERR_FILE, "--jobs: %s", strerror(errno));
    if (assay_cli_interrupted())
        atomic_store(&r->shared->stop, true);
    for (int32_t i = 0; status == ASSAY_OK && i < r->pool->processes; ++i) {
        message m;
        if (r->worker[i].from < 0 || ends[i].revents == 0)
            continue;
        status = receive_report(r->worker[i].from, &m) ? accept(r, &m) : bury(r, i);
    }
    return status;
}

static void clear(run *r) {
    if (r->shared != NULL)
        atomic_store(&r->shared->stop, true);
    for (int32_t i = 0; r->worker != NULL && i < r->pool->processes; ++i) {
        if (r->worker[i].from < 0)
            continue;
        close(r->worker[i].from); /* its next write fails, and it ends */
        while (waitpid(r->worker[i].pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    for (int64_t i = r->taken; r->fate != NULL && i < r->pool->cases; ++i)
        if (r->fate[i] == ARRIVED)
            assay_report_clear(&r->report[i]);
    if (r->shared != NULL)
        munmap(r->shared, sizeof *r->shared);
    free(r->worker);
    free(r->fate);
    free(r->report);
}

static assay_status run_in_turn(const check_pool *pool) {
    bool more = true;
    for (int64_t i = 0; more && i < pool->cases && !assay_cli_interrupted(); ++i) {
        assay_report report;
        assay_status status = pool->judge(pool->context, i, &report);
        if (status == ASSAY_OK)
            status = pool->take(pool->context, i, &report, &more);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

assay_status check_pool_run(const check_pool *pool) {
    if (pool->processes < 2)
        return run_in_turn(pool);
    const size_t cases = (size_t)pool->cases;
    run r = {.pool = pool,
             .worker = calloc((size_t)pool->processes, sizeof *r.worker),
             .fate = calloc(cases, sizeof *r.fate),
             .report = calloc(cases, sizeof *r.report),
             .more = true};
    void *memory =
        mmap(NULL, sizeof *r.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assay_status status = ASSAY_OK;
    r.shared = memory != MAP_FAILED ? memory : NULL;
    for (int32_t i = 0; r.worker != NULL && i < pool->processes; ++i)
        r.worker[i].from = -1;
    if (r.worker == NULL || r.fate == NULL || r.report == NULL || r.shared == NULL)
        status = assay_fail(ASSAY_ERR_MEMORY, "no memory for --jobs");
    for (int32_t i = 0; status == ASSAY_OK && i < pool->processes; ++i)
        status = start(&r, i);
    while (status == ASSAY_OK && r.alive > 0)
        status = hear(&r);
    if (status == ASSAY_OK)
        status = hand_over(&r);
    clear(&r);
    return status;
}
