#include "engine/check.h"
#include "core/clock.h"
#include "engine/baseline_tier.h"
#include "engine/isolate.h"
#include "engine/memory.h"
#include "engine/sample.h"
#include "engine/scope.h"
#include "engine/trivial.h"
#include "engine/variant_run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

static void write_repro(const assay_report *report, const variant_run *t, char repro[ASSAY_REPRO]) {
    const char *words = strchr(report->case_text, ' ');
    char rows[32] = "";
    if (report->sampled > 0)
        snprintf(rows, sizeof rows, " --rows %" PRId64, report->sampled);
    snprintf(repro, ASSAY_REPRO, "assay check %s/%s%s%s%s --device %s%s%s", report->c.op->name,
             t->variant->name, words ? words : "", rows,
             scope_flags((check_scope){.forward = report->c.forward_only}), report->device,
             t->kernel ? " --kernel " : "", t->kernel ? t->kernel : "");
}

/* Why a compared tensor is not a pass. */
static void explain(const char *op, assay_row *row) {
    const assay_comparison *cmp = &row->cmp;
    char at[128];
    if (cmp->verdict == ASSAY_PASS)
        return;
    assay_index_text(row->rank, row->shape, cmp->worst, at);
    if (cmp->verdict == ASSAY_ERROR) {
        snprintf(row->reason, sizeof row->reason,
                 "%s %s: the bound of %lld of %lld elements is not finite, first at %s: it is %g, "
                 "and the oracle's value %.9g; this is a defect of assay, not of the kernel",
                 op, row->tensor, (long long)cmp->unbounded, (long long)cmp->count, at, cmp->bound,
                 cmp->want);
        return;
    }
    if (cmp->verdict != ASSAY_FAIL) {
        snprintf(row->reason, sizeof row->reason, "%s", cmp->reason);
        return;
    }
    snprintf(row->reason, sizeof row->reason,
             "%lld of %lld elements beyond their bound, worst at %s: got %.9g, want %.9g, off by "
             "%.3g where %.3g is allowed",
             (long long)cmp->wrong, (long long)cmp->count, at, cmp->got, cmp->want,
             fabs(cmp->got - cmp->want), cmp->bound);
}

static assay_row *add_row(assay_report *report, const variant_run *t) {
    assay_row *row = &report->rows[report->n_rows++];
    *row = (assay_row){.variant = t->variant->name};
    write_repro(report, t, row->repro);
    return row;
}

/* Copies a series to where the report keeps them, and moves on there. */
static void keep_series(assay_row *row, const double *got, const double *want, double **next) {
    const size_t count = (size_t)row->cmp.count;
    memcpy(*next, got, count * sizeof *got);
    memcpy(*next + count, want, count * sizeof *want);
    row->got = *next;
    row->want = *next + count;
    *next += 2 * count;
}

/* What a tensor as a whole is held to. */
typedef struct tier {
    bool due;              /* the case has a baseline */
    const variant_run *v1; /* it, with numbers */
    const char *lacking;   /* why it is due and there is none */
    baseline_tier of;
} tier;

static assay_status hold_to_baseline(assay_row *row, tier *t, const assay_tensor_spec *spec,
                                     int32_t i, const double *got, const double *v1,
                                     const double *want, const double *bound) {
    baseline b;
    if (row->verdict != ASSAY_PASS || !t->due)
        return ASSAY_OK;
    if (!v1) {
        row->verdict = ASSAY_MISTRUSTED;
        snprintf(row->reason, sizeof row->reason,
                 "each element is within its bound, but the tensor as a whole was to be held to "
                 "v1, which gave no numbers: %.200s",
                 t->lacking);
        return ASSAY_OK;
    }
    const assay_status status = baseline_tier_compare(&t->of, row->stage, i, spec, got, v1, want,
                                                      bound, row->cmp.count, &b);
    if (b.kept || status != ASSAY_OK)
        return status;
    row->verdict = ASSAY_FAIL;
    snprintf(row->reason, sizeof row->reason,
             "as a whole off by %.3g in L2; v1's error and a rounding allow %.3g", b.error,
             b.allowed);
    return ASSAY_OK;
}

/* Tells a tensor as that of the whole. */
static void place_in_whole(assay_row *row, const sample *s, const assay_tensor_spec *part,
                           int32_t i, const char *why) {
    const assay_tensor_spec *whole = row->stage == ASSAY_BACKWARD ? &s->sig.in[i] : &s->sig.out[i];
    const sample_axis axis = sample_axis_of(whole, part);
    memcpy(row->shape, whole->shape, sizeof row->shape);
    row->cmp.worst = sample_home(s, axis, row->cmp.worst);
    if (axis.inner > 0)
        snprintf(row->why, sizeof row->why, "%" PRId64 " rows of %" PRId64 " kinds; %s", s->rows,
                 s->count, why);
}

