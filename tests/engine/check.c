#include "tests/engine/check.h"
#include "tests/engine/runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One variant's turn: what it left, and how the run went. */
typedef struct turn {
    const assay_variant *variant;
    assay_results got;
    assay_status status;
    char line[ASSAY_REASON]; /* why, when status is not ASSAY_OK */
} turn;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- choosing variants ---- */

static bool wanted(const char *name, const char *const *variants, int32_t n_variants) {
    for (int32_t i = 0; i < n_variants; ++i)
        if (strcmp(variants[i], name) == 0)
            return true;
    return n_variants == 0;
}

static const assay_variant *find_variant(const assay_device *device, const char *op,
                                         const char *name) {
    for (int32_t i = 0; i < device->n_variants; ++i)
        if (strcmp(device->variants[i]->op, op) == 0 &&
            strcmp(device->variants[i]->name, name) == 0)
            return device->variants[i];
    return NULL;
}

static assay_status unknown_variant(const assay_device *device, const char *op, const char *name) {
    char names[256] = "";
    for (int32_t i = 0; i < device->n_variants; ++i)
        if (strcmp(device->variants[i]->op, op) == 0 && strlen(names) + 16 < sizeof names) {
            strcat(names, " ");
            strncat(names, device->variants[i]->name, 14);
        }
    return assay_fail(ASSAY_ERR_USAGE, "%s has no variant '%.40s' on %s; it has%s", op, name,
                      device->name, names[0] ? names : " none");
}

/* *turns gets one entry for each variant to run; *count how many. */
static assay_status choose(const assay_device *device, const char *op, const char *const *variants,
                           int32_t n_variants, turn **turns, int32_t *count) {
    *count = 0;
    *turns = NULL;
    for (int32_t i = 0; i < n_variants; ++i)
        if (!find_variant(device, op, variants[i]))
            return unknown_variant(device, op, variants[i]);
    *turns = calloc((size_t)device->n_variants + 1, sizeof **turns);
    if (!*turns)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the variants of %s", op);
    for (int32_t i = 0; i < device->n_variants; ++i) {
        const assay_variant *v = device->variants[i];
        if (strcmp(v->op, op) == 0 && wanted(v->name, variants, n_variants))
            (*turns)[(*count)++].variant = v;
    }
    return *count > 0 ? ASSAY_OK : unknown_variant(device, op, "");
}

/* ---- rows ---- */

const char *assay_index_text(int32_t rank, const int64_t *shape, int64_t index, char text[128]) {
    int64_t place[ASSAY_MAX_RANK];
    text[0] = '\0';
    if (index < 0)
        return text;
    for (int32_t a = rank - 1; a >= 0; --a) {
        place[a] = shape[a] > 0 ? index % shape[a] : 0;
        index = shape[a] > 0 ? index / shape[a] : 0;
    }
    size_t used = (size_t)snprintf(text, 128, "(");
    for (int32_t a = 0; a < rank && used < 100; ++a)
        used +=
            (size_t)snprintf(text + used, 128 - used, "%s%lld", a ? ", " : "", (long long)place[a]);
    snprintf(text + used, 128 - used, ")");
    return text;
}

static void write_repro(const assay_report *report, const char *variant, char repro[ASSAY_REPRO]) {
    const char *words = strchr(report->case_text, ' ');
    snprintf(repro, ASSAY_REPRO, "assay check %s/%s%s --device %s", report->c.op->name, variant,
             words ? words : "", report->device);
}

/* Why a compared tensor is not a pass. */
static void explain(assay_row *row) {
    const assay_comparison *cmp = &row->cmp;
    char at[128];
    if (cmp->verdict == ASSAY_PASS)
        return;
    if (cmp->verdict != ASSAY_FAIL) {
        snprintf(row->reason, sizeof row->reason, "%s", cmp->reason);
        return;
    }
    snprintf(row->reason, sizeof row->reason,
             "%lld of %lld elements beyond their bound, worst at %s: got %.9g, want %.9g, off by "
             "%.3g where %.3g is allowed",
             (long long)cmp->wrong, (long long)cmp->count,
             assay_index_text(row->rank, row->shape, cmp->worst, at), cmp->got, cmp->want,
             fabs(cmp->got - cmp->want), cmp->bound);
}

static assay_row *add_row(assay_report *report, const turn *t) {
    assay_row *row = &report->rows[report->n_rows++];
    *row = (assay_row){.variant = t->variant->name};
    write_repro(report, t->variant->name, row->repro);
    return row;
}

/* One group of tensors: outputs (prefix "") or gradients (prefix "d"). */
static void compare_group(assay_report *report, const turn *t, assay_stage stage,
                          const assay_tensor_spec *specs, const assay_arrays *got,
                          const assay_arrays *want, const assay_bounds *bounds) {
    for (int32_t i = 0; i < want->count; ++i) {
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
        row->cmp = assay_compare(row->dtype, got->data[i], want->data[i], bounds->element.data[i],
                                 want->size[i]);
        row->verdict = row->cmp.verdict;
        explain(row);
    }
}

