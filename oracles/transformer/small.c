/* The three small operators of the model that are in no registry: see transformer_graph.h. */
#include "oracles/common/bound.h"
#include "oracles/common/range.h"
#include "oracles/transformer/graph.h"

#include <math.h>
#include <string.h>

enum { HEADS_B, HEADS_T, HEADS_H, HEADS_E };

static const assay_key no_keys[] = {{"n", ASSAY_KEY_INT, NULL, 0, (double)INT64_MAX, "elements"}};
static const assay_key heads_keys[] = {
    {"b", ASSAY_KEY_INT, NULL, 0, (double)INT64_MAX, "batch"},
    {"t", ASSAY_KEY_INT, NULL, 0, (double)INT64_MAX, "tokens"},
    {"h", ASSAY_KEY_INT, NULL, 0, (double)INT64_MAX, "heads"},
    {"e", ASSAY_KEY_INT, NULL, 0, (double)INT64_MAX, "head dimension"},
};

static void copy(double *to, const double *from, int64_t count) {
    memcpy(to, from, (size_t)count * sizeof *to);
}

static assay_status add_forward(const assay_oracle_args *args, assay_arrays *result) {
    for (int64_t e = 0; e < result->size[0]; ++e)
        result->data[0][e] = args->in->data[0][e] + args->in->data[1][e];
    return ASSAY_OK;
}

static assay_status add_backward(const assay_oracle_args *args, assay_arrays *result) {
    for (int32_t i = 0; i < 2; ++i)
        copy(result->data[i], args->cot->data[0], result->size[i]);
    return ASSAY_OK;
}

/* (b, t, h, e) and (b, h, t, e): `outer` and `inner` are the two middle axes of `from`. */
static void exchange(int64_t b, int64_t outer, int64_t inner, int64_t e, const double *from,
                     double *to) {
    for (int64_t i = 0; i < b; ++i)
        for (int64_t j = 0; j < outer; ++j)
            for (int64_t k = 0; k < inner; ++k)
                copy(to + ((i * inner + k) * outer + j) * e,
                     from + ((i * outer + j) * inner + k) * e, e);
}

static void to_heads(const assay_params *params, const double *from, double *to) {
    const assay_param *key = params->item;
    exchange(key[HEADS_B].value[0], key[HEADS_T].value[0], key[HEADS_H].value[0],
             key[HEADS_E].value[0], from, to);
}

static void to_tokens(const assay_params *params, const double *from, double *to) {
    const assay_param *key = params->item;
    exchange(key[HEADS_B].value[0], key[HEADS_H].value[0], key[HEADS_T].value[0],
             key[HEADS_E].value[0], from, to);
}

static assay_status split_forward(const assay_oracle_args *args, assay_arrays *result) {
    to_heads(args->params, args->in->data[0], result->data[0]);
    return ASSAY_OK;
}

static assay_status split_backward(const assay_oracle_args *args, assay_arrays *result) {
    to_tokens(args->params, args->cot->data[0], result->data[0]);
    return ASSAY_OK;
}

static assay_status merge_forward(const assay_oracle_args *args, assay_arrays *result) {
    to_tokens(args->params, args->in->data[0], result->data[0]);
    return ASSAY_OK;
}

static assay_status merge_backward(const assay_oracle_args *args, assay_arrays *result) {
    to_heads(args->params, args->cot->data[0], result->data[0]);
    return ASSAY_OK;
}

/* The sum is rounded, whether it is stored by itself or by a norm that takes it on. */
static assay_status add_bound(const assay_oracle_args *args, const assay_rounding *r,
                              const assay_arrays *want, assay_bounds *bounds) {
    const double once = assay_accumulation(r, 1);
    (void)args;
    for (int64_t e = 0; e < want->size[0]; ++e)
        bounds->element.data[0][e] =
            assay_bound_element(r, once, 1, fabs(want->data[0][e]), want->data[0][e]);
    return ASSAY_OK;
}

static assay_status add_outside(const assay_oracle_args *args, const assay_rounding *r,
                                assay_bounds *out, assay_bounds *grad) {
    (void)grad;
    range_hold(r, range_largest(args->in, 0) + range_largest(args->in, 1), "x + y", out, 0);
    return ASSAY_OK;
}

const assay_op transformer_op_add = {.name = "add",
                                     .keys = no_keys,
                                     .n_keys = 1,
                                     .forward = add_forward,
                                     .backward = add_backward,
                                     .forward_plain = add_forward,
                                     .backward_plain = add_backward,
                                     .forward_bound = add_bound,
                                     .outside = add_outside};
const assay_op transformer_op_split = {.name = "split",
                                       .keys = heads_keys,
                                       .n_keys = 4,
                                       .forward = split_forward,
                                       .backward = split_backward,
                                       .forward_plain = split_forward,
                                       .backward_plain = split_backward};
const assay_op transformer_op_merge = {.name = "merge",
                                       .keys = heads_keys,
                                       .n_keys = 4,
                                       .forward = merge_forward,
                                       .backward = merge_backward,
                                       .forward_plain = merge_forward,
                                       .backward_plain = merge_backward};
