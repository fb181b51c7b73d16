#include "assay/problem.h"

#include "core/fill.h"
#include "core/parallel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static assay_status add_arrays(assay_arrays *arrays, const assay_tensor_spec *specs, int32_t count,
                               bool only_differentiable) {
    assay_status status = assay_arrays_init(arrays, count);
    for (int32_t i = 0; i < count && status == ASSAY_OK; ++i)
        if (specs[i].differentiable || !only_differentiable)
            status = assay_arrays_add(arrays, i, assay_spec_count(&specs[i]));
    return status;
}

assay_status assay_problem_init_empty(assay_problem *p, const assay_case *c) {
    memset(p, 0, sizeof *p);
    p->c = *c;
    assay_status status = assay_case_signature(c, &p->sig);
    if (status == ASSAY_OK)
        status = add_arrays(&p->in, p->sig.in, p->sig.n_in, false);
    if (status == ASSAY_OK)
        status = add_arrays(&p->cot, p->sig.out, p->sig.n_out, true);
    if (status != ASSAY_OK)
        assay_problem_clear(p);
    return status;
}

static assay_status check_exact(const assay_problem *p) {
    const assay_tensor_spec *lacking = NULL;
    for (int32_t i = 0; i < p->sig.n_in; ++i)
        if (!assay_fill_has_exact(&p->sig.in[i]))
            lacking = &p->sig.in[i];
    for (int32_t i = 0; i < p->sig.n_out; ++i)
        if (p->sig.out[i].differentiable && !assay_fill_has_exact(&p->sig.out[i]))
            lacking = &p->sig.out[i];
    if (lacking == NULL)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_UNSUPPORTED,
                      "%s: this case has no exact data: with integers in tensor %s, sums "
                      "would not be exact in %s; use fewer terms or another fill",
                      p->c.op->name, lacking->name, assay_dtype_name(lacking->dtype));
}

typedef struct rounding {
    assay_dtype dtype;
    double *data;
} rounding;

static void round_piece(void *context, int64_t first, int64_t last) {
    const rounding *r = context;
    for (int64_t e = first; e < last; ++e)
        r->data[e] = assay_dtype_round(r->dtype, r->data[e]);
}

static void round_again(const assay_tensor_spec *spec, double *data, int64_t count) {
    rounding r = {spec->dtype, data};
    if (data)
        assay_parallel(count, round_piece, &r);
}

/* Lets the operator change the data, and rounds what it left. */
static assay_status change(assay_problem *p, assay_status (*how)(assay_problem *p)) {
    const assay_status status = how(p);
    for (int32_t i = 0; i < p->sig.n_in; ++i)
        round_again(&p->sig.in[i], p->in.data[i], p->in.size[i]);
    for (int32_t i = 0; i < p->sig.n_out; ++i)
        round_again(&p->sig.out[i], p->cot.data[i], p->cot.size[i]);
    return status;
}

/* A NaN with every bit of its fraction, as a GPU's arithmetic makes them: adding to its bits, to
 * round it, makes a number of it. */
static double full_nan(void) {
    return nan("0xfffffffffffff");
}

/* What a fill does beyond its random data. */
static assay_status finish_fill(assay_problem *p) {
    const assay_fill fill = p->c.fill;
    if ((p->c.op->fills & ASSAY_FILL_BIT(fill)) != 0 && p->c.op->dress)
        return change(p, p->c.op->dress);
    if (fill != ASSAY_FILL_INF && fill != ASSAY_FILL_NAN)
        return ASSAY_OK;
    enum { PER_ELEMENT = 64 };
    const uint64_t inputs = (uint64_t)p->sig.n_in, low = p->c.seed % PER_ELEMENT;
    const double inf = low / inputs % 2 == 0 ? INFINITY : -INFINITY;
    int32_t chosen = (int32_t)(low % inputs);
    while (p->sig.in[chosen].dtype == ASSAY_I32) /* no operator has indices alone */
        chosen = (chosen + 1) % p->sig.n_in;
    const uint64_t count = (uint64_t)p->in.size[chosen];
    if (count > 0)
        p->in.data[chosen][p->c.seed / PER_ELEMENT % count] =
            fill == ASSAY_FILL_INF ? inf : full_nan();
    return ASSAY_OK;
}

/* ---- one operand of another size ---- */

