#include "fuzz/search/crew.h"

#include "engine/turn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- in a worker ---- */

typedef struct judge {
    const fuzz_crew *crew;
    const assay_device *device, *twin; /* isolated; NULL: there is none */
} judge;

static assay_status open_devices(judge *j) {
    const assay_device *device;
    assay_status status = assay_device_open(j->crew->device, &device);
    if (status == ASSAY_OK)
        status = assay_isolate(device, j->crew->how, &j->device);
    if (status != ASSAY_OK || !j->crew->twin)
        return status;
    status = assay_device_open(j->crew->twin, &device);
    return status == ASSAY_OK ? assay_isolate(device, j->crew->how, &j->twin) : status;
}

/* Every variant that is named must be one of the device's. */
static assay_status check_targets(const judge *j) {
    for (int32_t t = 0; t < j->crew->n_targets; ++t) {
        const fuzz_target *target = &j->crew->target[t];
        for (int32_t v = 0; v < target->n_variants; ++v)
            if (!turn_find_variant(j->device, target->op->name, target->variant[v]))
                return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s/%s is not compiled for %s",
                                  target->op->name, target->variant[v], j->device->name);
    }
    return ASSAY_OK;
}

static assay_status begin(void *context, int32_t worker, void **state) {
    judge *j = calloc(1, sizeof *j);
    (void)worker;
    *state = j;
    if (!j)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for a worker's devices");
    j->crew = context;
    const assay_status status = open_devices(j);
    return status == ASSAY_OK ? check_targets(j) : status;
}

static assay_status work(void *context, void *state, void *job) {
    const fuzz_crew *crew = context;
    const judge *j = state;
    fuzz_desk *desk = job;
    const fuzz_task *task = &desk->task;
    const fuzz_target *target = &crew->target[task->target];
    const fuzz_court court = {.device = j->device,
                              .twin = j->twin,
                              .variant = target->variant,
                              .n_variants = target->n_variants,
                              .rows = crew->rows};
    return task->shrink ? fuzz_shrink(&court, &task->c, &task->failure, &desk->shrunk)
                        : fuzz_judge(&court, &task->c, task->relation, &desk->result);
}

/* ---- in the parent ---- */

assay_status fuzz_crew_start(fuzz_crew *crew) {
    const pool_plan plan = {.workers = crew->jobs,
                            .job_bytes = sizeof(fuzz_desk),
                            .context = crew,
                            .begin = begin,
                            .work = work};
    return pool_start(&crew->pool, &plan);
}

void fuzz_crew_end(fuzz_crew *crew) {
    pool_end(&crew->pool);
}

bool fuzz_crew_is_full(const fuzz_crew *crew) {
    return pool_idle(&crew->pool) == NULL;
}

bool fuzz_crew_is_idle(const fuzz_crew *crew) {
    return pool_busy(&crew->pool) == 0;
}

assay_status fuzz_crew_give(fuzz_crew *crew, const fuzz_task *task) {
    fuzz_desk *desk = pool_idle(&crew->pool);
    desk->task = *task;
    return pool_give(&crew->pool, desk);
}

/* Of a worker that died over its job: the case is the finding. */
static void note_death(fuzz_desk *desk, const pool_done *done) {
    desk->shrunk = (fuzz_shrunk){.c = desk->task.c};
    desk->result = (fuzz_result){.n_failures = 1, .failure[0].kind = FUZZ_NO_JUDGE};
    snprintf(desk->result.failure[0].reason, ASSAY_REASON, "the worker %.280s", done->line);
}

assay_status fuzz_crew_wait(fuzz_crew *crew, int milliseconds, const fuzz_desk **done) {
    pool_done what;
    const assay_status status = pool_wait(&crew->pool, milliseconds, &what);
    if (what.job && what.end != PROCESS_NOT_ENDED)
        note_death(what.job, &what);
    *done = what.job;
    return status;
}