static void add_rows(assay_report *report, const turn *t, const assay_problem *p,
                     const assay_reference *ref) {
    if (t->status != ASSAY_OK) {
        assay_row *row = add_row(report, t);
        row->verdict = t->status == ASSAY_ERR_UNSUPPORTED ? ASSAY_SKIP : ASSAY_ERROR;
        snprintf(row->reason, sizeof row->reason, "%s", t->line);
        return;
    }
    compare_group(report, t, ASSAY_FORWARD, p->sig.out, &t->got.out, &ref->want.out,
                  &ref->out_bound);
    compare_group(report, t, ASSAY_BACKWARD, p->sig.in, &t->got.grad, &ref->want.grad,
                  &ref->grad_bound);
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

static void pair_tensor(assay_report *report, const turn *turns, int32_t count, const char *prefix,
                        const char *name, int32_t i, bool gradient, const assay_bounds *bounds) {
    for (int32_t a = 0; a < count; ++a) {
        for (int32_t b = a + 1; b < count; ++b) {
            if (turns[a].status != ASSAY_OK || turns[b].status != ASSAY_OK)
                continue;
            const assay_arrays *x = gradient ? &turns[a].got.grad : &turns[a].got.out;
            const assay_arrays *y = gradient ? &turns[b].got.grad : &turns[b].got.out;
            assay_pair *pair = &report->pairs[report->n_pairs++];
            *pair = (assay_pair){.a = turns[a].variant->name, .b = turns[b].variant->name};
            snprintf(pair->tensor, sizeof pair->tensor, "%s%s", prefix, name);
            pair->agree = agree(x->data[i], y->data[i], bounds->element.data[i], x->size[i]);
            pair->distance = assay_distance2(x->data[i], y->data[i], x->size[i]);
        }
    }
}

static void add_pairs(assay_report *report, const turn *turns, int32_t count,
                      const assay_problem *p, const assay_reference *ref) {
    for (int32_t o = 0; o < p->sig.n_out; ++o)
        pair_tensor(report, turns, count, "", p->sig.out[o].name, o, false, &ref->out_bound);
    for (int32_t i = 0; i < p->sig.n_in; ++i)
        if (ref->want.grad.data[i])
            pair_tensor(report, turns, count, "d", p->sig.in[i].name, i, true, &ref->grad_bound);
}

/* ---- the check ---- */

static assay_status report_init(assay_report *report, const assay_case *c,
                                const assay_device *device, const assay_signature *sig,
                                int32_t count) {
    *report = (assay_report){.c = *c, .device = device->name};
    assay_case_format(c, report->case_text);
    const size_t tensors = (size_t)sig->n_in + (size_t)sig->n_out, n = (size_t)count;
    report->rows = calloc(n * tensors + 1, sizeof *report->rows);
    report->pairs = calloc(n * n * tensors + 1, sizeof *report->pairs);
    if (report->rows && report->pairs)
        return ASSAY_OK;
    assay_report_clear(report);
    return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the report of %s", c->op->name);
}

void assay_report_clear(assay_report *report) {
    free(report->rows);
    free(report->pairs);
    *report = (assay_report){0};
}

/* Runs one variant. The reference is not made yet: nothing in memory holds the answer. */
static assay_status take_turn(turn *t, const assay_device *device, const assay_problem *p) {
    const assay_status status = assay_results_init(&t->got, &p->sig);
    if (status != ASSAY_OK)
        return status;
    t->status = assay_run(t->variant, device, p, &t->got);
    if (t->status != ASSAY_OK)
        snprintf(t->line, sizeof t->line, "%s", assay_error());
    return ASSAY_OK;
}

static assay_verdict verdict_of(const assay_report *report) {
    if (report->n_rows == 0)
        return ASSAY_ERROR;
    assay_verdict verdict = report->rows[0].verdict;
    for (int32_t i = 1; i < report->n_rows; ++i)
        verdict = assay_verdict_merge(verdict, report->rows[i].verdict);
    return verdict;
}

assay_status assay_check(const assay_case *c, const assay_device *device,
                         const char *const *variants, int32_t n_variants, assay_report *report) {
    const double start = now();
    assay_problem p = {0};
    assay_reference ref = {0};
    turn *turns = NULL;
    int32_t count = 0;
    *report = (assay_report){0};
    assay_status status = choose(device, c->op->name, variants, n_variants, &turns, &count);
    if (status == ASSAY_OK)
        status = assay_problem_load(&p, c);
    if (status == ASSAY_OK)
        status = report_init(report, c, device, &p.sig, count);
    for (int32_t i = 0; status == ASSAY_OK && i < count; ++i)
        status = take_turn(&turns[i], device, &p);
    if (status == ASSAY_OK)
        status = assay_reference_init(&ref, &p);
    if (status != ASSAY_OK) {
        assay_report_clear(report);
        goto done;
    }
    for (int32_t i = 0; i < count; ++i)
        add_rows(report, &turns[i], &p, &ref);
    add_pairs(report, turns, count, &p, &ref);
    report->verdict = verdict_of(report);
    report->seconds = now() - start;
done:
    for (int32_t i = 0; i < count; ++i)
        assay_results_clear(&turns[i].got);
    free(turns);
    assay_reference_clear(&ref);
    assay_problem_clear(&p);
    return status;
}