/* One group of tensors: outputs (prefix "") or gradients (prefix "d"); v1: the baseline's, or NULL;
 * s: what they are samples of, or NULL. */
static assay_status compare_group(assay_report *report, const variant_run *t, assay_stage stage,
                                  const assay_tensor_spec *specs, const assay_arrays *got,
                                  const assay_arrays *v1, const assay_arrays *want,
                                  const assay_bounds *bounds, const sample *s, tier *whole,
                                  double **series) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < want->count; ++i) {
        if (!want->data[i])
            continue;
        assay_row *row = add_row(report, t);
        row->stage = stage;
        row->dtype = specs[i].dtype;
        row->rank = specs[i].rank;
        memcpy(row->shape, specs[i].shape, sizeof row->shape);
        snprintf(row->tensor, sizeof row->tensor, "%s%s", stage == ASSAY_BACKWARD ? "d" : "",
                 specs[i].name);
        snprintf(row->why, sizeof row->why, "%s", bounds->why[i]);
        row->cmp = assay_compare_bounded(row->dtype, got->data[i], want, bounds, i);
        row->verdict = row->cmp.verdict;
        if (s)
            place_in_whole(row, s, &specs[i], i, bounds->why[i]);
        explain(report->c.op->name, row);
        if (stage == ASSAY_FORWARD && specs[i].series)
            keep_series(row, got->data[i], want->data[i], series);
        status = hold_to_baseline(row, whole, &specs[i], i, got->data[i], v1 ? v1->data[i] : NULL,
                                  want->data[i], bounds->element.data[i]);
    }
    return status;
}

/* Unless a number is wrong, which says more: the first tensor whose bits differ fails, or a further
 * run was an error. */
static void add_second_run(assay_row *rows, int32_t n, const variant_run *t) {
    assay_row *differs = rows;
    for (int32_t i = 0; i < n; ++i) {
        if (rows[i].verdict == ASSAY_FAIL || rows[i].verdict == ASSAY_ERROR)
            return;
        if (strcmp(rows[i].tensor, t->differs) == 0)
            differs = &rows[i];
    }
    differs->verdict = t->again;
    differs->failure = t->failure;
    snprintf(differs->reason, sizeof differs->reason, "%s", t->unequal);
}

/* `series`: where the next one is kept. */
static assay_status add_rows(assay_report *report, variant_run *t, tier *whole,
                             const assay_problem *p, const assay_reference *ref, double **series) {
    if (t->status != ASSAY_OK) {
        assay_row *row = add_row(report, t);
        row->verdict = t->status == ASSAY_ERR_UNSUPPORTED ? ASSAY_SKIP : ASSAY_ERROR;
        row->failure = t->failure;
        snprintf(row->reason, sizeof row->reason, "%s", t->line);
        return ASSAY_OK;
    }
    const variant_run *v1 = whole->v1;
    const int32_t first = report->n_rows;
    sample_choose_worst(p, &t->got, &ref->want);
    assay_status status =
        compare_group(report, t, ASSAY_FORWARD, p->sig.out, &t->got.out, v1 ? &v1->got.out : NULL,
                      &ref->want.out, &ref->out_bound, p->sample, whole, series);
    if (status == ASSAY_OK)
        status = compare_group(report, t, ASSAY_BACKWARD, p->sig.in, &t->got.grad,
                               v1 ? &v1->got.grad : NULL, &ref->want.grad, &ref->grad_bound,
                               p->sample, whole, series);
    if (t->again != ASSAY_PASS)
        add_second_run(report->rows + first, report->n_rows - first, t);
    return status;
}

/* Which trivial solution of the row's tensor passes; "" for none. */
static const char *trivial_of(const assay_row *row, const assay_problem *p,
                              const trivial_findings *found) {
    const bool gradient = row->stage == ASSAY_BACKWARD;
    const char *name = row->tensor + gradient; /* behind the d of a gradient */
    for (int32_t i = 0; gradient && i < p->sig.n_in; ++i)
        if (strcmp(p->sig.in[i].name, name) == 0)
            return found->grad[i];
    for (int32_t i = 0; !gradient && i < p->sig.n_out; ++i)
        if (strcmp(p->sig.out[i].name, name) == 0)
            return found->out[i];
    return "";
}

