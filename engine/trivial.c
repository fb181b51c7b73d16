#include "engine/trivial.h"

#include "assay/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements of all tensors up to which the oracle runs again for each parameter. */
static const double most_elements = 0x1p16;

static const char *const uniform = "a constant, the mean of all, would pass";
static const char *const row_means = "the mean of each row would pass";

/* One tensor of the answer, and room for a solution of it. */
typedef struct target {
    const assay_tensor_spec *spec;
    const double *want, *bound;
    double *solution;
    int64_t count;
    char *reason;
} target;

/* Most solutions are wrong at once, so comparisons stop after the first piece that is. */
static bool passes(assay_dtype dtype, const double *got, const double *want, const double *bound,
                   int64_t count) {
    enum { PIECE = 1024 };
    for (int64_t first = 0; first < count; first += PIECE) {
        const int64_t size = count - first < PIECE ? count - first : PIECE;
        if (assay_compare(dtype, got + first, want + first, bound + first, size).wrong > 0)
            return false;
    }
    return true;
}

/* As a kernel would store it. */
static void round_all(assay_dtype dtype, double *values, int64_t count) {
    for (int64_t e = 0; e < count; ++e)
        values[e] = assay_dtype_round(dtype, values[e]);
}

static bool solves(const target *t) {
    round_all(t->spec->dtype, t->solution, t->count);
    return passes(t->spec->dtype, t->solution, t->want, t->bound, t->count);
}

static double mean_of(const double *values, int64_t count) {
    double mean = 0;
    for (int64_t e = 0; e < count; ++e)
        mean += values[e] / (double)count;
    return mean;
}

static void set_all(double *values, int64_t count, double value) {
    for (int64_t e = 0; e < count; ++e)
        values[e] = value;
}

/* ---- solutions of one tensor ---- */

/* That a tensor is NaN throughout is what a case with a NaN may be there to say. */
static bool is_constant(const target *t, double value) {
    if (!isfinite(value))
        return false;
    set_all(t->solution, t->count, value);
    return solves(t);
}

static bool is_row_mean(const target *t) {
    const int64_t length = t->spec->rank > 1 ? t->spec->shape[t->spec->rank - 1] : 0;
    if (length < 2)
        return false;
    for (int64_t first = 0; first < t->count; first += length) {
        const double mean = mean_of(t->want + first, length);
        if (!isfinite(mean))
            return false;
        set_all(t->solution + first, length, mean);
    }
    return solves(t);
}

/* A tensor of one element is its own mean. */
static void try_constants(target *t) {
    const double mean = mean_of(t->want, t->count);
    if (is_constant(t, 1))
        snprintf(t->reason, TRIVIAL_REASON, "a constant, 1, would pass");
    else if (t->count > 1 && is_constant(t, mean))
        snprintf(t->reason, TRIVIAL_REASON, "%s", uniform);
    else if (is_row_mean(t))
        snprintf(t->reason, TRIVIAL_REASON, "%s", row_means);
}

static bool all_zero(const double *values, int64_t count) {
    for (int64_t e = 0; e < count; ++e)
        if (values[e] != 0)
            return false;
    return true;
}

/* Whether a right kernel copies: no rounding is allowed, in no tier. */
static assay_status is_copy_by_definition(const assay_problem *p, const target *t, bool gradient,
                                          int32_t i, bool *copies) {
    *copies = all_zero(t->bound, t->count);
    if (!*copies || !assay_fill_is_exact(p->c.fill))
        return ASSAY_OK;
    assay_reference rounded;
    const assay_status status = assay_reference_init_as(&rounded, p, p->c.params.dtype);
    if (status != ASSAY_OK)
        return status;
    const assay_bounds *bounds = gradient ? &rounded.grad_bound : &rounded.out_bound;
    *copies = all_zero(bounds->element.data[i], t->count);
    assay_reference_clear(&rounded);
    return ASSAY_OK;
}

