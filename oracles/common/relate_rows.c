#include "oracles/common/relate_rows.h"

#include <math.h>

void relate_rows_reverse_all(const assay_tensor_spec *specs, int32_t axis, const assay_arrays *from,
                             assay_arrays *to) {
    for (int32_t t = 0; t < to->count; ++t) {
        if (!to->data[t])
            continue;
        if (axis == 0 && specs[t].rank < 2)
            relate_copy(to->data[t], from->data[t], to->size[t]);
        else
            relate_reverse_axis(&specs[t], axis == 0 ? 0 : specs[t].rank - 1, from->data[t],
                                to->data[t]);
    }
}

bool relate_rows_has_batch(const assay_case *c) {
    return c->params.item[0].count > 0;
}

static void reverse_data(const assay_problem *base, int32_t axis, assay_problem *derived) {
    relate_rows_reverse_all(base->sig.in, axis, &base->in, &derived->in);
    relate_rows_reverse_all(base->sig.out, axis, &base->cot, &derived->cot);
}

static void unreverse_results(const assay_problem *base, int32_t axis, const assay_results *results,
                              assay_results *want) {
    relate_rows_reverse_all(base->sig.out, axis, &results->out, &want->out);
    relate_rows_reverse_all(base->sig.in, axis, &results->grad, &want->grad);
}

assay_status relate_rows_reverse_rows(const assay_problem *base, int32_t i,
                                      assay_problem *derived) {
    (void)i;
    reverse_data(base, 0, derived);
    return ASSAY_OK;
}

assay_status relate_rows_unreverse_rows(const assay_problem *base, const assay_problem *derived,
                                        const assay_results *results, assay_results *want) {
    (void)derived;
    unreverse_results(base, 0, results, want);
    return ASSAY_OK;
}

assay_status relate_rows_reverse_columns(const assay_problem *base, int32_t i,
                                         assay_problem *derived) {
    (void)i;
    reverse_data(base, -1, derived);
    return ASSAY_OK;
}

assay_status relate_rows_unreverse_columns(const assay_problem *base, const assay_problem *derived,
                                           const assay_results *results, assay_results *want) {
    (void)derived;
    unreverse_results(base, -1, results, want);
    return ASSAY_OK;
}

assay_status relate_rows_split_cotangents(const assay_problem *base, int32_t i,
                                          assay_problem *derived) {
    relate_copy_data(base, derived);
    for (int32_t t = 0; t < derived->cot.count; ++t)
        relate_keep_part(&derived->cot, t, i);
    return ASSAY_OK;
}

assay_status relate_rows_add_gradients(const assay_problem *base, const assay_problem *derived,
                                       const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    for (int32_t t = 0; t < want->out.count; ++t)
        relate_copy(want->out.data[t], results->out.data[t], want->out.size[t]);
    for (int32_t t = 0; t < want->grad.count; ++t)
        for (int64_t e = 0; want->grad.data[t] && e < want->grad.size[t]; ++e)
            want->grad.data[t][e] = results[0].grad.data[t][e] + results[1].grad.data[t][e];
    return ASSAY_OK;
}

/* ---- shift ---- */

/* Where x is a multiple of 1/16 below 4, x + 4 is a number of every dtype. */
enum { SHIFT = 4, STEPS = 16 };

bool relate_rows_is_moderate(const assay_case *c) {
    const unsigned fills = ASSAY_FILL_BIT(ASSAY_FILL_NORMAL) | ASSAY_FILL_BIT(ASSAY_FILL_UNIFORM) |
                           ASSAY_FILL_BIT(ASSAY_FILL_POSITIVE) | ASSAY_FILL_BIT(ASSAY_FILL_CANCEL);
    return (fills & ASSAY_FILL_BIT(c->fill)) != 0 && c->exponent == 0;
}

assay_status relate_rows_make_coarse(assay_problem *base) {
    double *x = base->in.data[0];
    for (int64_t e = 0; e < base->in.size[0]; ++e)
        x[e] = fmax(fmin(rint(x[e] * STEPS) / STEPS, SHIFT - 1), 1 - SHIFT);
    return ASSAY_OK;
}

assay_status relate_rows_shift(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    for (int64_t e = 0; e < base->in.size[0]; ++e)
        derived->in.data[0][e] += SHIFT;
    return ASSAY_OK;
}

assay_status relate_rows_unshift(const assay_problem *base, const assay_problem *derived,
                                 const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    relate_copy_results(results, want);
    return ASSAY_OK;
}
