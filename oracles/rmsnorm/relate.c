/* Identities between the answers of rmsnorm to related problems. */
#include "oracles/common/relate.h"
#include "oracles/rmsnorm/rmsnorm.h"

#include <math.h>
#include <string.h>

/* x, r and the square root of eps by 2^h_power leave x̂ as it is. Towards 1, where s³ stays a normal
 * number. dh is as large as what it is added to. */
enum { W_POWER = -1, DY_POWER = 3 };

static int h_power(const assay_case *base) {
    return base->fill == ASSAY_FILL_HUGE ? -2 : 2;
}
static int dh_power(const assay_case *base) {
    return DY_POWER + W_POWER - h_power(base);
}

static void scale(double *to, const double *from, int power, int64_t count) {
    for (int64_t e = 0; e < count; ++e)
        to[e] = ldexp(from[e], power);
}

static assay_status scale_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    derived->params.item[RMSNORM_KEY_EPS].real *= ldexp(1, 2 * h_power(base));
    return ASSAY_OK;
}

static assay_status scale_all(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    for (int32_t t = 0; t < base->in.count; ++t)
        scale(derived->in.data[t], base->in.data[t],
              t + 1 == base->in.count ? W_POWER : h_power(&base->c), base->in.size[t]);
    for (int32_t t = 0; t < base->cot.count; ++t)
        scale(derived->cot.data[t], base->cot.data[t],
              t == RMSNORM_Y ? DY_POWER : dh_power(&base->c), base->cot.size[t]);
    return ASSAY_OK;
}

static assay_status unscale_all(const assay_problem *base, const assay_problem *derived,
                                const assay_results *results, assay_results *want) {
    (void)derived;
    for (int32_t t = 0; t < want->out.count; ++t)
        scale(want->out.data[t], results->out.data[t],
              t == RMSNORM_Y ? -W_POWER : -h_power(&base->c), want->out.size[t]);
    for (int32_t t = 0; t < want->grad.count; ++t)
        scale(want->grad.data[t], results->grad.data[t],
              t + 1 == want->grad.count ? -DY_POWER : -dh_power(&base->c), want->grad.size[t]);
    return ASSAY_OK;
}

static void reverse_each(const assay_tensor_spec *specs, int32_t axis, const assay_arrays *from,
                         assay_arrays *to) {
    for (int32_t t = 0; t < to->count; ++t)
        relate_reverse_axis(&specs[t], axis < specs[t].rank - 1 ? axis : specs[t].rank - 1,
                            from->data[t], to->data[t]);
}

/* Reverses the first axis of everything but w. */
static void reverse_batch(const assay_tensor_spec *specs, const assay_arrays *from,
                          assay_arrays *to) {
    reverse_each(specs, 0, from, to);
    const int32_t last = to->count - 1;
    if (specs[last].rank == 1)
        relate_copy(to->data[last], from->data[last], to->size[last]);
}

static bool has_batch(const assay_case *c) {
    return c->params.item[RMSNORM_KEY_N].count > 0;
}

static assay_status reverse_rows(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    reverse_batch(base->sig.in, &base->in, &derived->in);
    reverse_batch(base->sig.out, &base->cot, &derived->cot);
    return ASSAY_OK;
}

static assay_status unreverse_rows(const assay_problem *base, const assay_problem *derived,
                                   const assay_results *results, assay_results *want) {
    (void)derived;
    reverse_batch(base->sig.out, &results->out, &want->out);
    reverse_batch(base->sig.in, &results->grad, &want->grad);
    return ASSAY_OK;
}

static assay_status reverse_columns(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    reverse_each(base->sig.in, ASSAY_MAX_RANK, &base->in, &derived->in);
    reverse_each(base->sig.out, ASSAY_MAX_RANK, &base->cot, &derived->cot);
    return ASSAY_OK;
}

static assay_status unreverse_columns(const assay_problem *base, const assay_problem *derived,
                                      const assay_results *results, assay_results *want) {
    (void)derived;
    reverse_each(base->sig.out, ASSAY_MAX_RANK, &results->out, &want->out);
    reverse_each(base->sig.in, ASSAY_MAX_RANK, &results->grad, &want->grad);
    return ASSAY_OK;
}

static assay_status double_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    derived->params.item[RMSNORM_KEY_D].value[0] *= 2;
    return ASSAY_OK;
}

/* Each row, then the same again. */
static void repeat_rows(int64_t d, const assay_arrays *from, assay_arrays *to) {
    for (int32_t t = 0; t < from->count; ++t)
        for (int64_t e = 0; e < from->size[t]; e += d)
            for (int64_t half = 0; half < 2; ++half)
                relate_copy(to->data[t] + 2 * e + half * d, from->data[t] + e, d);
}