static bool is_copy_of(const target *t, const double *given, int64_t count) {
    if (given == NULL || count != t->count)
        return false;
    memcpy(t->solution, given, (size_t)count * sizeof *given);
    return solves(t);
}

/* Cotangents are at hand in backward only. */
static void try_copies(const assay_problem *p, bool gradient, target *t) {
    for (int32_t i = 0; i < p->in.count; ++i)
        if (is_copy_of(t, p->in.data[i], p->in.size[i]))
            snprintf(t->reason, TRIVIAL_REASON, "a copy of %s would pass", p->sig.in[i].name);
    for (int32_t i = 0; gradient && i < p->cot.count; ++i)
        if (is_copy_of(t, p->cot.data[i], p->cot.size[i]))
            snprintf(t->reason, TRIVIAL_REASON, "a copy of d%s would pass", p->sig.out[i].name);
}

static assay_status solve_tensor(const assay_problem *p, bool gradient, int32_t i, target *t) {
    bool copies = false;
    t->solution = malloc((size_t)t->count * sizeof *t->solution);
    if (t->solution == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for a solution of %lld elements",
                          (long long)t->count);
    try_constants(t);
    if (t->reason[0] == '\0')
        try_copies(p, gradient, t);
    assay_status status = ASSAY_OK;
    if (t->reason[0] != '\0')
        status = is_copy_by_definition(p, t, gradient, i, &copies);
    if (copies)
        t->reason[0] = '\0';
    free(t->solution);
    return status;
}

static assay_status solve_tensors(const assay_problem *p, bool gradient, const assay_arrays *want,
                                  const assay_arrays *bound, char (*reasons)[TRIVIAL_REASON]) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < want->count; ++i) {
        target t = {.spec = gradient ? &p->sig.in[i] : &p->sig.out[i],
                    .want = want->data[i],
                    .bound = bound->data[i],
                    .count = want->size[i],
                    .reason = reasons[i]};
        if (t.want && t.count > 0)
            status = solve_tensor(p, gradient, i, &t);
    }
    return status;
}

/* ---- parameters that may be ignored ---- */

/* The answers of a kernel that puts something else in place of a parameter. */
typedef struct ignorant {
    const assay_problem *p;
    const assay_reference *ref;
    assay_results got;
} ignorant;

static bool all_pass(const assay_tensor_spec *specs, const assay_arrays *got,
                     const assay_arrays *want, const assay_arrays *bound) {
    for (int32_t i = 0; i < want->count; ++i) {
        if (!want->data[i])
            continue;
        round_all(specs[i].dtype, got->data[i], got->size[i]);
        if (!passes(specs[i].dtype, got->data[i], want->data[i], bound->data[i], want->size[i]))
            return false;
    }
    return true;
}

/* Most parameters show in the outputs, so that backward is seldom asked for. */
static assay_status forward_unchanged(ignorant *k, bool *same) {
    const assay_problem *p = k->p;
    const assay_oracle_args args = {.params = &p->c.params, .sig = &p->sig, .in = &p->in};
    const assay_status status = p->c.op->forward(&args, &k->got.out);
    *same = status == ASSAY_OK &&
            all_pass(p->sig.out, &k->got.out, &k->ref->want.out, &k->ref->out_bound.element);
    return status;
}

static assay_status backward_unchanged(ignorant *k, const assay_arrays *out, bool *same) {
    const assay_problem *p = k->p;
    const assay_oracle_args args = {
        .params = &p->c.params, .sig = &p->sig, .in = &p->in, .out = out, .cot = &p->cot};
    if (!assay_problem_has_backward(p))
        return ASSAY_OK;
    const assay_status status = p->c.op->backward(&args, &k->got.grad);
    *same = status == ASSAY_OK &&
            all_pass(p->sig.in, &k->got.grad, &k->ref->want.grad, &k->ref->grad_bound.element);
    return status;
}

static assay_status input_unchanged(ignorant *k, bool *same) {
    assay_arrays out = k->got.out;
    assay_status status = forward_unchanged(k, same);
    if (status == ASSAY_OK && *same)
        status = backward_unchanged(k, &out, same);
    return status;
}

