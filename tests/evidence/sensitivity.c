#include "tests/evidence/sensitivity.h"
#include "assay/compare.h"
#include "engine/baseline.h"
#include "engine/runner.h"
#include "engine/variant_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sizes that are tried: 2^LOW to 2^HIGH, four to an octave. */
enum { LOW = -60, HIGH = 24, STEPS = 4 };

/* ---- series ---- */

static int32_t series_at(method m, int32_t place) {
    return (int32_t)m * SENSITIVITY_PER_METHOD + place;
}

int32_t sensitivity_alarm(method m) {
    return series_at(m, 0);
}

int32_t sensitivity_error(method m, error_kind kind) {
    return series_at(m, 1 + (int32_t)kind);
}

int32_t sensitivity_fault(method m, fault_kind kind) {
    return series_at(m, 1 + ERROR_KINDS + (int32_t)kind);
}

const char *const *sensitivity_names(void) {
    static char text[SENSITIVITY_SERIES][64];
    static const char *names[SENSITIVITY_SERIES];
    for (int m = 0; m < METHODS; ++m) {
        const char *by = method_name((method)m);
        snprintf(text[sensitivity_alarm((method)m)], sizeof *text, "%s: correct", by);
        for (int e = 0; e < ERROR_KINDS; ++e)
            snprintf(text[sensitivity_error((method)m, (error_kind)e)], sizeof *text, "%s: %s", by,
                     error_name((error_kind)e));
        for (int f = 0; f < FAULT_KINDS; ++f)
            snprintf(text[sensitivity_fault((method)m, (fault_kind)f)], sizeof *text, "%s: %s", by,
                     fault_name((fault_kind)f));
    }
    for (int i = 0; i < SENSITIVITY_SERIES; ++i)
        names[i] = text[i];
    return names;
}

/* ---- one case ---- */

typedef struct trial {
    const assay_case *c;
    const assay_device *device;
    const assay_variant *variant;
    assay_problem p;
    assay_reference ref;
    assay_results right;  /* what the variant gives */
    assay_results stored; /* what the oracle says, rounded */
    assay_results wrong;  /* room for a fault */
    assay_rng rng;
    int32_t tensors;
    histogram *page;
} trial;

static void trial_clear(trial *t) {
    assay_problem_clear(&t->p);
    assay_reference_clear(&t->ref);
    assay_results_clear(&t->right);
    assay_results_clear(&t->stored);
    assay_results_clear(&t->wrong);
}

static void copy_results(const assay_results *from, assay_results *to, int32_t tensors) {
    for (int32_t i = 0; i < tensors; ++i) {
        int64_t count;
        const double *data = results_tensor(from, i, &count);
        double *copy = results_tensor(to, i, &count);
        if (data && copy)
            memcpy(copy, data, (size_t)count * sizeof *copy);
    }
}

static void round_results(const assay_signature *sig, assay_results *r, int32_t tensors) {
    for (int32_t i = 0; i < tensors; ++i) {
        int64_t count;
        double *data = results_tensor(r, i, &count);
        for (int64_t e = 0; data && e < count; ++e)
            data[e] = assay_dtype_round(results_spec(sig, i)->dtype, data[e]);
    }
}

static assay_status trial_init(trial *t, const assay_case *c, const assay_device *device,
                               const char *variant, histogram *page) {
    *t = (trial){.c = c,
                 .device = device,
                 .variant = variant_find(device, c->op->name, variant),
                 .rng = {.seed = c->seed, .stream = assay_rng_stream("evidence")},
                 .page = page};
    if (!t->variant)
        return assay_fail(ASSAY_ERR_USAGE, "%s has no variant %s on %s", c->op->name, variant,
                          device->name);
    assay_status status = assay_problem_init(&t->p, c);
    t->tensors = t->p.sig.n_out + t->p.sig.n_in;
    if (status == ASSAY_OK)
        status = assay_results_init(&t->right, &t->p.sig);
    if (status == ASSAY_OK)
        status = assay_results_init(&t->stored, &t->p.sig);
    if (status == ASSAY_OK)
        status = assay_results_init(&t->wrong, &t->p.sig);
    if (status == ASSAY_OK)
        status = assay_run(t->variant, device, &t->p, &t->right);
    if (status == ASSAY_OK)
        status = assay_reference_init(&t->ref, &t->p);
    if (status != ASSAY_OK)
        return status;
    copy_results(&t->ref.want, &t->stored, t->tensors);
    round_results(&t->p.sig, &t->stored, t->tensors);
    return ASSAY_OK;
}

/* Tensor i with `got` as the result to judge; false: there is no such tensor. */
static bool subject_of(const trial *t, int32_t i, const double *got, subject *s) {
    const assay_tensor_spec *spec = results_spec(&t->p.sig, i);
    const assay_arrays *bounds =
        i < t->p.sig.n_out ? &t->ref.out_bound.element : &t->ref.grad_bound.element;
    const bool held = baseline_applies(t->c);
    *s = (subject){.dtype = spec->dtype, .got = got};
    s->want = results_tensor(&t->ref.want, i, &s->count);
    s->bound = bounds->data[i < t->p.sig.n_out ? i : i - t->p.sig.n_out];
    s->stored = results_tensor(&t->stored, i, &s->count);
    s->baseline = held ? results_tensor(&t->right, i, &s->count) : NULL;
    s->rows = held ? baseline_rows_of(spec, s->bound, baseline_rows(&t->p, &t->ref)) : 0;
    s->share = baseline_share(t->c);
    return s->want && s->count > 0;
}

