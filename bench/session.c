#include "bench/session.h"

#include "bench/case_run.h"
#include "engine/runner.h"
#include "engine/variant_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a stage ---- */

bool case_run_go_on(const case_run *k, const char *stage, const char *what) {
    char line[ASSAY_CASE_TEXT + 64];
    snprintf(line, sizeof line, "%s: %s%s%s", k->text, stage, stage[0] ? ": " : "", what);
    return k->s->progress(k->s->progress_context, line);
}

/* The rest of a stage, when the cold samples are there. */
static assay_status finish_stage(case_run *k, runner *r, bench_stage stage) {
    assay_status status = ASSAY_OK;
    if (runner_goes(r))
        status = case_run_prove_timed(k, r, stage);
    if (runner_goes(r))
        case_run_hold_to_floor(r);
    if (status == ASSAY_OK && runner_goes(r))
        status = case_run_time_warm(k, r);
    if (runner_goes(r))
        case_run_ask_memory(r);
    if (runner_goes(r) && k->s->first)
        case_run_ask_customary(r);
    return status;
}

/* PyTorch takes most of a second to forget what it has compiled: all do it at once. Whatever they
 * answer, the stage is over. */
static void end_stage(case_run *k) {
    for (int32_t i = 0; i < k->n_runners; ++i)
        if (k->runner[i].loaded && arm_process_runs(&k->runner[i].p->process))
            (void)!arm_process_send(&k->runner[i].p->process, "done");
    for (int32_t i = 0; i < k->n_runners; ++i)
        if (k->runner[i].loaded && arm_process_runs(&k->runner[i].p->process))
            (void)!arm_process_receive(&k->runner[i].p->process, PROCESS_ANSWER);
}

static assay_status time_stage(case_run *k, bench_stage stage) {
    const char *name = bench_stage_name(stage);
    assay_status status = ASSAY_OK;
    if (case_run_go_on(k, name, "first answers"))
        status = case_run_prove(k, stage);
    if (status == ASSAY_OK && case_run_go_on(k, name, "timed in turn")) {
        k->s->timing = true;
        status = case_run_time_cold(k);
        k->s->timing = false;
    }
    if (!case_run_go_on(k, name, "answers of timed calls, warm caches"))
        return status;
    for (runner *r = k->runner; status == ASSAY_OK && r < k->runner + k->n_runners; ++r)
        status = finish_stage(k, r, stage);
    end_stage(k);
    return status;
}

/* Those that did not fit beside the others, each alone. An arm that was told of the case may have
 * held memory, whatever became of it. */
static assay_status time_lonely(case_run *k, bench_stage stage, const assay_work *work) {
    assay_status status = ASSAY_OK;
    case_run alone = *k;
    int32_t together = 0;
    for (int32_t i = 0; i < k->n_runners; ++i)
        together += k->runner[i].loaded || k->runner[i].status == BENCH_OOM;
    for (int32_t i = 0; together > 1 && status == ASSAY_OK && i < k->n_runners; ++i) {
        runner *r = &k->runner[i];
        if (r->status != BENCH_OOM || !r->p || !arm_process_runs(&r->p->process))
            continue;
        for (int32_t other = 0; other < k->n_runners; ++other)
            runner_forget(k, &k->runner[other]);
        runner_drop_samples(r);
        case_run_start_row(k, r, stage, work);
        runner_stop(r, BENCH_OK, "");
        runner_tell(k, r);
        alone.runner = r;
        alone.n_runners = 1;
        status = time_stage(&alone, stage);
        memcpy(k->reference, alone.reference, sizeof k->reference);
    }
    return status;
}

/* Those that may run and are not told yet learn of the case. */
static void gather(case_run *k, bench_stage stage, const assay_work *work) {
    for (runner *r = k->runner; r < k->runner + k->n_runners; ++r) {
        case_run_start_row(k, r, stage, work);
        runner_stop(r, r->barred, r->bar);
        if (r->status == BENCH_OK && !arm_process_runs(&r->p->process))
            runner_stop(r, BENCH_ERROR, "its process ended in an earlier stage");
        if (r->status == BENCH_OK && !r->loaded)
            runner_tell(k, r);
    }
}

static assay_status run_stage(case_run *k, bench_stage stage) {
    assay_work work;
    assay_status status = case_run_work(k->plan->c, stage, &work);
    if (status != ASSAY_OK)
        return status;
    gather(k, stage, &work);
    status = time_stage(k, stage);
    if (status == ASSAY_OK)
        status = time_lonely(k, stage, &work);
    const bool whole = k->s->progress(k->s->progress_context, ""); /* an interrupted row is none */
    for (runner *r = k->runner; r < k->runner + k->n_runners; ++r) {
        if (status == ASSAY_OK && whole)
            status = case_run_finish_rows(k, r);
        else
            runner_drop_samples(r);
    }
    return status;
}

/* ---- a case ---- */

/* The stages that the operator has: without gradients there is no backward. */
static bool is_possible(const case_run *k, bench_stage stage) {
    return k->backward || stage == BENCH_FORWARD;
}