/* Where operand number p->c.operand lies; NULL: the operator has fewer. */
static double *find_operand(const assay_problem *p, assay_dtype *dtype, int64_t *count) {
    int64_t skip = p->c.operand;
    for (int32_t i = 0; i < p->sig.n_in; ++i)
        if (p->sig.in[i].dtype != ASSAY_I32 && skip-- == 0) {
            *dtype = p->sig.in[i].dtype;
            *count = p->in.size[i];
            return p->in.data[i];
        }
    for (int32_t i = 0; i < p->sig.n_out; ++i)
        if (p->cot.data[i] && skip-- == 0) {
            *dtype = p->sig.out[i].dtype;
            *count = p->cot.size[i];
            return p->cot.data[i];
        }
    return NULL;
}

int64_t assay_problem_operands(const assay_signature *sig) {
    int64_t count = 0;
    for (int32_t i = 0; i < sig->n_in; ++i)
        count += sig->in[i].dtype != ASSAY_I32;
    for (int32_t i = 0; i < sig->n_out; ++i)
        count += sig->out[i].differentiable;
    return count;
}

static assay_status scale_operand(assay_problem *p) {
    assay_dtype dtype = p->c.params.dtype;
    int64_t count = 0;
    if (p->c.exponent == 0)
        return ASSAY_OK;
    double *data = find_operand(p, &dtype, &count);
    if (!data)
        return assay_fail(ASSAY_ERR_USAGE,
                          "%s: there is no operand %lld: inputs and gradients of outputs are "
                          "operands 0 to %lld",
                          p->c.op->name, (long long)p->c.operand,
                          (long long)assay_problem_operands(&p->sig) - 1);
    const double most = assay_dtype_max(dtype);
    for (int64_t e = 0; e < count; ++e) {
        const double value = assay_dtype_round(dtype, ldexp(data[e], (int)p->c.exponent));
        data[e] = isinf(value) && isfinite(data[e]) ? copysign(most, data[e]) : value;
    }
    return ASSAY_OK;
}

assay_status assay_problem_init(assay_problem *p, const assay_case *c) {
    memset(p, 0, sizeof *p);
    if (c->fill == ASSAY_FILL_GOLDEN)
        return assay_fail(ASSAY_ERR_USAGE,
                          "%s: the data of fill=golden are in a golden file; read them from "
                          "there",
                          c->op->name);
    assay_status status = assay_problem_init_empty(p, c);
    if (status == ASSAY_OK && c->fill == ASSAY_FILL_EXACT)
        status = check_exact(p);
    if (status != ASSAY_OK) {
        assay_problem_clear(p);
        return status;
    }

    for (int32_t i = 0; i < p->sig.n_in; ++i) {
        const assay_tensor_spec *spec = &p->sig.in[i];
        assay_fill_array(c->fill, spec->name, spec, spec->scale, c->seed, p->in.data[i],
                         p->in.size[i]);
    }
    for (int32_t i = 0; i < p->sig.n_out; ++i) {
        const assay_tensor_spec *spec = &p->sig.out[i];
        char name[ASSAY_TENSOR_NAME + 1];
        if (!spec->differentiable)
            continue;
        snprintf(name, sizeof name, "d%s", spec->name);
        assay_fill_array(c->fill, name, spec, 1, c->seed, p->cot.data[i], p->cot.size[i]);
    }
    if (c->op->data)
        status = change(p, c->op->data);
    if (status == ASSAY_OK)
        status = finish_fill(p);
    if (status == ASSAY_OK)
        status = scale_operand(p);
    if (status != ASSAY_OK)
        assay_problem_clear(p);
    return status;
}

void assay_problem_clear(assay_problem *p) {
    assay_arrays_clear(&p->in);
    assay_arrays_clear(&p->cot);
    assay_signature_clear(&p->sig);
}

bool assay_problem_has_backward(const assay_problem *p) {
    return p->c.op->backward && assay_signature_has_gradients(&p->sig);
}

assay_status assay_results_init(assay_results *r, const assay_signature *sig) {
    memset(r, 0, sizeof *r);
    assay_status status = add_arrays(&r->out, sig->out, sig->n_out, false);
    if (status == ASSAY_OK)
        status = add_arrays(&r->grad, sig->in, sig->n_in, true);
    if (status != ASSAY_OK)
        assay_results_clear(r);
    return status;
}

void assay_results_clear(assay_results *r) {
    assay_arrays_clear(&r->out);
    assay_arrays_clear(&r->grad);
    assay_arrays_clear(&r->out_low);
    assay_arrays_clear(&r->out_high);
    assay_arrays_clear(&r->grad_low);
    assay_arrays_clear(&r->grad_high);
}
