#include "bench/case_run.h"

#include "assay/compare.h"
#include "engine/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The right results: after the arms' first answers, so that no memory held them before. */
static assay_status know(case_run *k) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < k->sets; ++i)
        if (!k->reference[i].want.out.data) {
            (void)case_run_go_on(k, "", "what is right");
            status = assay_reference_init_with(&k->reference[i], &k->problem[i], k->s->device);
        }
    return status;
}

bool case_run_has_stage(bench_stage stage, assay_stage part) {
    return stage == BENCH_BOTH || (stage == BENCH_FORWARD) == (part == ASSAY_FORWARD);
}

/* A peer may not have a tensor to give, as SDPA has no lse; a variant of ours has them all. */
static bool is_skipped(runner *r, const char *name) {
    const size_t length = strlen(name);
    const char *list = strstr(r->p->process.answer, "SKIPPED ");
    if (!list || bench_arm_is_ours(r->what))
        return false;
    snprintf(r->remark, sizeof r->remark, "not compared, since it gives none: %s",
             list + strlen("SKIPPED "));
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if (strchr(" ,", at[-1]) && (at[length] == '\0' || strchr(" ,", at[length])))
            return true;
    return false;
}

/* One tensor of a set; false when it is wrong. */
static bool compare_tensor(const case_run *k, runner *r, int32_t set, assay_stage part, int32_t i,
                           double *values) {
    const assay_reference *ref = &k->reference[set];
    const bool forward = part == ASSAY_FORWARD;
    const exchange_group group = forward ? EXCHANGE_OUT : EXCHANGE_GRAD;
    const assay_tensor_spec *spec = exchange_spec(&k->s->memory, group, i);
    const assay_arrays *want = forward ? &ref->want.out : &ref->want.grad;
    const assay_bounds *bounds = forward ? &ref->out_bound : &ref->grad_bound;
    exchange_get(&k->s->memory, set, group, i, values);
    const assay_comparison cmp = assay_compare_bounded(spec->dtype, values, want, bounds, i);
    char name[ASSAY_TENSOR_NAME + 1], at[128];
    snprintf(name, sizeof name, "%s%s", forward ? "" : "d", spec->name);
    ++r->row.verified;
    if (r->row.verified == 1 || !(cmp.ratio <= r->row.ratio)) {
        r->row.ratio = cmp.ratio;
        snprintf(r->row.worst_tensor, sizeof r->row.worst_tensor, "%s", name);
    }
    if (cmp.verdict == ASSAY_PASS)
        return true;
    char reason[BENCH_REASON];
    snprintf(reason, sizeof reason,
             "%s: %s: %s of input set %d: %lld of %lld elements beyond their bound, worst at %s: "
             "got %.9g, want %.9g, ratio %.3g",
             assay_verdict_name(cmp.verdict), cmp.reason, name, set, (long long)cmp.wrong,
             (long long)cmp.count, assay_index_text(spec->rank, spec->shape, cmp.worst, at),
             cmp.got, cmp.want, cmp.ratio);
    runner_stop(r, BENCH_REFUSED, reason);
    return false;
}

static int64_t largest(const exchange *e) {
    int64_t most = 1;
    for (exchange_group g = EXCHANGE_OUT; g <= EXCHANGE_GRAD; ++g)
        for (int32_t i = 0; i < exchange_count(e, g); ++i) {
            const int64_t count =
                exchange_has(e, g, i) ? assay_spec_count(exchange_spec(e, g, i)) : 0;
            most = count > most ? count : most;
        }
    return most;
}

/* Compares the arm's results of that set with the right ones. */
static assay_status compare_set(case_run *k, runner *r, bench_stage stage, int32_t set) {
    exchange *e = &k->s->memory;
    const assay_status status = know(k);
    if (status != ASSAY_OK)
        return status;
    double *values = malloc((size_t)largest(e) * sizeof *values);
    if (!values)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory to compare %s", k->text);
    bool right = true;
    for (assay_stage part = ASSAY_FORWARD; part <= ASSAY_BACKWARD; ++part) {
        const exchange_group group = part == ASSAY_FORWARD ? EXCHANGE_OUT : EXCHANGE_GRAD;
        for (int32_t i = 0;
             right && case_run_has_stage(stage, part) && i < exchange_count(e, group); ++i)
            if (exchange_has(e, group, i) && !is_skipped(r, exchange_spec(e, group, i)->name))
                right = compare_tensor(k, r, set, part, i, values);
    }
    free(values);
    return ASSAY_OK;
}

static void blank(case_run *k, bench_stage stage, int32_t set) {
    for (assay_stage part = ASSAY_FORWARD; part <= ASSAY_BACKWARD; ++part)
        if (case_run_has_stage(stage, part))
            exchange_blank(&k->s->memory, set, part);
}

/* Has it leave the results of its last call on that set, and compares them. Results that are not
 * compared are not copied: gradients may be gigabytes. */
static assay_status take(case_run *k, runner *r, bench_stage stage, int32_t set) {
    if (!k->knowable) {
        snprintf(r->remark, sizeof r->remark,
                 "not compared at this size, for which the oracle takes too long");
        return ASSAY_OK;
    }
    blank(k, stage, set);
    if (!runner_is_fine(r, arm_process_ask(&r->p->process, PROCESS_ANSWER, "take %d", set)))
        return ASSAY_OK;
    return compare_set(k, r, stage, set);
}

/* ---- before it is timed ---- */

static bool begin(runner *r, bench_stage stage) {
    return runner_is_fine(r, arm_process_send(&r->p->process, "ready %s", bench_stage_name(stage)));
}

/* Compilers take seconds: those that measure nothing meanwhile do it side by side. */
static void get_ready(case_run *k, bench_stage stage) {
    for (runner *r = k->runner; r < k->runner + k->n_runners; ++r)
        if (runner_goes(r) && !r->what->tunes)
            (void)begin(r, stage);
    for (runner *r = k->runner; r < k->runner + k->n_runners; ++r) {
        if (runner_goes(r) && !r->what->tunes)
            (void)runner_is_fine(r, arm_process_receive(&r->p->process, PROCESS_COMPILE));
    }
    for (runner *r = k->runner; r < k->runner + k->n_runners; ++r)
        if (runner_goes(r) && r->what->tunes && begin(r, stage))
            (void)runner_is_fine(r, arm_process_receive(&r->p->process, PROCESS_COMPILE));
}

assay_status case_run_prove(case_run *k, bench_stage stage) {
    assay_status status = ASSAY_OK;
    get_ready(k, stage);
    for (runner *r = k->runner; status == ASSAY_OK && r < k->runner + k->n_runners; ++r)
        if (runner_goes(r) &&
            runner_is_fine(r, arm_process_ask(&r->p->process, PROCESS_ANSWER, "run 0")))
            status = take(k, r, stage, 0);
    return status;
}

assay_status case_run_prove_timed(case_run *k, runner *r, bench_stage stage) {
    assay_status status = ASSAY_OK;
    for (int32_t set = k->sets > 1; status == ASSAY_OK && runner_goes(r) && set < k->sets; ++set)
        status = take(k, r, stage, set);
    return status;
}