/* A pass on data that could not tell a wrong kernel proves nothing. The operator's rule stands in
 * where the search is too expensive. */
static assay_status mistrust_rows(assay_report *report, const assay_problem *p,
                                  const assay_reference *ref) {
    trivial_findings found;
    const assay_status status = trivial_find(p, ref, &found);
    if (status != ASSAY_OK)
        return status;
    const char *rule = !found.searched && p->c.op->mistrust ? p->c.op->mistrust(p) : NULL;
    const char *whole = rule ? rule : found.whole;
    for (int32_t i = 0; i < report->n_rows; ++i) {
        assay_row *row = &report->rows[i];
        if (row->verdict != ASSAY_PASS)
            continue;
        const char *own = trivial_of(row, p, &found), *reason = own[0] != '\0' ? own : whole;
        if (reason[0] == '\0')
            continue;
        row->verdict = ASSAY_MISTRUSTED;
        snprintf(row->reason, sizeof row->reason, "%s", reason);
    }
    trivial_clear(&found);
    return ASSAY_OK;
}

/* ---- sums over all rows of a whole ---- */

static void hold_run_to_sums(variant_run *t, const assay_problem *p, const assay_arrays *sums) {
    for (int32_t i = 0; i < sums->count; ++i) {
        const assay_tensor_spec *spec = &p->sig.in[i];
        const double *got = t->got.grad_low.data[i], *want = sums->data[i];
        int64_t e = 0;
        char at[128];
        while (want && e < sums->size[i] && got[e] == want[e])
            ++e;
        if (!want || e == sums->size[i] || t->status != ASSAY_OK)
            continue;
        t->status = ASSAY_ERR_KERNEL;
        t->failure = ASSAY_FAILURE_WRONG;
        snprintf(t->line, sizeof t->line,
                 "backward: d%s is %.9g at %s, where the exact sum over all rows is %.9g",
                 spec->name, got[e], assay_index_text(spec->rank, spec->shape, e, at), want[e]);
    }
}

static assay_status hold_to_sums(variant_runs *all, const assay_problem *p,
                                 const assay_reference *ref) {
    assay_arrays sums = {0};
    const assay_status status = p->sample ? sample_sums(p, ref, &sums) : ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < all->count; ++i)
        if (all->run[i].status == ASSAY_OK)
            hold_run_to_sums(&all->run[i], p, &sums);
    assay_arrays_clear(&sums);
    return status;
}

/* ---- pairs ---- */

/* Each side may be off by its bound, so the two by twice that. */
static bool agree(const double *a, const double *b, const double *bound, int64_t count) {
    for (int64_t e = 0; e < count; ++e) {
        const bool same = a[e] == b[e] || (isnan(a[e]) && isnan(b[e]));
        if (!same && !(fabs(a[e] - b[e]) <= 2 * bound[e]))
            return false;
    }
    return true;
}

static void pair_tensor(assay_report *report, const variant_runs *all, const char *prefix,
                        const char *name, int32_t i, bool gradient, const assay_bounds *bounds) {
    for (const variant_run *a = all->run; a < all->run + all->count; ++a) {
        for (const variant_run *b = a + 1; b < all->run + all->count; ++b) {
            if (a->status != ASSAY_OK || b->status != ASSAY_OK)
                continue;
            const assay_arrays *x = gradient ? &a->got.grad : &a->got.out;
            const assay_arrays *y = gradient ? &b->got.grad : &b->got.out;
            assay_pair *pair = &report->pairs[report->n_pairs++];
            *pair = (assay_pair){.a = a->variant->name, .b = b->variant->name};
            snprintf(pair->tensor, sizeof pair->tensor, "%s%s", prefix, name);
            pair->agree = agree(x->data[i], y->data[i], bounds->element.data[i], x->size[i]);
            pair->distance = assay_distance2(x->data[i], y->data[i], x->size[i]);
        }
    }
}

static void add_pairs(assay_report *report, const variant_runs *all, const assay_problem *p,
                      const assay_reference *ref) {
    for (int32_t o = 0; o < p->sig.n_out; ++o)
        pair_tensor(report, all, "", p->sig.out[o].name, o, false, &ref->out_bound);
    for (int32_t i = 0; i < p->sig.n_in; ++i)
        if (ref->want.grad.data[i])
            pair_tensor(report, all, "d", p->sig.in[i].name, i, true, &ref->grad_bound);
}

/* ---- the check ---- */

static size_t series_elements(const assay_signature *sig) {
    size_t elements = 0;
    for (int32_t o = 0; o < sig->n_out; ++o)
        if (sig->out[o].series)
            elements += (size_t)assay_spec_count(&sig->out[o]);
    return elements;
}

