#include "fuzz/search/workers.h"

#include "engine/guest.h"
#include "engine/variant_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- in a worker ---- */

typedef struct worker_state {
    const fuzz_workers *workers;
    assay_isolation how;
    const assay_device *device, *twin; /* isolated; NULL: there is none */
} worker_state;

static assay_status open_devices(worker_state *s) {
    const assay_device *device;
    assay_status status = assay_device_open(s->workers->device, &device);
    if (status == ASSAY_OK)
        status = assay_isolate(device, &s->how, &s->device);
    if (status == ASSAY_OK)
        status = assay_isolated_load(s->device);
    if (status != ASSAY_OK || !s->workers->twin)
        return status;
    status = assay_device_open(s->workers->twin, &device);
    return status == ASSAY_OK ? assay_isolate(device, s->workers->how, &s->twin) : status;
}

/* Every variant that is named must be one of the device's. */
static assay_status check_targets(const worker_state *s) {
    for (int32_t t = 0; t < s->workers->n_targets; ++t) {
        const fuzz_target *target = &s->workers->target[t];
        for (int32_t v = 0; v < target->n_variants; ++v)
            if (!variant_find(s->device, target->op->name, target->variant[v]))
                return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s/%s is not compiled for %s",
                                  target->op->name, target->variant[v], s->device->name);
    }
    return ASSAY_OK;
}

/* This worker's channel to the shared guest; the others' are closed, so that only one process has
 * each. A worker that replaces another has none: that one's last question may still be open. */
static void take_end(worker_state *s, int32_t worker) {
    const fuzz_workers *workers = s->workers;
    s->how = *workers->how;
    for (int32_t k = 0; k < workers->n_ends; ++k)
        if (k != worker)
            (void)close(workers->end[k]);
    if (worker < workers->n_ends) {
        s->how.shared_pid = workers->shared.pid;
        s->how.shared_channel = workers->end[worker];
    }
}

static assay_status begin(void *context, int32_t worker, void **state) {
    worker_state *s = calloc(1, sizeof *s);
    *state = s;
    if (!s)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for a worker's devices");
    s->workers = context;
    take_end(s, worker);
    const assay_status status = open_devices(s);
    return status == ASSAY_OK ? check_targets(s) : status;
}

static assay_status work(void *context, void *state, void *bytes) {
    const fuzz_workers *workers = context;
    const worker_state *s = state;
    fuzz_job *job = bytes;
    const fuzz_task *task = &job->task;
    const fuzz_target *target = &workers->target[task->target];
    const fuzz_subject subject = {.device = s->device,
                                  .twin = s->twin,
                                  .variant = target->variant,
                                  .n_variants = target->n_variants,
                                  .scope = workers->scope,
                                  .rows = workers->rows,
                                  .spares_plans = true};
    return task->shrink ? fuzz_shrink(&subject, &task->c, &task->failure, &job->shrunk)
                        : fuzz_check(&subject, &task->c, task->relation, &job->result);
}

/* ---- in the parent ---- */

static void close_ends(fuzz_workers *workers) {
    while (workers->n_ends > 0)
        (void)close(workers->end[--workers->n_ends]);
    free(workers->end);
    workers->end = NULL;
}

/* A guest for all of them, and a channel to it for each. */
static assay_status start_shared(fuzz_workers *workers) {
    if (!workers->how->together)
        return ASSAY_OK;
    workers->end = calloc((size_t)workers->jobs, sizeof *workers->end);
    if (!workers->end)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for %d workers", workers->jobs);
    assay_status status = assay_isolate_shared(workers->device, workers->how, &workers->shared);
    while (status == ASSAY_OK && workers->n_ends < workers->jobs) {
        status = guest_share(&workers->shared, &workers->end[workers->n_ends]);
        workers->n_ends += status == ASSAY_OK;
    }
    return status;
}

assay_status fuzz_workers_start(fuzz_workers *workers) {
    const pool_plan plan = {.workers = workers->jobs,
                            .job_bytes = sizeof(fuzz_job),
                            .context = workers,
                            .begin = begin,
                            .work = work};
    if (start_shared(workers) != ASSAY_OK) /* then each has its own, or says why there is none */
        close_ends(workers);
    const assay_status status = pool_start(&workers->pool, &plan);
    close_ends(workers);
    return status;
}

void fuzz_workers_end(fuzz_workers *workers) {
    pool_end(&workers->pool);
    process_stop(&workers->shared);
}

bool fuzz_workers_is_full(const fuzz_workers *workers) {
    return pool_idle(&workers->pool) == NULL;
}

bool fuzz_workers_is_idle(const fuzz_workers *workers) {
    return pool_busy(&workers->pool) == 0;
}

assay_status fuzz_workers_give(fuzz_workers *workers, const fuzz_task *task) {
    fuzz_job *job = pool_idle(&workers->pool);
    job->task = *task;
    return pool_give(&workers->pool, job);
}

/* Of a worker that died over its job: the case is the finding. */
static void note_death(fuzz_job *job, const pool_done *done) {
    job->shrunk = (fuzz_shrunk){.c = job->task.c};
    job->result = (fuzz_result){.n_failures = 1, .failure[0].kind = FUZZ_WORKER_DIED};
    snprintf(job->result.failure[0].reason, ASSAY_REASON, "the worker %.280s", done->line);
}

assay_status fuzz_workers_wait(fuzz_workers *workers, int milliseconds, const fuzz_job **done) {
    pool_done what;
    process_hear(&workers->shared);
    const assay_status status = pool_wait(&workers->pool, milliseconds, &what);
    if (what.job && what.end != PROCESS_NOT_ENDED)
        note_death(what.job, &what);
    *done = what.job;
    return status;
}
