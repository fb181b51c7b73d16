/* An operator that assay does not have, row_square: x (n, d) -> y (n) = sum over j of x_j squared,
 * with its oracle and its cases here and its kernel in own_kernel.cu. Only the public API is used.
 * Prints a line for each case and tensor, with "wrong" a kernel that drops the last column. */
#include <assay/compare.h>
#include <assay/dtype.h>
#include <assay/problem.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const assay_variant assay_variant_row_square_mine_sim, assay_variant_row_square_wrong_sim;

/* ---- the operator ---- */

static const assay_key keys[] = {{"n", ASSAY_KEY_INT, NULL, 0, 1 << 20, "rows"},
                                 {"d", ASSAY_KEY_INT, NULL, 0, 1 << 20, "length of a row"}};

static assay_status legal(assay_params *params) {
    (void)params;
    return ASSAY_OK;
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const int64_t n = assay_params_int(params, "n"), d = assay_params_int(params, "d");
    const assay_status status = assay_signature_init(sig, 1, 1);
    if (status != ASSAY_OK)
        return status;
    sig->in[0] = (assay_tensor_spec){.name = "x",
                                     .dtype = params->dtype,
                                     .rank = 2,
                                     .inner = 1,
                                     .shape = {n, d},
                                     .scale = 1,
                                     .differentiable = true};
    sig->out[0] = (assay_tensor_spec){.name = "y",
                                      .dtype = params->dtype,
                                      .rank = 1,
                                      .inner = 1,
                                      .shape = {n},
                                      .differentiable = true};
    return ASSAY_OK;
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t n = assay_params_int(args->params, "n"), d = assay_params_int(args->params, "d");
    for (int64_t i = 0; i < n; ++i) {
        result->data[0][i] = 0;
        for (int64_t j = 0; j < d; ++j)
            result->data[0][i] += args->in->data[0][i * d + j] * args->in->data[0][i * d + j];
    }
    return ASSAY_OK;
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t n = assay_params_int(args->params, "n"), d = assay_params_int(args->params, "d");
    for (int64_t e = 0; e < n * d; ++e)
        result->data[0][e] = 2 * args->cot->data[0][e / d] * args->in->data[0][e];
    return ASSAY_OK;
}

/* h roundings of terms of one sign: h u times the sum, and one underflow each. */
static assay_status bound(const assay_rounding *r, double h, const assay_arrays *want,
                          assay_bounds *bounds, const char *why) {
    for (int64_t e = 0; e < want->size[0]; ++e)
        bounds->element.data[0][e] =
            h * r->u / (1 - h * r->u) * fabs(want->data[0][e]) + h * r->tiny;
    snprintf(bounds->why[0], ASSAY_WHY, "%s", why);
    return ASSAY_OK;
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    return bound(r, (double)assay_params_int(args->params, "d") + 1, want, bounds,
                 "a sum of d squares");
}

static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    (void)args;
    return bound(r, 2, want, bounds, "two products");
}

static const assay_op row_square = {
    .name = "row_square",
    .keys = keys,
    .n_keys = 2,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
    .legal = legal,
    .signature = signature,
    .forward = forward,
    .backward = backward,
    .forward_bound = forward_bound,
    .backward_bound = backward_bound,
};

/* ---- one call of a kernel ---- */

/* A dense tensor of f32 with the values of `data`, or NaN; the caller frees its data. */
static assay_tensor tensor_of(const assay_tensor_spec *spec, const double *data) {
    assay_tensor t = {.dtype = ASSAY_F32, .rank = spec->rank, .inner = spec->inner};
    int64_t count = 1;
    for (int32_t i = spec->rank - 1; i >= 0; --i) {
        t.shape[i] = spec->shape[i];
        t.stride[i] = count;
        count *= spec->shape[i];
    }
    float *value = malloc((size_t)(count + 1) * sizeof *value);
    for (int64_t e = 0; value != NULL && e < count; ++e)
        value[e] = data != NULL ? (float)data[e] : NAN;
    t.data = value;
    return t;
}

static void compare(const assay_case *c, const char *name, const assay_tensor *got,
                    const double *want, const double *bounds) {
    const int64_t count = assay_tensor_count(got);
    double *wide = malloc((size_t)(count + 1) * sizeof *wide);
    if (wide == NULL)
        return;
    for (int64_t e = 0; e < count; ++e)
        wide[e] = ((const float *)got->data)[e];
    char text[ASSAY_CASE_TEXT];
    const assay_comparison cmp = assay_compare(ASSAY_F32, wide, want, bounds, count);
    printf("%s %s %s ratio %.3g\n", assay_verdict_name(cmp.verdict), assay_case_format(c, text),
           name, cmp.ratio);
    free(wide);
}

static assay_status check(const assay_case *c, void *context) {
    const assay_variant *variant = context;
    assay_problem p = {0};
    assay_reference r = {0};
    assay_status status = assay_problem_init(&p, c);
    if (status == ASSAY_OK)
        status = assay_reference_init(&r, &p);
    if (status == ASSAY_OK) {
        assay_tensor x = tensor_of(&p.sig.in[0], p.in.data[0]), y = tensor_of(&p.sig.out[0], NULL);
        assay_tensor dy = tensor_of(&p.sig.out[0], p.cot.data[0]),
                     dx = tensor_of(&p.sig.in[0], NULL);
        const assay_tensor in[] = {x, y, dy};
        status = variant->forward(
            &(assay_call){.params = &c->params, .n_in = 1, .n_out = 1, .in = in, .out = &y});
        if (status == ASSAY_OK)
            status = variant->backward(
                &(assay_call){.params = &c->params, .n_in = 3, .n_out = 1, .in = in, .out = &dx});
        if (status == ASSAY_OK) {
            compare(c, "y", &y, r.want.out.data[0], r.out_bound.element.data[0]);
            compare(c, "dx", &dx, r.want.grad.data[0], r.grad_bound.element.data[0]);
        }
        free(x.data), free(y.data), free(dy.data), free(dx.data);
    }
    assay_reference_clear(&r);
    assay_problem_clear(&p);
    return status;
}

int main(int count, char **word) {
    const bool wrong = count > 1 && strcmp(word[1], "wrong") == 0;
    const assay_variant *variant =
        wrong ? &assay_variant_row_square_wrong_sim : &assay_variant_row_square_mine_sim;
    const char *const cases[] = {"n=1,7,64", "d=1,33,100", "fill=normal,positive"};
    if (assay_case_expand(&row_square, cases, 3, check, (void *)variant) == ASSAY_OK)
        return 0;
    fprintf(stderr, "%s\n", assay_error());
    return 3;
}
