#include "engine/sample.h"
#include "core/mix.h"
#include "engine/memory.h"

#include <math.h>
#include <stdlib.h>

/* ---- life ---- */

void sample_clear(sample *s) {
    assay_signature_clear(&s->sig);
    free(s->home);
    *s = (sample){0};
}

assay_case sample_case(const sample *s) {
    assay_case c = s->whole;
    c.params.item[0].value[0] = s->count;
    return c;
}

static bool has_exact(const assay_tensor_spec *spec) {
    return spec->exact_limit >= 1 || spec->dtype == ASSAY_I32;
}

bool sample_is_exact(const sample *s) {
    bool exact = s->whole.fill == ASSAY_FILL_EXACT;
    for (int32_t i = 0; i < s->sig.n_in; ++i)
        exact = exact && has_exact(&s->sig.in[i]);
    for (int32_t o = 0; o < s->sig.n_out; ++o)
        exact = exact && (!s->sig.out[o].differentiable || has_exact(&s->sig.out[o]));
    return exact;
}

/* Odd integers stay odd, and within what the whole allows. */
static void confine(const assay_tensor_spec *whole, double *data, int64_t count) {
    const double most = 2 * floor((whole->exact_limit - 1) / 2) + 1;
    for (int64_t e = 0; data && whole->dtype != ASSAY_I32 && e < count; ++e)
        data[e] = copysign(fmin(fabs(data[e]), most), data[e]);
}

assay_status sample_problem(const sample *s, assay_problem *p) {
    const assay_case c = sample_case(s);
    const assay_status status = assay_problem_init(p, &c);
    if (status != ASSAY_OK)
        return status;
    for (int32_t i = 0; sample_is_exact(s) && i < p->in.count; ++i)
        confine(&s->sig.in[i], p->in.data[i], p->in.size[i]);
    for (int32_t o = 0; sample_is_exact(s) && o < p->cot.count; ++o)
        confine(&s->sig.out[o], p->cot.data[o], p->cot.size[o]);
    p->sample = s;
    return ASSAY_OK;
}

/* Beside each array of `all`. */
static assay_status add_ranges(const assay_arrays *all, assay_arrays *low, assay_arrays *high) {
    assay_status status = assay_arrays_init(low, all->count);
    if (status == ASSAY_OK)
        status = assay_arrays_init(high, all->count);
    for (int32_t i = 0; status == ASSAY_OK && i < all->count; ++i) {
        if (!all->data[i])
            continue;
        status = assay_arrays_add(low, i, all->size[i]);
        if (status == ASSAY_OK)
            status = assay_arrays_add(high, i, all->size[i]);
    }
    return status;
}

assay_status sample_results(const assay_problem *p, assay_results *r) {
    assay_status status = assay_results_init(r, &p->sig);
    if (status == ASSAY_OK && p->sample)
        status = add_ranges(&r->out, &r->out_low, &r->out_high);
    if (status == ASSAY_OK && p->sample)
        status = add_ranges(&r->grad, &r->grad_low, &r->grad_high);
    return status;
}

static void begin(assay_arrays *arrays, double value) {
    for (int32_t i = 0; i < arrays->count; ++i)
        for (int64_t e = 0; arrays->data[i] && e < arrays->size[i]; ++e)
            arrays->data[i][e] = value;
}

void sample_begin_ranges(assay_results *r) {
    begin(&r->out_low, INFINITY);
    begin(&r->out_high, -INFINITY);
    begin(&r->grad_low, INFINITY);
    begin(&r->grad_high, -INFINITY);
}

/* A NaN, or else the one that is farther off. */
static double worse(double a, double b, double want) {
    return isnan(b) || fabs(b - want) > fabs(a - want) ? b : a;
}

static void choose_worst(double *got, const double *low, const double *high, const double *want,
                         int64_t count) {
    for (int64_t e = 0; e < count; ++e)
        got[e] = worse(got[e], worse(low[e], high[e], want[e]), want[e]);
}

void sample_choose_worst(const assay_problem *p, assay_results *r, const assay_results *want) {
    const sample *s = p->sample;
    for (int32_t o = 0; s && o < r->out.count; ++o)
        choose_worst(r->out.data[o], r->out_low.data[o], r->out_high.data[o], want->out.data[o],
                     r->out.size[o]);
    for (int32_t i = 0; s && i < r->grad.count; ++i)
        if (r->grad.data[i] && sample_axis_of(&s->sig.in[i], &p->sig.in[i]).inner > 0)
            choose_worst(r->grad.data[i], r->grad_low.data[i], r->grad_high.data[i],
                         want->grad.data[i], r->grad.size[i]);
}

double sample_bytes(const sample *s) {
    return 2 * (assay_amount_of(s->sig.in, s->sig.n_in).bytes +
                assay_amount_of(s->sig.out, s->sig.n_out).bytes);
}

/* ---- how rows lie ---- */

sample_axis sample_axis_of(const assay_tensor_spec *whole, const assay_tensor_spec *part) {
    sample_axis axis = {.outer = 1};
    int32_t a = 0;
    while (a < whole->rank && whole->shape[a] == part->shape[a])
        axis.outer *= whole->shape[a++];
    if (a == whole->rank)
        return (sample_axis){.outer = 1};
    axis.inner = 1;
    while (++a < whole->rank)
        axis.inner *= whole->shape[a];
    return axis;
}

/* The first small row whose home is not before `row`. */
static int64_t first_at_home(const sample *s, int64_t row) {
    int64_t low = 0, high = s->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (s->home[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Without a pattern: a kernel that takes one row for another meets other data. */
int64_t sample_twin(const sample *s, int64_t row) {
    const int64_t i = first_at_home(s, row);
    if (i < s->count && s->home[i] == row)
        return i;
    return (int64_t)(mix((uint64_t)row + 1) % (uint64_t)s->count);
}

int64_t sample_home(const sample *s, sample_axis axis, int64_t element) {
    if (axis.inner == 0 || element < 0)
        return element;
    const int64_t row = element / axis.inner, outer = row / s->count;
    return (outer * s->rows + s->home[row % s->count]) * axis.inner + element % axis.inner;
}

/* ---- their stretches ---- */

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

void sample_visit(const sample *s, sample_axis axis, int64_t first, int64_t last,
                  sample_visitor visit, void *context) {
    if (axis.inner == 0) {
        visit(context, first, first, last - first);
        return;
    }
    for (int64_t at = first; at < last;) {
        const int64_t row = at / axis.inner, place = at % axis.inner, outer = row / s->rows;
        const int64_t count = smaller(axis.inner - place, last - at);
        const int64_t small = outer * s->count + sample_twin(s, row % s->rows);
        visit(context, at, small * axis.inner + place, count);
        at += count;
    }
}

void sample_visit_homes(const sample *s, sample_axis axis, int64_t first, int64_t last,
                        sample_visitor visit, void *context) {
    if (axis.inner == 0) {
        visit(context, first, first, last - first);
        return;
    }
    const int64_t block = s->rows * axis.inner;
    for (int64_t o = first / block; o * block < last; ++o) {
        const int64_t from = larger(first - o * block, 0);
        for (int64_t i = first_at_home(s, from / axis.inner); i < s->count; ++i) {
            const int64_t row = o * block + s->home[i] * axis.inner;
            const int64_t at = larger(row, first), end = smaller(row + axis.inner, last);
            if (at >= last)
                break;
            visit(context, at, (o * s->count + i) * axis.inner + at - row, end - at);
        }
    }
}
