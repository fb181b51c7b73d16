#include "engine/golden.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static assay_status run_variants(golden_check *check, const char *path, const assay_case *c,
                                 const assay_device *device, const char *const *names, int32_t n) {
    assay_golden golden;
    assay_status status = variant_runs_init(&check->runs, device, c->op->name, names, n);
    if (status == ASSAY_OK)
        status = assay_golden_read(path, c, &golden);
    if (status != ASSAY_OK)
        return status;
    assay_results_clear(&golden.want); /* no answer is in memory while they run */
    status = variant_runs_execute(&check->runs, device, &golden.problem);
    assay_golden_clear(&golden);
    return status;
}

assay_status golden_check_init(golden_check *check, const char *path, const assay_case *c,
                               const assay_device *device, const char *const *names, int32_t n) {
    *check = (golden_check){0};
    assay_status status = ASSAY_OK;
    if (device)
        status = run_variants(check, path, c, device, names, n);
    if (status == ASSAY_OK)
        status = assay_golden_read(path, c, &check->golden);
    if (status == ASSAY_OK)
        status = assay_reference_init(&check->reference, &check->golden.problem);
    if (status == ASSAY_OK)
        status = assay_reference_init_as(&check->fp64, &check->golden.problem, ASSAY_F64);
    if (status != ASSAY_OK)
        golden_check_clear(check);
    return status;
}

void golden_check_clear(golden_check *check) {
    variant_runs_clear(&check->runs);
    assay_golden_clear(&check->golden);
    assay_reference_clear(&check->reference);
    assay_reference_clear(&check->fp64);
    *check = (golden_check){0};
}

/* ---- lines ---- */

typedef struct reporter {
    const char *who, *against;
    golden_line_visitor visit;
    void *context;
} reporter;

/* Two sides of a group of tensors, and how far they may be apart: bound, plus `more` if given. */
typedef struct sides {
    const char *group, *prefix;
    const assay_tensor_spec *spec;
    const assay_arrays *got, *want, *bound, *more;
} sides;

static void explain(golden_line *line, const assay_tensor_spec *spec) {
    const assay_comparison *cmp = &line->cmp;
    char at[128];
    if (line->verdict == ASSAY_PASS)
        return;
    if (line->verdict != ASSAY_FAIL) {
        snprintf(line->reason, sizeof line->reason, "%s", cmp->reason);
        return;
    }
    snprintf(line->reason, sizeof line->reason,
             "%lld of %lld elements beyond their bound, worst at %s: %s has %.17g, %s %.17g, off "
             "by %.3g where %.3g is allowed",
             (long long)cmp->wrong, (long long)cmp->count,
             assay_index_text(spec->rank, spec->shape, cmp->worst, at), line->who, cmp->got,
             line->against, cmp->want, fabs(cmp->got - cmp->want), cmp->bound);
}

/* `dtype`: what the values are stored in; fp64 of an oracle's. */
static assay_status compare(const reporter *to, const sides *s, int32_t i, assay_dtype dtype) {
    const int64_t count = s->want->size[i];
    assay_arrays bound;
    assay_status status = assay_arrays_init(&bound, 1);
    if (status == ASSAY_OK)
        status = assay_arrays_add(&bound, 0, count);
    if (status == ASSAY_OK) {
        for (int64_t e = 0; e < count; ++e)
            bound.data[0][e] =
                (s->bound ? s->bound->data[i][e] : 0) + (s->more ? s->more->data[i][e] : 0);
        golden_line line = {.who = to->who, .against = to->against, .group = s->group};
        snprintf(line.tensor, sizeof line.tensor, "%s%s", s->prefix, s->spec[i].name);
        line.cmp = assay_compare(dtype, s->got->data[i], s->want->data[i], bound.data[0], count);
        line.verdict = line.cmp.verdict;
        explain(&line, &s->spec[i]);
        to->visit(&line, to->context);
    }
    assay_arrays_clear(&bound);
    return status;
}

