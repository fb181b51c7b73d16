#include "oracles/common/reference.h"
#include "assay/problem.h"
#include "assay/usual.h"
#include "oracles/common/bound.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* Allocates bounds beside the arrays that `want` has. */
static assay_status bounds_like(const assay_arrays *want, assay_bounds *bounds) {
    assay_status status = assay_bounds_init(bounds, want->count);
    for (int32_t i = 0; status == ASSAY_OK && i < want->count; ++i)
        if (want->data[i])
            status = assay_arrays_add(&bounds->element, i, want->size[i]);
    return status;
}

/* The exact tier: every partial sum is an integer that the accumulator holds, so a correct kernel
 * returns the exact sum, rounded once to the stored type. The bounds stay 0. */
static void make_exact(assay_dtype dtype, assay_arrays *want, assay_bounds *bounds) {
    for (int32_t i = 0; i < want->count; ++i) {
        for (int64_t e = 0; want->data[i] && e < want->size[i]; ++e)
            want->data[i][e] = assay_dtype_round(dtype, want->data[i][e]);
        snprintf(bounds->why[i], ASSAY_WHY,
                 "exact: integers whose sums the accumulator holds, so no rounding is allowed");
    }
}

assay_status reference_allocate(assay_reference *r, const assay_problem *p) {
    *r = (assay_reference){0};
    assay_status status = assay_results_init(&r->want, &p->sig);
    if (status == ASSAY_OK)
        status = bounds_like(&r->want.out, &r->out_bound);
    if (status == ASSAY_OK)
        status = bounds_like(&r->want.grad, &r->grad_bound);
    return status;
}

/* The oracle's answers, with bounds allocated and still 0. */
static assay_status answer(assay_reference *r, const assay_problem *p, assay_oracle_args *args) {
    assay_status status = reference_allocate(r, p);
    if (status == ASSAY_OK)
        status = p->c.op->forward(args, &r->want.out);
    args->out = &r->want.out;
    args->cot = &p->cot;
    if (status == ASSAY_OK && assay_problem_has_backward(p))
        status = p->c.op->backward(args, &r->want.grad);
    return status;
}

static bool has_subnormal(const assay_arrays *arrays) {
    for (int32_t i = 0; i < arrays->count; ++i)
        for (int64_t e = 0; arrays->data[i] && e < arrays->size[i]; ++e)
            if (arrays->data[i][e] != 0 && fabs(arrays->data[i][e]) < (double)FLT_MIN)
                return true;
    return false;
}

/* TF32 drops 13 bits of a number. A subnormal one may have no more, so that no bound that is
 * relative to it holds. */
static void limit_tf32(assay_bounds *bounds) {
    for (int32_t i = 0; i < bounds->element.count; ++i)
        if (bounds->outside[i][0] == '\0')
            snprintf(bounds->outside[i], ASSAY_WHY,
                     "an input has subnormal numbers, of which TF32 keeps too few bits");
}

/* Of an answer that is not finite no bound is asked for; what an operator has computed may be NaN
 * of either sign, which a golden file would keep. */
static void clear_beyond_finite(const assay_arrays *want, assay_bounds *bounds) {
    for (int32_t i = 0; i < want->count; ++i)
        for (int64_t e = 0; want->data[i] && e < want->size[i]; ++e)
            if (!isfinite(want->data[i][e]))
                bounds->element.data[i][e] = 0;
}

assay_status reference_limit(assay_reference *r, const assay_problem *p,
                             const assay_rounding *rounding) {
    clear_beyond_finite(&r->want.out, &r->out_bound);
    clear_beyond_finite(&r->want.grad, &r->grad_bound);
    const assay_oracle_args args = {
        .params = &p->c.params, .sig = &p->sig, .in = &p->in, .cot = &p->cot};
    if (p->c.params.math == ASSAY_TF32) {
        const bool in = has_subnormal(&p->in);
        if (in)
            limit_tf32(&r->out_bound);
        if (in || has_subnormal(&p->cot))
            limit_tf32(&r->grad_bound);
    }
    return p->c.op->outside ? p->c.op->outside(&args, rounding, &r->out_bound, &r->grad_bound)
                            : ASSAY_OK;
}

static assay_status init(assay_reference *r, const assay_problem *p, assay_rounding rounding) {
    assay_oracle_args args = {.params = &p->c.params, .sig = &p->sig, .in = &p->in};
    assay_status status = answer(r, p, &args);
    if (status == ASSAY_OK)
        status = p->c.op->forward_bound(&args, &rounding, &r->want.out, &r->out_bound);
    if (status == ASSAY_OK && assay_problem_has_backward(p))
        status = p->c.op->backward_bound(&args, &rounding, &r->want.grad, &r->grad_bound);
    if (status == ASSAY_OK)
        status = reference_limit(r, p, &rounding);
    if (status != ASSAY_OK)
        assay_reference_clear(r);
    return status;
}

assay_status assay_reference_init_as(assay_reference *r, const assay_problem *p,
                                     assay_dtype dtype) {
    return init(r, p, assay_rounding_of(dtype, p->c.params.math, p->c.fill));
}

assay_status assay_reference_init_usual(assay_reference *r, const assay_problem *p, double share) {
    assay_rounding rounding = assay_rounding_of(p->c.params.dtype, p->c.params.math, p->c.fill);
    rounding.u *= share;
    rounding.u_out *= share;
    rounding.product *= share;
    return init(r, p, rounding);
}

assay_status assay_reference_init(assay_reference *r, const assay_problem *p) {
    if (!assay_fill_is_exact(p->c.fill))
        return assay_reference_init_as(r, p, p->c.params.dtype);
    assay_oracle_args args = {.params = &p->c.params, .sig = &p->sig, .in = &p->in};
    const assay_status status = answer(r, p, &args);
    if (status != ASSAY_OK) {
        assay_reference_clear(r);
        return status;
    }
    make_exact(p->c.params.dtype, &r->want.out, &r->out_bound);
    make_exact(p->c.params.dtype, &r->want.grad, &r->grad_bound);
    return ASSAY_OK;
}

void assay_reference_clear(assay_reference *r) {
    assay_results_clear(&r->want);
    assay_bounds_clear(&r->out_bound);
    assay_bounds_clear(&r->grad_bound);
}
