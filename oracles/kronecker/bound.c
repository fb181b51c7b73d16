/* How far a correct kronecker may be off. */
#include "oracles/common/bound.h"
#include "core/parallel.h"
#include "oracles/kronecker/kronecker.h"

#include <math.h>
#include <stdio.h>

/*
 * Stages compound: a result that passed stages of depths h_1, h_2, … is off by at most
 * (Π (1 + phi(h_i)) - 1)·G. A layer's stages commute, so a kernel may meet another stage of the
 * same layer before or after its own and sum over p or over q: the larger counts. A product that
 * underflows in one stage is amplified by the stages after it, at most by the product of their
 * largest absolute sums. In dW such a state meets all of a cotangent, or such a cotangent all of a
 * state: sums of what comes in, amplified by the stages between.
 */
typedef struct chain {
    double phi, depth;
    double amplification; /* of the stages: product of largest absolute sums, each at least 1 */
    double lost;          /* by products that underflow, with what amplifies them */
} chain;

/* Elements that an infinity or NaN reaches are compared as such, and need no bound. */
static double finite_size(double v) {
    return isfinite(v) ? fabs(v) : 0;
}

static double largest_sum(const double *w, int64_t p, int64_t q) {
    double largest = 1;
    for (int64_t i = 0; i < p; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < q; ++j)
            sum += finite_size(w[i * q + j]);
        largest = fmax(largest, sum);
    }
    for (int64_t j = 0; j < q; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < p; ++i)
            sum += finite_size(w[i * q + j]);
        largest = fmax(largest, sum);
    }
    return largest;
}

/* All stages but `skip` (-1: all), each with the depth of its larger extent. */
static chain chain_of(const assay_oracle_args *args, const assay_rounding *r,
                      const kronecker_stage *stages, int32_t count, int32_t skip) {
    chain c = {.amplification = 1};
    for (int32_t i = 0; i < count; ++i) {
        const kronecker_stage *s = &stages[i];
        if (i == skip)
            continue;
        c.amplification *= largest_sum(args->in->data[s->w], s->p, s->q);
        const double depth = fmax((double)s->p, (double)s->q);
        c.phi = assay_compound(c.phi, assay_accumulation(r, depth));
        c.depth += depth;
    }
    c.lost = c.depth * (c.amplification * assay_underflow(r)); /* first what may not overflow */
    return c;
}

static double absolute_sum(const double *a, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
        sum += finite_size(a[i]);
    return sum;
}

typedef struct chained {
    const assay_rounding *r;
    const chain *c;
    const double *want;
    double *bound; /* at first the magnitudes */
} chained;

static void bound_piece(void *context, int64_t first, int64_t last) {
    const chained *b = context;
    for (int64_t e = first; e < last; ++e)
        b->bound[e] =
            assay_bound_element(b->r, 1, 0, b->c->phi * b->bound[e] + b->c->lost, b->want[e]);
}

/* Replaces the magnitudes in bounds->element i by bounds. */
static void bound_chain(const assay_rounding *r, const chain *c, const char *why,
                        const assay_arrays *want, int32_t i, assay_bounds *bounds) {
    chained b = {r, c, want->data[i], bounds->element.data[i]};
    assay_parallel(want->size[i], bound_piece, &b);
    snprintf(bounds->why[i], ASSAY_WHY,
             "%.0f roundings through the stages (%s): %.3g*u*M, %s, u = 2^%.0f", c->depth, why,
             c->phi / r->u, assay_why_magnitude(r), log2(r->u));
}

assay_status kronecker_forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                     const assay_arrays *want, assay_bounds *bounds) {
    kronecker_stage stages[KRONECKER_MAX_STAGES];
    const int32_t count = kronecker_stages_of(args->params, stages);
    const assay_status status = assay_magnitudes(args, r, kronecker_forward, &bounds->element);
    if (status != ASSAY_OK)
        return status;
    const chain c = chain_of(args, r, stages, count, -1);
    bound_chain(r, &c, "sums over each p", want, KRONECKER_Y, bounds);
    return ASSAY_OK;
}

/* Terms of one element of dW: the batch times the larger extent of every other mode. */
static double gradient_terms(const assay_params *params, const kronecker_stage *s) {
    const assay_param *f = &params->item[KRONECKER_KEY_F], *q = &params->item[KRONECKER_KEY_Q];
    double terms = (double)params->item[KRONECKER_KEY_B].value[0];
    for (int32_t a = 0; a < f->count; ++a)
        if (a != (s->w - KRONECKER_FIRST_W) % f->count)
            terms *= fmax((double)f->value[a], (double)q->value[a]);
    return terms;
}

assay_status kronecker_backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                      const assay_arrays *want, assay_bounds *bounds) {
    kronecker_stage stages[KRONECKER_MAX_STAGES];
    const int32_t count = kronecker_stages_of(args->params, stages);
    const assay_status status = assay_magnitudes(args, r, kronecker_backward, &bounds->element);
    if (status != ASSAY_OK)
        return status;
    const chain all = chain_of(args, r, stages, count, -1);
    bound_chain(r, &all, "sums over each q", want, KRONECKER_X, bounds);
    const double met =
        fmax(absolute_sum(args->in->data[KRONECKER_X], want->size[KRONECKER_X]),
             absolute_sum(args->cot->data[KRONECKER_Y], args->cot->size[KRONECKER_Y]));
    for (int32_t i = 0; i < count; ++i) {
        const kronecker_stage *s = &stages[i];
        const double terms = gradient_terms(args->params, s);
        chain c = chain_of(args, r, stages, count, i);
        c.phi = assay_compound(c.phi, assay_accumulation(r, terms));
        c.depth += terms;
        c.lost = c.lost * met + terms * assay_underflow(r);
        bound_chain(r, &c, "the other stages, then the batch and the other modes", want, s->w,
                    bounds);
    }
    return ASSAY_OK;
}
