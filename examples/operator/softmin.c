/*
 * softmin: x (n…, d) -> y (n…, d) = exp(-x) / sum exp(-x), the sum over the last axis.
 *
 * Backward, given dy: dx = y (sum(y dy) - dy).
 *
 * An operator as assay new operator writes it: keys, tensors, oracle, bounds, cases, in this order.
 * Write your own in their place. assay/op.h says what each member must do.
 */
#include "assay/operator.h"
#include "oracles/common/approx.h"
#include "oracles/common/draw.h"
#include "oracles/common/relate.h"
#include "oracles/common/rows.h"

#include <math.h>
#include <stdio.h>

enum { KEY_N, KEY_D };
enum { X };
enum { Y };

static const assay_key keys[] = {
    {"n", ASSAY_KEY_LIST, NULL, 0, INT64_C(1) << 40, "leading axes of x, `none` for a single row"},
    {"d", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "length of the last axis"},
};

/* Rules that ranges of single keys cannot state. */
static assay_status legal(assay_params *params) {
    return rows_legal("softmin", params);
}

/* The tensors of a case: rows_spec() makes one of shape (n…, d) with a gradient. */
static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = assay_signature_init(sig, 1, 1);
    if (status != ASSAY_OK)
        return status;
    sig->in[X] = rows_spec("x", params);
    sig->out[Y] = rows_spec("y", params);
    return ASSAY_OK;
}

/* ---- the oracle: the definition in fp64 ---- */

static double least_of(const double *x, int64_t d) {
    double least = INFINITY;
    for (int64_t j = 0; j < d; ++j)
        least = fmin(least, x[j]);
    return least;
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t rows = rows_count(args->params), d = assay_params_int(args->params, "d");
    for (int64_t i = 0; i < rows; ++i) {
        const double *x = args->in->data[X] + i * d, least = least_of(x, d);
        double *y = result->data[Y] + i * d, sum = 0;
        for (int64_t j = 0; j < d; ++j)
            sum += y[j] = exp(least - x[j]);
        for (int64_t j = 0; j < d; ++j)
            y[j] /= sum;
    }
    return ASSAY_OK;
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t rows = rows_count(args->params), d = assay_params_int(args->params, "d");
    for (int64_t i = 0; i < rows; ++i) {
        const double *y = args->out->data[Y] + i * d, *dy = args->cot->data[Y] + i * d;
        double *dx = result->data[X] + i * d, along = 0;
        for (int64_t j = 0; j < d; ++j)
            along += y[j] * dy[j];
        for (int64_t j = 0; j < d; ++j)
            dx[j] = y[j] * (along - dy[j]);
    }
    return ASSAY_OK;
}

/* ---- bounds: the same formulas with errors (oracles/common/approx.h) ---- */

/* exp(least - x_j): the least is one of the inputs, and so exact. */
static approx power(const assay_rounding *r, double least, double x) {
    return approx_exp(r, approx_sub(r, approx_exact(least), approx_exact(x)));
}

static approx sum_of_powers(const assay_rounding *r, const double *x, int64_t d) {
    const double least = least_of(x, d);
    double about = 0;
    for (int64_t j = 0; j < d; ++j)
        about += exp(least - x[j]);
    approx_sum sum = approx_sum_begin(r, (double)d, about);
    for (int64_t j = 0; j < d; ++j)
        approx_sum_add(&sum, power(r, least, x[j]));
    return approx_sum_end(r, &sum);
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    const int64_t rows = rows_count(args->params), d = assay_params_int(args->params, "d");
    for (int64_t i = 0; i < rows; ++i) {
        const double *x = args->in->data[X] + i * d, least = least_of(x, d);
        const approx sum = sum_of_powers(r, x, d);
        for (int64_t j = 0; j < d; ++j) {
            const approx y = approx_div(r, power(r, least, x[j]), sum);
            bounds->element.data[Y][i * d + j] = approx_bound(r, y, want->data[Y][i * d + j]);
        }
    }
    snprintf(bounds->why[Y], ASSAY_WHY, "exp within 2 ulp, a sum of d=%lld of them, a quotient",
             (long long)d);
    return ASSAY_OK;
}