static assay_status report_init(assay_report *report, const assay_case *c, const char *device,
                                const assay_signature *sig, int32_t count) {
    *report = (assay_report){.c = *c, .device = device};
    assay_case_format(c, report->case_text);
    const size_t tensors = (size_t)sig->n_in + (size_t)sig->n_out, n = (size_t)count;
    report->rows = calloc(n * tensors + 1, sizeof *report->rows);
    report->pairs = calloc(n * n * tensors + 1, sizeof *report->pairs);
    report->series = calloc(2 * n * series_elements(sig) + 1, sizeof *report->series);
    if (report->rows && report->pairs && report->series)
        return ASSAY_OK;
    assay_report_clear(report);
    return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the report of %s", c->op->name);
}

void assay_report_clear(assay_report *report) {
    free(report->rows);
    free(report->pairs);
    free(report->series);
    *report = (assay_report){0};
}

static assay_status check_memory(const assay_case *c, int32_t n_variants) {
    assay_signature sig;
    assay_status status = assay_case_signature(c, &sig);
    if (status != ASSAY_OK)
        return status;
    status = assay_memory_suffices(&sig, n_variants);
    assay_signature_clear(&sig);
    return status;
}

static assay_verdict verdict_of(const assay_report *report) {
    if (report->n_rows == 0)
        return ASSAY_ERROR;
    assay_verdict verdict = report->rows[0].verdict;
    for (int32_t i = 1; i < report->n_rows; ++i)
        verdict = assay_verdict_merge(verdict, report->rows[i].verdict);
    return verdict;
}

void assay_report_excuse(assay_report *report) {
    char reason[ASSAY_REASON];
    for (int32_t i = 0; report->c.forward_only && i < report->n_rows; ++i) {
        assay_row *row = &report->rows[i];
        if (row->verdict != ASSAY_MISTRUSTED)
            continue;
        row->verdict = ASSAY_SKIP;
        snprintf(reason, sizeof reason,
                 "%.200s; gradients would tell, which --stage forward leaves "
                 "out",
                 row->reason);
        memcpy(row->reason, reason, sizeof reason);
    }
    report->verdict = verdict_of(report);
}

/* How much of a case is looked at. */
typedef struct scope {
    int64_t sampled; /* rows; 0: all */
    bool numbers;    /* and nothing else */
} scope;

/* The data that are judged: the case's own, or those of the few rows that make it up. */
static assay_status load(const assay_case *c, const assay_device *base, const variant_runs *all,
                         int32_t n_variants, scope how, sample *s, assay_problem *p) {
    if (how.sampled == 0) {
        const assay_status status = check_memory(c, n_variants);
        return status == ASSAY_OK ? assay_problem_load(p, c) : status;
    }
    assay_status status = sample_init(s, c, how.sampled, all);
    if (status != ASSAY_OK)
        return status;
    const assay_case part = sample_case(s);
    status = check_memory(&part, n_variants);
    /* The simulated device's memory is the host's. */
    if (status == ASSAY_OK && base->simulated)
        status = assay_memory_holds(sample_bytes(s));
    return status == ASSAY_OK ? sample_problem(s, p) : status;
}

/* ---- the baseline ---- */

/* Our own v1 among the runs, which is then not run again. */
static const variant_run *find_baseline(const variant_runs *all, const assay_variant *v1) {
    for (int32_t i = 0; i < all->count; ++i)
        if (!all->run[i].kernel && v1 && strcmp(all->run[i].variant->name, v1->name) == 0)
            return &all->run[i];
    return NULL;
}

/* Prepares its run where there is none among `all`. */
static assay_status add_baseline(const assay_case *c, const assay_device *base,
                                 const variant_runs *all, variant_runs *first) {
    const assay_variant *v1 = variant_find(base, c->op->name, "v1");
    if (!baseline_applies(c) || !v1 || find_baseline(all, v1))
        return ASSAY_OK;
    return variant_runs_init(first, base, c->op->name, &(const char *){"v1"}, 1);
}

static tier tier_of(const assay_problem *p, const assay_reference *ref, const variant_run *v1) {
    tier t = {.due = baseline_applies(&p->c) && v1 != NULL};
    if (!t.due)
        return t;
    if (v1->status == ASSAY_OK)
        t.v1 = v1;
    else
        t.lacking = v1->line;
    t.of = baseline_tier_of(p, ref);
    return t;
}

/* What the variants left, against the oracle: fills the report, which is initialised. `first`: v1's
 * run as the baseline; none where it is among `all`, or is not due. */
