/* standard: x (n…, d) -> y = (x - mean) / sqrt(variance + 1/64) of each row, forward alone. Its
 * bound is the recipe of docs/add-an-operator.md, as it stands there. */
#include "assay/operator.h"
#include "oracles/common/approx.h"
#include "oracles/common/rows.h"

#include <math.h>
#include <stdio.h>

#include "standard.h"

static const double eps = 0x1p-6;

static const assay_key keys[] = {
    {"n", ASSAY_KEY_LIST, NULL, 0, 1 << 20, "rows"},
    {"d", ASSAY_KEY_INT, NULL, 1, 1 << 20, "length of a row"},
};

static assay_status legal(assay_params *params) {
    return rows_legal("standard", params);
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = assay_signature_init(sig, 1, 1);
    if (status != ASSAY_OK)
        return status;
    sig->in[0] = rows_spec("x", params);
    sig->out[0] = rows_spec("y", params);
    sig->in[0].differentiable = sig->out[0].differentiable = false;
    return ASSAY_OK;
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t rows = rows_count(args->params), d = assay_params_int(args->params, "d");
    for (int64_t i = 0; i < rows; ++i) {
        const double *x = args->in->data[0] + i * d;
        double mean = 0, variance = 0;
        for (int64_t j = 0; j < d; ++j)
            mean += x[j] / (double)d;
        for (int64_t j = 0; j < d; ++j)
            variance += (x[j] - mean) * (x[j] - mean) / (double)d;
        for (int64_t j = 0; j < d; ++j)
            result->data[0][i * d + j] = (x[j] - mean) / sqrt(variance + eps);
    }
    return ASSAY_OK;
}

static assay_status bound(const assay_oracle_args *args, const assay_rounding *r,
                          const assay_arrays *want, assay_bounds *bounds) {
    const int64_t rows = rows_count(args->params), d = assay_params_int(args->params, "d");
    for (int64_t i = 0; i < rows; ++i)
        bound_row(r, args->in->data[0] + i * d, d, eps, want->data[0] + i * d,
                  bounds->element.data[0] + i * d);
    snprintf(bounds->why[0], ASSAY_WHY, "mean and variance of d=%lld", (long long)d);
    return ASSAY_OK;
}

static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    (void)params;
    (void)stage;
    work->flops = work->least = 5 * (double)assay_spec_count(&sig->in[0]);
}

static void draw(assay_rng *rng, double budget, assay_params *params) {
    (void)budget;
    params->item[0].count = params->item[1].count = 1;
    params->item[0].value[0] = assay_rng_between(rng, 1, 9);
    params->item[1].value[0] = assay_rng_between(rng, 2, 300);
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "n=7 d=2,33,257,1024 dtype=f32,bf16 fill=normal,positive,uniform"},
};

static const assay_op op = {
    .name = "standard",
    .forward_formula = "y = (x - mean) / sqrt(variance + 1/64)",
    .keys = keys,
    .n_keys = 2,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_BF16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
    .legal = legal,
    .signature = signature,
    .forward = forward,
    .forward_bound = bound,
    .work = count_work,
    .draw = draw,
    .cases = cases,
    .n_cases = 1,
};

ASSAY_OPERATOR(op);