/* Backward may read the y that forward stored, or compute it again: the former is off by more. */
static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    const int64_t rows = rows_count(args->params), d = assay_params_int(args->params, "d");
    for (int64_t i = 0; i < rows; ++i) {
        const double *x = args->in->data[X] + i * d, least = least_of(x, d);
        const double *dy = args->cot->data[Y] + i * d;
        const approx sum = sum_of_powers(r, x, d);
        approx_sum along = approx_sum_begin(r, (double)d, 0);
        for (int64_t j = 0; j < d; ++j) {
            const approx y = approx_stored(r, approx_div(r, power(r, least, x[j]), sum));
            approx_sum_add(&along, approx_mul(r, y, approx_exact(dy[j])));
        }
        for (int64_t j = 0; j < d; ++j) {
            const approx y = approx_stored(r, approx_div(r, power(r, least, x[j]), sum));
            const approx rest = approx_sub(r, approx_sum_end(r, &along), approx_exact(dy[j]));
            bounds->element.data[X][i * d + j] =
                approx_bound(r, approx_mul(r, y, rest), want->data[X][i * d + j]);
        }
    }
    snprintf(bounds->why[X], ASSAY_WHY, "y as forward stored it, a sum of d=%lld, a product",
             (long long)d);
    return ASSAY_OK;
}

/* ---- work: the least operations of a call; bytes are counted from the signature ---- */

static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    (void)params;
    work->flops = (stage == ASSAY_FORWARD ? 4 : 5) * (double)assay_spec_count(&sig->in[X]);
    work->least = work->flops;
}

/* ---- cases ---- */

/* Random parameters of about `budget` operations. */
static void draw(assay_rng *rng, double budget, assay_params *params) {
    assay_param *n = &params->item[KEY_N], *d = &params->item[KEY_D];
    int64_t room = (int64_t)fmin(budget / 32, INT32_MAX);
    d->count = 1;
    d->value[0] = 1 + draw_extent(rng, room - 1); /* of 1 the result is 1, whatever x is */
    room /= d->value[0];
    n->count = (int32_t)assay_rng_between(rng, 0, 3);
    for (int32_t i = 0; i < n->count; ++i) {
        n->value[i] = draw_extent(rng, room);
        room /= n->value[i];
    }
}

/* What must hold between a kernel's answers to related problems, with no oracle in between. */
static const assay_relation relations[] = {
    {.name = "row_permutation",
     .why = "reversing the first axis of x and dy reverses that of y and dx",
     .n_derived = 1,
     .applies = relate_has_batch_axis,
     .derive = relate_reverse,
     .predict = relate_unreverse},
};

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "n=16 d=96 dtype=f32,f64,bf16,f16"},
    {ASSAY_SMOKE, "n=5x7 d=33 dtype=f32,f64,bf16,f16 pad=3 misalign=1"},
    {ASSAY_SMOKE, "n=none d=19 dtype=f32 sched=reverse"},
    {ASSAY_SMOKE, "n=5 d=37 dtype=f32 fill=positive,inf,nan"},
    {ASSAY_CI, "n=1,2,31,33 d=2,3,7,8,9,31,33,257 dtype=f32,bf16"},
    {ASSAY_CI, "n=5 d=64 dtype=f32 misalign=8:11:1"},
    {ASSAY_NIGHTLY, "n=100 d=1023,1024,4097 dtype=f32,bf16"},
    {ASSAY_EDGE, "n=0,4 d=0,1 dtype=f32"},
    {ASSAY_BENCH, "n=4096 d=4096 dtype=f32,bf16"},
};

static const assay_op op = {
    .name = "softmin",
    .forward_formula = "y = exp(-x) / sum exp(-x) over the last axis",
    .backward_formula = "dx = y (sum(y dy) - dy)",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .by_rows = true,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64) |
              ASSAY_DTYPE_BIT(ASSAY_BF16) | ASSAY_DTYPE_BIT(ASSAY_F16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
    .legal = legal,
    .signature = signature,
    .forward = forward,
    .backward = backward,
    .forward_bound = forward_bound,
    .backward_bound = backward_bound,
    .work = count_work,
    .draw = draw,
    .relations = relations,
    .n_relations = sizeof relations / sizeof *relations,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};

ASSAY_OPERATOR(op);