static assay_status judge(variant_runs *all, const variant_runs *first, const assay_device *base,
                          const assay_problem *p, scope how, assay_report *report) {
    assay_reference ref = {0};
    double *series = report->series;
    const assay_variant *v1 = variant_find(base, p->c.op->name, "v1");
    assay_status status = assay_reference_init_with(&ref, p, base);
    if (status == ASSAY_OK)
        status = hold_to_sums(all, p, &ref);
    tier whole = {0};
    if (status == ASSAY_OK)
        whole = tier_of(p, &ref, first->count > 0 ? first->run : find_baseline(all, v1));
    for (int32_t i = 0; status == ASSAY_OK && i < all->count; ++i)
        status = add_rows(report, &all->run[i], &whole, p, &ref, &series);
    if (status == ASSAY_OK && !how.numbers)
        add_pairs(report, all, p, &ref);
    if (status == ASSAY_OK && !how.numbers)
        status = mistrust_rows(report, p, &ref);
    if (status == ASSAY_OK)
        report->verdict = verdict_of(report);
    baseline_tier_clear(&whole.of);
    assay_reference_clear(&ref);
    return status;
}

static assay_status check(const assay_case *c, const assay_device *device,
                          const char *const *variants, int32_t n_variants, scope how,
                          assay_report *report) {
    const double start = now();
    assay_problem p = {0};
    sample s = {0};
    variant_runs all, first = {0};                          /* `first`: v1 as the baseline */
    const assay_device *base = assay_isolated_base(device); /* the baseline is our own v1 */
    *report = (assay_report){0};
    assay_status status = variant_runs_init(&all, device, c->op->name, variants, n_variants);
    if (status == ASSAY_OK)
        status = add_baseline(c, base, &all, &first);
    if (status == ASSAY_OK)
        status = load(c, base, &all, all.count + first.count, how, &s, &p);
    if (status == ASSAY_OK)
        status = report_init(report, c, device->name, &p.sig, all.count);
    report->sampled = how.sampled;
    if (status == ASSAY_OK)
        status = variant_runs_execute(&all, device, &p);
    if (status == ASSAY_OK && !how.numbers)
        status = variant_runs_repeat(&all, device, &p);
    if (status == ASSAY_OK && !how.numbers)
        status = variant_runs_record(&all, device, &p);
    if (status == ASSAY_OK)
        status = variant_runs_execute(&first, base, &p);
    if (status == ASSAY_OK)
        status = judge(&all, &first, base, &p, how, report);
    report->seconds = now() - start;
    if (status != ASSAY_OK)
        assay_report_clear(report);
    variant_runs_clear(&all);
    variant_runs_clear(&first);
    assay_problem_clear(&p);
    sample_clear(&s);
    return status;
}

assay_status assay_judge(const assay_problem *p, const assay_results *got, const char *repro,
                         const assay_device *device, assay_report *report) {
    const double start = now();
    const assay_variant stranger = {.op = p->c.op->name, .name = "got"};
    variant_run run = {.variant = &stranger, .got = *got};
    variant_runs all = {.run = &run, .count = 1}, first = {0};
    assay_status status = report_init(report, &p->c, "elsewhere", &p->sig, 1);
    if (status == ASSAY_OK)
        status = add_baseline(&p->c, device, &all, &first);
    if (status == ASSAY_OK)
        status = variant_runs_execute(&first, device, p);
    if (status == ASSAY_OK)
        status = judge(&all, &first, device, p, (scope){0}, report);
    for (int32_t i = 0; i < report->n_rows; ++i)
        snprintf(report->rows[i].repro, sizeof report->rows[i].repro, "%s", repro);
    report->seconds = now() - start;
    if (status != ASSAY_OK)
        assay_report_clear(report);
    variant_runs_clear(&first);
    return status;
}

assay_status assay_check(const assay_case *c, const assay_device *device,
                         const char *const *variants, int32_t n_variants, assay_report *report) {
    return check(c, device, variants, n_variants, (scope){0}, report);
}

assay_status assay_check_numbers(const assay_case *c, const assay_device *device,
                                 const char *const *variants, int32_t n_variants,
                                 assay_report *report) {
    return check(c, device, variants, n_variants, (scope){.numbers = true}, report);
}

assay_status assay_check_rows(const assay_case *c, const assay_device *device,
                              const char *const *variants, int32_t n_variants, int64_t sampled,
                              bool numbers, assay_report *report) {
    return check(c, device, variants, n_variants, (scope){sampled, numbers}, report);
}