/* Every tensor that both sides have. fp64 on both sides, or stored as the tensor's own dtype. */
static assay_status compare_all(const reporter *to, const sides *s, bool fp64) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < s->want->count; ++i)
        if (s->want->data[i] && s->got->data[i])
            status = compare(to, s, i, fp64 ? ASSAY_F64 : s->spec[i].dtype);
    return status;
}

static assay_status compare_results(const reporter *to, const golden_check *check,
                                    const assay_results *got, const assay_results *want,
                                    const assay_reference *bound, const assay_reference *more,
                                    bool fp64) {
    const assay_signature *sig = &check->golden.problem.sig;
    const sides outputs = {"outputs",
                           "",
                           sig->out,
                           &got->out,
                           &want->out,
                           &bound->out_bound.element,
                           more ? &more->out_bound.element : NULL};
    const sides gradients = {"gradients",
                             "d",
                             sig->in,
                             &got->grad,
                             &want->grad,
                             &bound->grad_bound.element,
                             more ? &more->grad_bound.element : NULL};
    assay_status status = compare_all(to, &outputs, fp64);
    return status == ASSAY_OK ? compare_all(to, &gradients, fp64) : status;
}

/* ---- the oracle and the generator ---- */

static assay_status check_generator(const golden_check *check, golden_line_visitor visit,
                                    void *context) {
    const assay_problem *p = &check->golden.problem;
    const reporter to = {"generator", "golden", visit, context};
    assay_problem today;
    assay_status status = assay_problem_init(&today, &p->c);
    if (status != ASSAY_OK)
        return status;
    const sides in = {"inputs", "", p->sig.in, &today.in, &p->in, NULL, NULL};
    const sides cot = {"inputs", "d", p->sig.out, &today.cot, &p->cot, NULL, NULL};
    status = compare_all(&to, &in, true);
    if (status == ASSAY_OK)
        status = compare_all(&to, &cot, true);
    assay_problem_clear(&today);
    return status;
}

assay_status golden_check_oracle(const golden_check *check, golden_line_visitor visit,
                                 void *context) {
    const reporter to = {"oracle", "golden", visit, context};
    const assay_status status = compare_results(&to, check, &check->reference.want,
                                                &check->golden.want, &check->fp64, NULL, true);
    if (status != ASSAY_OK || check->golden.problem.c.fill == ASSAY_FILL_GOLDEN)
        return status;
    return check_generator(check, visit, context);
}

/* ---- variants ---- */

/* What it did instead of giving numbers. */
static void report_no_numbers(const variant_run *t, golden_line_visitor visit, void *context) {
    golden_line line = {.who = t->variant->name,
                        .against = "",
                        .group = "",
                        .verdict = t->status == ASSAY_ERR_UNSUPPORTED ? ASSAY_SKIP : ASSAY_ERROR};
    snprintf(line.reason, sizeof line.reason, "%s", t->line);
    visit(&line, context);
}

static assay_status check_run(const golden_check *check, const variant_run *t,
                              golden_line_visitor visit, void *context) {
    const reporter oracle = {t->variant->name, "oracle", visit, context};
    const reporter golden = {t->variant->name, "golden", visit, context};
    if (t->status != ASSAY_OK) {
        report_no_numbers(t, visit, context);
        return ASSAY_OK;
    }
    const assay_status status = compare_results(&oracle, check, &t->got, &check->reference.want,
                                                &check->reference, NULL, false);
    if (status != ASSAY_OK)
        return status;
    return compare_results(&golden, check, &t->got, &check->golden.want, &check->reference,
                           &check->fp64, false);
}

assay_status golden_check_variants(const golden_check *check, golden_line_visitor visit,
                                   void *context) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < check->runs.count; ++i)
        status = check_run(check, &check->runs.run[i], visit, context);
    return status;
}