static assay_status cotangent_unchanged(ignorant *k, bool *same) {
    *same = true;
    return backward_unchanged(k, &k->ref->want.out, same);
}

/* Whether nothing changes with other elements, each `length` of which are `value`, or, where that
 * is NAN, their mean. The elements come back afterwards. */
static assay_status put_each(ignorant *k, double *values, int64_t count, int64_t length,
                             double value, bool gradient, bool *same) {
    double *kept = malloc((size_t)count * sizeof *kept);
    if (kept == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for a parameter of %lld elements",
                          (long long)count);
    memcpy(kept, values, (size_t)count * sizeof *kept);
    for (int64_t first = 0; first < count; first += length)
        set_all(values + first, length, isnan(value) ? mean_of(kept + first, length) : value);
    const assay_status status = gradient ? cotangent_unchanged(k, same) : input_unchanged(k, same);
    memcpy(values, kept, (size_t)count * sizeof *kept);
    free(kept);
    return status;
}

static assay_status put(ignorant *k, double *values, int64_t count, double value, bool gradient,
                        bool *same) {
    return put_each(k, values, count, count, value, gradient, same);
}

/* Zeros, ones, and the mean, unless the parameter counts by that alone; one element is its own. */
static assay_status ignore(ignorant *k, double *values, int64_t count, bool gradient, bool by_mean,
                           bool *same) {
    const double neutral[] = {0, 1, mean_of(values, count)};
    const int n = count > 1 && !by_mean ? 3 : 2;
    assay_status status = ASSAY_OK;
    *same = false;
    for (int i = 0; status == ASSAY_OK && !*same && i < n; ++i)
        status = put(k, values, count, neutral[i], gradient, same);
    return status;
}

static bool all_equal(const double *values, int64_t count) {
    for (int64_t e = 1; e < count; ++e)
        if (values[e] != values[0])
            return false;
    return true;
}

/* Whether the gradient is the same throughout, or in each row, because its input counts by the mean
 * of that alone. */
static assay_status counts_by_mean(ignorant *k, int32_t i, double *values, int64_t count,
                                   const char *reason, bool *by_mean) {
    const assay_tensor_spec *spec = &k->p->sig.in[i];
    const double *gradient = k->ref->want.grad.count > i ? k->ref->want.grad.data[i] : NULL;
    const bool rows = strcmp(reason, row_means) == 0;
    *by_mean = false;
    if (!rows && strcmp(reason, uniform) != 0 && !(gradient && all_equal(gradient, count)))
        return ASSAY_OK;
    return put_each(k, values, count, rows ? spec->shape[spec->rank - 1] : count, NAN, false,
                    by_mean);
}

static bool can_be_ignored(const assay_tensor_spec *spec, const double *values, int64_t count) {
    return values != NULL && count > 0 && spec->dtype != ASSAY_I32;
}

static assay_status ignore_input(ignorant *k, int32_t i, trivial_findings *found) {
    const assay_tensor_spec *spec = &k->p->sig.in[i];
    double *values = k->p->in.data[i];
    const int64_t count = k->p->in.size[i];
    bool same = false, by_mean = false;
    const bool rows = strcmp(found->grad[i], row_means) == 0;
    if (!can_be_ignored(spec, values, count))
        return ASSAY_OK;
    assay_status status = counts_by_mean(k, i, values, count, found->grad[i], &by_mean);
    if (by_mean)
        found->grad[i][0] = '\0';
    if (status == ASSAY_OK)
        status = ignore(k, values, count, false, by_mean && !rows, &same);
    if (same)
        snprintf(found->whole, TRIVIAL_REASON, "a kernel that ignores %s would pass", spec->name);
    return status;
}

