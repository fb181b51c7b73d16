#include "engine/process/pool.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Memory that a worker and its parent share; the job's bytes follow. */
typedef struct shared_job {
    assay_status status;
    char line[1024];
    max_align_t job[];
} shared_job;

struct pool_worker {
    process process;
    shared_job *shared;
    bool busy;
};

static const process_limits no_limits = {.seconds = INFINITY, .bytes = INFINITY};

static size_t shared_bytes(const pool *p) {
    return sizeof(shared_job) + p->plan.job_bytes;
}

/* ---- in a worker ---- */

typedef struct beginning {
    const pool *pool;
    int32_t number;
} beginning;

/* Says that it is done; false: the parent has gone. */
static bool hand_in(int channel, shared_job *d) {
    if (d->status != ASSAY_OK)
        snprintf(d->line, sizeof d->line, "%s", assay_error());
    return channel_send(channel, "d", 1, -1);
}

static void work(int channel, void *context) {
    const beginning *b = context;
    const pool_plan *plan = &b->pool->plan;
    shared_job *d = b->pool->worker[b->number].shared;
    void *state = NULL;
    char word;
    d->status = plan->begin ? plan->begin(plan->context, b->number, &state) : ASSAY_OK;
    while (hand_in(channel, d) && channel_receive(channel, &word, 1, NULL) == 1)
        d->status = plan->work(plan->context, state, d->job);
}

/* ---- in the parent ---- */

static assay_status status_of(const pool_worker *w) {
    return w->shared->status == ASSAY_OK ? ASSAY_OK
                                         : assay_fail(w->shared->status, "%s", w->shared->line);
}

static assay_status begin(pool *p, int32_t number) {
    beginning b = {.pool = p, .number = number};
    const int error = process_fork(&p->worker[number].process, work, &b);
    return error == 0
               ? ASSAY_OK
               : assay_fail(ASSAY_ERR_MEMORY, "a worker cannot be started: %s", strerror(error));
}

static assay_status await_beginning(pool_worker *w) {
    char word, how[PROCESS_LINE];
    if (process_read(&w->process, &no_limits, &word, 1) == 0)
        return assay_fail(ASSAY_ERR_DEVICE, "a worker %s", process_how(&w->process, how));
    return status_of(w);
}

/* All of them begin before the first is waited for. */
assay_status pool_start(pool *p, const pool_plan *plan) {
    *p = (pool){.plan = *plan};
    if (plan->workers < 1 || plan->workers > POOL_MOST_WORKERS)
        return assay_fail(ASSAY_ERR_USAGE, "%d workers: must be 1 to %d", plan->workers,
                          POOL_MOST_WORKERS);
    p->worker = calloc((size_t)plan->workers, sizeof *p->worker);
    assay_status status =
        p->worker ? ASSAY_OK
                  : assay_fail(ASSAY_ERR_MEMORY, "no memory for %d workers", plan->workers);
    for (int32_t k = 0; status == ASSAY_OK && k < plan->workers; ++k) {
        void *shared =
            mmap(NULL, shared_bytes(p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        p->worker[k].shared = shared == MAP_FAILED ? NULL : shared;
        status = p->worker[k].shared
                     ? begin(p, k)
                     : assay_fail(ASSAY_ERR_MEMORY, "no memory for %d workers", plan->workers);
    }
    for (int32_t k = 0; status == ASSAY_OK && k < plan->workers; ++k)
        status = await_beginning(&p->worker[k]);
    if (status != ASSAY_OK)
        pool_end(p);
    return status;
}

void pool_end(pool *p) {
    for (int32_t k = 0; p->worker && k < p->plan.workers; ++k) {
        process_stop(&p->worker[k].process);
        if (p->worker[k].shared)
            (void)munmap(p->worker[k].shared, shared_bytes(p));
    }
    free(p->worker);
    *p = (pool){0};
}

void *pool_idle(const pool *p) {
    for (int32_t k = 0; k < p->plan.workers; ++k)
        if (!p->worker[k].busy)
            return p->worker[k].shared->job;
    return NULL;
}

int32_t pool_busy(const pool *p) {
    int32_t busy = 0;
    for (int32_t k = 0; k < p->plan.workers; ++k)
        busy += p->worker[k].busy;
    return busy;
}

assay_status pool_give(pool *p, void *job) {
    int32_t k = 0;
    while ((void *)p->worker[k].shared->job != job)
        ++k;
    pool_worker *w = &p->worker[k];
    w->busy = process_send(&w->process, "j", 1, -1);
    if (w->busy)
        return ASSAY_OK;
    process_stop(&w->process); /* it died over its last job, or since */
    assay_status status = begin(p, k);
    if (status == ASSAY_OK)
        status = await_beginning(w);
    if (status != ASSAY_OK)
        return status;
    w->busy = process_send(&w->process, "j", 1, -1);
    return w->busy ? ASSAY_OK : assay_fail(ASSAY_ERR_DEVICE, "a worker ended as soon as it began");
}

/* Hears the worker out: it says that it is done, or has died. */
static assay_status take(pool_worker *w, pool_done *done) {
    char word;
    w->busy = false;
    done->job = w->shared->job;
    if (process_read(&w->process, &no_limits, &word, 1) == 1)
        return status_of(w);
    done->end = w->process.end;
    process_how(&w->process, done->line);
    return ASSAY_OK;
}

assay_status pool_wait(pool *p, int milliseconds, pool_done *done) {
    struct pollfd polls[POOL_MOST_WORKERS];
    *done = (pool_done){0};
    for (int32_t k = 0; k < p->plan.workers; ++k)
        polls[k] = (struct pollfd){.fd = p->worker[k].busy ? p->worker[k].process.from : -1,
                                   .events = POLLIN};
    if (poll(polls, (nfds_t)p->plan.workers, milliseconds) <= 0)
        return ASSAY_OK;
    for (int32_t k = 0; k < p->plan.workers; ++k)
        if (polls[k].revents != 0)
            return take(&p->worker[k], done);
    return ASSAY_OK;
}