/* Whether all rows are there; those that broke are worth another try. Arms that were timed in
 * different runs are not compared: one row missing, and all are made. */
static bool is_done(const case_run *k) {
    bench_row like = {.cache = BENCH_COLD};
    snprintf(like.experiment, sizeof like.experiment, "%s", k->plan->experiment);
    memcpy(like.case_text, k->text, sizeof like.case_text);
    for (int32_t i = 0; i < k->plan->n_stages; ++i)
        for (int32_t a = 0; a < k->plan->arms->count; ++a) {
            like.stage = k->plan->stage[i];
            memcpy(like.arm, k->plan->arms->arm[a].name, sizeof like.arm);
            const bench_row *row = bench_results_find(k->s->results, &like);
            if (is_possible(k, like.stage) && (!row || row->status == BENCH_ERROR))
                return false;
        }
    return true;
}

/* A variant of this program's that declines the shapes is not proven for them: that takes minutes
 * where each shape costs it a plan. The line is r->bar. */
static bool declines(const case_run *k, runner *r, const bench_arm *what) {
    const assay_case *c = k->plan->c;
    const assay_variant *variant = variant_find(k->s->device, c->op->name, what->name);
    assay_problem shapes = {.c = *c};
    if (what->program != BENCH_PROGRAM_OURS || what->kernel || !variant ||
        c->op->signature(&c->params, &shapes.sig) != ASSAY_OK)
        return false;
    assay_signature_drop_gradients(&shapes.sig); /* forward alone is worth a row */
    const assay_status status = assay_supports(variant, k->s->device, &shapes);
    const char *line = strchr(assay_error(), ' '); /* behind the stage */
    if (status == ASSAY_ERR_UNSUPPORTED)
        snprintf(r->bar, sizeof r->bar, "%s", line ? line + 1 : assay_error());
    assay_signature_clear(&shapes.sig);
    return status == ASSAY_ERR_UNSUPPORTED;
}

/* Whether the arm may run. */
static void admit(const case_run *k, runner *r, const bench_arm *what) {
    bench_session *s = k->s;
    r->what = what;
    r->p = bench_processes_find(s, k->plan->c->op->name, what);
    r->barred = BENCH_OK;
    if (!runner_is_fine(r, r->p->status)) {
        r->barred = r->status;
        memcpy(r->bar, r->p->line, sizeof r->bar);
    } else if (declines(k, r, what)) {
        r->barred = BENCH_UNAVAILABLE;
    } else if (bench_arm_is_ours(what) &&
               !s->gate(s->gate_context, k->plan->c, what->name, r->bar)) {
        r->barred = BENCH_REFUSED;
    }
}

static assay_status admit_all(case_run *k) {
    const bench_arms *arms = k->plan->arms;
    k->runner = calloc((size_t)arms->count + 1, sizeof *k->runner);
    if (!k->runner)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the arms of %s", k->text);
    k->n_runners = arms->count;
    const assay_status status = bench_processes_need(k->s, k->plan->c->op->name, arms);
    for (int32_t a = 0; status == ASSAY_OK && a < arms->count; ++a)
        admit(k, &k->runner[a], &arms->arm[a]);
    return status;
}

static assay_status run_case(case_run *k) {
    if (!case_run_go_on(k, "", "arms"))
        return ASSAY_OK;
    assay_status status = admit_all(k);
    if (status == ASSAY_OK && case_run_go_on(k, "", "data"))
        status = case_run_prepare(k);
    for (int32_t i = 0; status == ASSAY_OK && i < k->plan->n_stages; ++i)
        if (is_possible(k, k->plan->stage[i]) && k->s->progress(k->s->progress_context, ""))
            status = run_stage(k, k->plan->stage[i]);
    k->s->first = false;
    return status;
}

static void clear(case_run *k) {
    for (int32_t i = 0; i < k->n_runners; ++i)
        runner_forget(k, &k->runner[i]);
    for (int32_t i = 0; i < CASE_RUN_SETS; ++i) {
        assay_reference_clear(&k->reference[i]);
        assay_problem_clear(&k->problem[i]);
    }
    free(k->runner);
}

assay_status bench_session_run(bench_session *s, const bench_plan *plan) {
    case_run k = {.s = s, .plan = plan};
    assay_signature sig;
    assay_case_format(plan->c, k.text);
    assay_status status = plan->c->op->signature(&plan->c->params, &sig);
    if (status != ASSAY_OK)
        return status;
    k.backward = plan->c->op->backward && assay_signature_has_gradients(&sig);
    assay_signature_clear(&sig);
    if (!is_done(&k))
        status = run_case(&k);
    clear(&k);
    return status;
}

/* ---- the session ---- */

assay_status bench_session_init(bench_session *s) {
    char text[ASSAY_DEVICE_TEXT] = "";
    s->process = NULL;
    s->n_processes = 0;
    s->first = true;
    const assay_status status = s->device->probe(text);
    s->ceilings = bench_ceilings_of(text);
    return status == ASSAY_OK ? exchange_init(&s->memory) : status;
}

void bench_session_clear(bench_session *s) {
    bench_processes_end(s);
    exchange_clear(&s->memory);
}
