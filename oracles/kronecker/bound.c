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
 *
 * In bf16 and TF32 each stage may be a product on tensor cores (bound.h). A kernel may round each
 * state between two stages to bf16, which is one u_out·M for each of them; in TF32 a stage's
 * product cuts it. What either loses of a subnormal state is amplified as what underflows.
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

/* phi of a sum of that many products, wherever it runs. */
static double phi_of_products(const assay_rounding *r, double products) {
    return r->tensor_core ? assay_product_error(r, products, 1, 1, 1)
                          : assay_accumulation(r, products);
}

/* The most that a subnormal number loses where a state is rounded or cut. */
static double subnormal_loss(const assay_rounding *r) {
    enum { CUT_BITS = 13 };
    if (r->product > 0)
        return ldexp(assay_underflow(r), CUT_BITS);
    return r->u_out > 0 ? r->tiny : 0;
}

/* All stages but `skip` (-1: all), each with the depth of its larger extent. There is a state
 * between each two of all stages: in dW, on the way of the stage's input or of its cotangent. */
static chain chain_of(const assay_oracle_args *args, const assay_rounding *r,
                      const kronecker_stage *stages, int32_t count, int32_t skip) {
    chain c = {.amplification = 1};
    for (int32_t i = 0; i < count; ++i) {
        const kronecker_stage *s = &stages[i];
        if (i == skip)
            continue;
        c.amplification *= largest_sum(args->in->data[s->w], s->p, s->q);
        const double depth = fmax((double)s->p, (double)s->q);
        c.phi = assay_compound(c.phi, phi_of_products(r, depth));
        c.depth += depth;
    }
    for (int32_t i = 1; i < count; ++i)
        c.phi = assay_compound(c.phi, r->u_out);
    c.lost = c.depth * (c.amplification * assay_underflow(r)) + /* first what may not overflow */
             (count - 1) * (c.amplification * subnormal_loss(r));
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
             "%.0f roundings through the stages (%s%s): %.3g*u*M, %s, u = 2^%.0f%s", c->depth, why,
             r->product > 0 ? "; operands cut: 2^-9*M a stage"
             : r->u_out > 0 ? "; states rounded to the stored type"
                            : "",
             c->phi / r->u, assay_why_magnitude(r), log2(r->u),
             r->u_out > 0 ? ", then rounded to the stored type" : "");
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
        c.phi = assay_compound(c.phi, phi_of_products(r, terms));
        c.depth += terms;
        c.lost = c.lost * met + terms * assay_underflow(r);
        bound_chain(r, &c, "the other stages, then the batch and the other modes", want, s->w,
                    bounds);
    }
    return ASSAY_OK;
}
