/* product: a (m, k), b (k, n) -> y (m, n) = tanh(a b), forward alone. Its bound is the recipe of
 * docs/add-an-operator.md, as it stands there. */
#include "assay/operator.h"
#include "oracles/common/approx.h"
#include "oracles/common/blas.h"

#include <math.h>
#include <stdio.h>

#include "product.h"

static const assay_key keys[] = {
    {"m", ASSAY_KEY_INT, NULL, 1, 4096, "rows of a"},
    {"n", ASSAY_KEY_INT, NULL, 1, 4096, "columns of b"},
    {"k", ASSAY_KEY_INT, NULL, 1, 4096, "length of the sums"},
};

static assay_status legal(assay_params *params) {
    (void)params;
    return ASSAY_OK;
}

static assay_tensor_spec matrix(const char *name, const assay_params *p, int64_t rows,
                                int64_t columns, double scale) {
    assay_tensor_spec spec = {
        .dtype = p->dtype, .rank = 2, .inner = 1, .shape = {rows, columns}, .scale = scale};
    snprintf(spec.name, sizeof spec.name, "%s", name);
    return spec;
}

static assay_status signature(const assay_params *p, assay_signature *sig) {
    const int64_t m = assay_params_int(p, "m"), n = assay_params_int(p, "n"),
                  k = assay_params_int(p, "k");
    const assay_status status = assay_signature_init(sig, 2, 1);
    if (status != ASSAY_OK)
        return status;
    sig->in[0] = matrix("a", p, m, k, 1 / sqrt((double)k));
    sig->in[1] = matrix("b", p, k, n, 1);
    sig->out[0] = matrix("y", p, m, n, 1);
    return ASSAY_OK;
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t m = assay_params_int(args->params, "m"), n = assay_params_int(args->params, "n"),
                  k = assay_params_int(args->params, "k");
    blas_gemm(false, false, m, n, k, args->in->data[0], k, args->in->data[1], n, 0, result->data[0],
              n);
    for (int64_t e = 0; e < m * n; ++e)
        result->data[0][e] = tanh(result->data[0][e]);
    return ASSAY_OK;
}

static assay_status bound(const assay_oracle_args *args, const assay_rounding *r,
                          const assay_arrays *want, assay_bounds *bounds) {
    const int64_t m = assay_params_int(args->params, "m"), n = assay_params_int(args->params, "n"),
                  k = assay_params_int(args->params, "k");
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
            bounds->element.data[0][i * n + j] =
                bound_of(r, args->in->data[0] + i * k, args->in->data[1] + j, n, k,
                         want->data[0][i * n + j]);
    snprintf(bounds->why[0], ASSAY_WHY, "tanh within 2 ulp of a sum of k=%lld products",
             (long long)k);
    return ASSAY_OK;
}

static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    (void)stage;
    work->flops = work->least =
        2 * (double)assay_params_int(params, "k") * (double)assay_spec_count(&sig->out[0]);
}

static void draw(assay_rng *rng, double budget, assay_params *params) {
    (void)budget;
    for (int i = 0; i < 3; ++i) {
        params->item[i].count = 1;
        params->item[i].value[0] = assay_rng_between(rng, 1, 20);
    }
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "m=5,17 n=9 k=1,33,300 dtype=f32,bf16"},
    {ASSAY_SMOKE, "m=5,17 n=9 k=1,33 dtype=f32,bf16 fill=positive"},
};

static const assay_op op = {
    .name = "product",
    .forward_formula = "y = tanh(a b)",
    .keys = keys,
    .n_keys = 3,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_BF16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
    .legal = legal,
    .signature = signature,
    .forward = forward,
    .forward_bound = bound,
    .work = count_work,
    .draw = draw,
    .cases = cases,
    .n_cases = 2,
};

ASSAY_OPERATOR(op);
