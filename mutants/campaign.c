#include "mutants/campaign.h"
#include "core/clock.h"
#include "engine/process/pool.h"

#include <stdio.h>
#include <stdlib.h>

enum { TICK = 200 }; /* ms between looks whether it is interrupted */

typedef struct job {
    int32_t number;
    mutant_result result;
} job;

/* ---- in a worker ---- */

static assay_status begin(void *context, int32_t worker, void **state) {
    const campaign *c = context;
    checker *j = calloc(1, sizeof *j);
    *state = j;
    return j ? checker_init(j, c->builder, c->cases, c->n_cases, worker)
             : assay_fail(ASSAY_ERR_MEMORY, "out of memory for a worker's notes");
}

static assay_status work(void *context, void *state, void *bytes) {
    const campaign *c = context;
    job *j = bytes;
    check_mutant(state, c->mutant[j->number], &j->result);
    return ASSAY_OK;
}

/* ---- in the parent ---- */

typedef struct run {
    const campaign *c;
    pool pool;
    int32_t next, told, end; /* `end` of them are begun, unless time ends before */
    double start;
} run;

static assay_status hand_out(run *r) {
    assay_status status = ASSAY_OK;
    if (r->c->seconds > 0 && r->next > 0 && now() - r->start > r->c->seconds)
        r->end = r->next;
    for (job *j; status == ASSAY_OK && r->next < r->end && (j = pool_idle(&r->pool));) {
        *j = (job){.number = r->next++};
        status = pool_give(&r->pool, j);
    }
    return status;
}

static assay_status take(run *r) {
    pool_done done;
    const assay_status status = pool_wait(&r->pool, TICK, &done);
    job *j = done.job;
    if (!j || status != ASSAY_OK)
        return status;
    if (done.end != PROCESS_NOT_ENDED) { /* the next mutant gets another worker */
        j->result = (mutant_result){.outcome = MUTANT_BROKEN};
        snprintf(j->result.reason, LAYER_REASON, "the worker %.230s", done.line);
    }
    r->c->visit(r->c->mutant[j->number], &j->result, ++r->told, r->c->context);
    return ASSAY_OK;
}

assay_status campaign_run(const campaign *c, int32_t *begun) {
    run r = {.c = c, .end = c->count, .start = now()};
    *begun = 0;
    if (c->count == 0)
        return ASSAY_OK;
    const pool_plan plan = {.workers = c->jobs < c->count ? c->jobs : c->count,
                            .job_bytes = sizeof(job),
                            .context = (void *)c,
                            .begin = begin,
                            .work = work};
    assay_status status = pool_start(&r.pool, &plan);
    while (status == ASSAY_OK && !c->interrupted() && r.told < r.end) {
        status = hand_out(&r);
        if (status == ASSAY_OK && r.told < r.end)
            status = take(&r);
    }
    pool_end(&r.pool);
    *begun = r.next;
    return status;
}