static assay_status repeat_columns(const assay_problem *base, int32_t i, assay_problem *derived) {
    const int64_t d = base->c.params.item[RMSNORM_KEY_D].value[0];
    (void)i;
    repeat_rows(d, &base->in, &derived->in);
    repeat_rows(d, &base->cot, &derived->cot);
    return ASSAY_OK;
}

static void second_half(int64_t d, const assay_arrays *from, assay_arrays *to) {
    for (int32_t t = 0; t < to->count; ++t)
        for (int64_t e = 0; e < to->size[t]; e += d)
            relate_copy(to->data[t] + e, from->data[t] + 2 * e + d, d);
}

static assay_status keep_half(const assay_problem *base, const assay_problem *derived,
                              const assay_results *results, assay_results *want) {
    const int64_t d = base->c.params.item[RMSNORM_KEY_D].value[0];
    (void)derived;
    second_half(d, &results->out, &want->out);
    second_half(d, &results->grad, &want->grad);
    return ASSAY_OK;
}

static assay_status split_cotangents(const assay_problem *base, int32_t i, assay_problem *derived) {
    relate_copy_data(base, derived);
    for (int32_t t = 0; t < derived->cot.count; ++t)
        relate_keep_part(&derived->cot, t, i);
    return ASSAY_OK;
}

static assay_status add_gradients(const assay_problem *base, const assay_problem *derived,
                                  const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    for (int32_t t = 0; t < want->out.count; ++t)
        relate_copy(want->out.data[t], results->out.data[t], want->out.size[t]);
    for (int32_t t = 0; t < want->grad.count; ++t)
        for (int64_t e = 0; e < want->grad.size[t]; ++e)
            want->grad.data[t][e] = results[0].grad.data[t][e] + results[1].grad.data[t][e];
    return ASSAY_OK;
}

static bool has_residual(const assay_case *c) {
    return rmsnorm_sizes_of(&c->params).residual;
}

static assay_status swap_terms(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    relate_copy(derived->in.data[RMSNORM_X], base->in.data[RMSNORM_R], base->in.size[RMSNORM_R]);
    relate_copy(derived->in.data[RMSNORM_R], base->in.data[RMSNORM_X], base->in.size[RMSNORM_X]);
    return ASSAY_OK;
}

static assay_status unswap_terms(const assay_problem *base, const assay_problem *derived,
                                 const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    for (int32_t t = 0; t < want->out.count; ++t)
        relate_copy(want->out.data[t], results->out.data[t], want->out.size[t]);
    for (int32_t t = 0; t < want->grad.count; ++t) {
        const int32_t from = t == RMSNORM_X ? RMSNORM_R : t == RMSNORM_R ? RMSNORM_X : t;
        relate_copy(want->grad.data[t], results->grad.data[from], want->grad.size[t]);
    }
    return ASSAY_OK;
}

/* y = x̂·w: the weight of a column has to do with that column of y alone. */
static relate_link link_of(const assay_problem *base, int32_t i) {
    (void)i;
    return (relate_link){
        .in = base->in.count - 1, .in_axis = 0, .out_axis = base->sig.out[RMSNORM_Y].rank - 1};
}
RELATE_LINKS(link_of, 1);

const assay_relation rmsnorm_relations[RMSNORM_RELATIONS] = {
    {.name = "power_of_two_scaling",
     .why = "x and r by 4, eps by 16, w by 1/2, dy by 8, dh by 1: results scale, bit for bit",
     .exact = true,
     .applies = relate_keeps_bits,
     .n_derived = 1,
     .derive_case = scale_case,
     .derive = scale_all,
     .predict = unscale_all},
    {.name = "row_permutation",
     .why = "reversing the batch reverses y, h, dx and dr, dw stays",
     .applies = has_batch,
     .n_derived = 1,
     .derive = reverse_rows,
     .predict = unreverse_rows},
    {.name = "column_permutation",
     .why = "reversing the columns of all tensors reverses those of every result",
     .n_derived = 1,
     .derive = reverse_columns,
     .predict = unreverse_columns},
    {.name = "column_duplication",
     .why = "every column twice leaves the mean of squares, and so every result, as it was",
     .n_derived = 1,
     .derive_case = double_case,
     .derive = repeat_columns,
     .predict = keep_half},
    {.name = "cotangent_linearity",
     .why = "dy = dya + dyb, dh = dha + dhb: every gradient is the sum of theirs",
     .n_derived = 2,
     .derive = split_cotangents,
     .predict = add_gradients},
    RELATE_ADJOINT,
    {.name = "commutativity",
     .why = "x and r exchanged: h and y stay, dx is dr, bit for bit",
     .exact = true,
     .applies = has_residual,
     .n_derived = 1,
     .derive = swap_terms,
     .predict = unswap_terms},
};