static bool rejected(const trial *t, method m, const assay_results *r) {
    for (int32_t i = 0; i < t->tensors; ++i) {
        int64_t count;
        subject s;
        if (subject_of(t, i, results_tensor(r, i, &count), &s) && method_rejects(m, &s))
            return true;
    }
    return false;
}

/* Whether zeros would pass for a tensor of the case. The suite does not take that for a pass
 * either, so nothing is asked of it here. */
static bool proves_nothing(const trial *t) {
    for (int32_t i = 0; i < t->tensors; ++i) {
        int64_t count;
        subject s;
        if (subject_of(t, i, results_tensor(&t->right, i, &count), &s) &&
            assay_compare(s.dtype, s.got, s.want, s.bound, s.count).verdict == ASSAY_MISTRUSTED)
            return true;
    }
    return false;
}

/* ---- faults ---- */

static bool same_results(const trial *t) {
    for (int32_t i = 0; i < t->tensors; ++i) {
        int64_t count;
        const double *right = results_tensor(&t->right, i, &count);
        const double *wrong = results_tensor(&t->wrong, i, &count);
        for (int64_t e = 0; right && e < count; ++e)
            if (!(right[e] == wrong[e]) && !(isnan(right[e]) && isnan(wrong[e])))
                return false;
    }
    return true;
}

/* The variant's results for a problem that is not the one it was asked. */
static assay_status run_on_altered(trial *t, fault_kind kind) {
    assay_problem altered;
    assay_status status = assay_problem_init(&altered, t->c);
    if (status != ASSAY_OK)
        return status;
    fault_of_problem(kind, &t->rng, &altered);
    status = assay_run(t->variant, t->device, &altered, &t->wrong);
    assay_problem_clear(&altered);
    return status;
}

static assay_status try_fault(trial *t, fault_kind kind) {
    assay_status status = ASSAY_OK;
    if (!fault_applies(kind, t->c->params.dtype, t->c->params.math))
        return status;
    if (fault_is_of_problem(kind)) {
        status = run_on_altered(t, kind);
    } else {
        copy_results(&t->right, &t->wrong, t->tensors);
        fault_of_results(kind, &t->rng, &t->p.sig, &t->wrong);
    }
    if (status != ASSAY_OK || same_results(t))
        return status;
    for (int m = 0; m < METHODS; ++m)
        histogram_add(&t->page[sensitivity_fault((method)m, kind)],
                      rejected(t, (method)m, &t->wrong));
    return ASSAY_OK;
}

/* ---- errors ---- */

static bool caught(method m, const subject *s, error_kind kind, double d, uint64_t place,
                   double *room) {
    const double sign = (place >> 63) != 0 ? -1 : 1;
    subject wrong = *s;
    wrong.got = room;
    error_inject(kind, sign * d, place >> 1, s->dtype, s->got, room, s->count);
    return method_rejects(m, &wrong);
}

/* The smallest size that is caught, given that larger ones are; infinite when none is. */
static double smallest(method m, const subject *s, error_kind kind, uint64_t place, double *room) {
    int32_t missed = LOW * STEPS - 1, found = HIGH * STEPS;
    if (!caught(m, s, kind, exp2((double)found / STEPS), place, room))
        return INFINITY;
    while (found - missed > 1) {
        const int32_t middle = missed + (found - missed) / 2;
        if (caught(m, s, kind, exp2((double)middle / STEPS), place, room))
            found = middle;
        else
            missed = middle;
    }
    return exp2((double)found / STEPS);
}

/* One tensor of the case. */
static assay_status try_errors(trial *t) {
    subject s;
    int64_t count;
    int32_t i = (int32_t)assay_rng_between(&t->rng, 0, t->tensors - 1);
    while (!subject_of(t, i, results_tensor(&t->right, i, &count), &s))
        i = (i + 1) % t->tensors;
    double *room = malloc((size_t)s.count * sizeof *room);
    if (!room)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for %lld elements", (long long)s.count);
    for (int kind = 0; kind < ERROR_KINDS; ++kind) {
        const uint64_t place = assay_rng_bits(t->rng.seed, t->rng.stream, t->rng.next++);
        for (int m = 0; m < METHODS; ++m)
            if (!method_rejects((method)m, &s))
                histogram_add(&t->page[sensitivity_error((method)m, (error_kind)kind)],
                              smallest((method)m, &s, (error_kind)kind, place, room));
    }
    free(room);
    return ASSAY_OK;
}

assay_status sensitivity_examine(const assay_case *c, const assay_device *device,
                                 const char *variant, histogram *page) {
    trial t;
    assay_status status = trial_init(&t, c, device, variant ? variant : "v1", page);
    if (status == ASSAY_OK)
        for (int m = 0; m < METHODS; ++m)
            histogram_add(&page[sensitivity_alarm((method)m)], rejected(&t, (method)m, &t.right));
    const bool worthless = status == ASSAY_OK && proves_nothing(&t);
    for (int kind = 0; status == ASSAY_OK && !worthless && kind < FAULT_KINDS; ++kind)
        status = try_fault(&t, (fault_kind)kind);
    if (status == ASSAY_OK && !worthless)
        status = try_errors(&t);
    trial_clear(&t);
    return status;
}