static assay_status ignore_cotangent(ignorant *k, int32_t i, trivial_findings *found) {
    const assay_tensor_spec *spec = &k->p->sig.out[i];
    bool same = false;
    if (!can_be_ignored(spec, k->p->cot.data[i], k->p->cot.size[i]))
        return ASSAY_OK;
    const assay_status status = ignore(k, k->p->cot.data[i], k->p->cot.size[i], true, false, &same);
    if (same)
        snprintf(found->whole, TRIVIAL_REASON, "a kernel that ignores d%s would pass", spec->name);
    return status;
}

static bool is_large(const assay_problem *p) {
    double elements = 0;
    for (int32_t i = 0; i < p->sig.n_in; ++i)
        elements += (double)assay_spec_count(&p->sig.in[i]);
    for (int32_t i = 0; i < p->sig.n_out; ++i)
        elements += (double)assay_spec_count(&p->sig.out[i]);
    return elements > most_elements;
}

/* `data` is a copy of the problem's, which is changed and restored. */
static assay_status ignore_each(const assay_reference *ref, assay_problem *data,
                                trivial_findings *found) {
    const bool gradients = assay_signature_has_gradients(&data->sig);
    ignorant k = {.p = data, .ref = ref};
    assay_status status = assay_results_init(&k.got, &data->sig);
    for (int32_t i = 0; status == ASSAY_OK && i < data->in.count; ++i)
        status = ignore_input(&k, i, found);
    for (int32_t i = 0; status == ASSAY_OK && gradients && i < data->cot.count; ++i)
        status = ignore_cotangent(&k, i, found);
    assay_results_clear(&k.got);
    return status;
}

/* What could not be told from a definition. */
static void forget_uniform(const assay_problem *p, trivial_findings *found) {
    for (int32_t i = 0; i < p->sig.n_in; ++i)
        if (strcmp(found->grad[i], uniform) == 0 || strcmp(found->grad[i], row_means) == 0)
            found->grad[i][0] = '\0';
}

static assay_status copy_arrays(const assay_arrays *from, assay_arrays *to) {
    assay_status status = assay_arrays_init(to, from->count);
    for (int32_t i = 0; status == ASSAY_OK && i < from->count; ++i) {
        if (!from->data[i])
            continue;
        status = assay_arrays_add(to, i, from->size[i]);
        if (status == ASSAY_OK)
            memcpy(to->data[i], from->data[i], (size_t)from->size[i] * sizeof *from->data[i]);
    }
    return status;
}

static assay_status ignore_parameters(const assay_problem *p, const assay_reference *ref,
                                      trivial_findings *found) {
    assay_problem data = *p; /* its signature is the problem's */
    data.in = data.cot = (assay_arrays){0};
    assay_status status = copy_arrays(&p->in, &data.in);
    if (status == ASSAY_OK)
        status = copy_arrays(&p->cot, &data.cot);
    if (status == ASSAY_OK)
        status = ignore_each(ref, &data, found);
    assay_arrays_clear(&data.in);
    assay_arrays_clear(&data.cot);
    return status;
}

/* ---- all ---- */

assay_status trivial_find(const assay_problem *p, const assay_reference *ref,
                          trivial_findings *found) {
    *found = (trivial_findings){.searched = !is_large(p)};
    found->out = calloc((size_t)p->sig.n_out + 1, sizeof *found->out);
    found->grad = calloc((size_t)p->sig.n_in + 1, sizeof *found->grad);
    if (found->out == NULL || found->grad == NULL) {
        trivial_clear(found);
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the trivial solutions of %s",
                          p->c.op->name);
    }
    assay_status status =
        solve_tensors(p, false, &ref->want.out, &ref->out_bound.element, found->out);
    if (status == ASSAY_OK)
        status = solve_tensors(p, true, &ref->want.grad, &ref->grad_bound.element, found->grad);
    if (status == ASSAY_OK && found->searched)
        status = ignore_parameters(p, ref, found);
    else
        forget_uniform(p, found);
    if (status != ASSAY_OK)
        trivial_clear(found);
    return status;
}

void trivial_clear(trivial_findings *found) {
    free(found->out);
    free(found->grad);
    *found = (trivial_findings){0};
}
