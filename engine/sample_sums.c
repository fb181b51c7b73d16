/*
 * The sums over all rows of a whole. Backward is linear in the cotangents, so a small row that n
 * rows have the data of counts as one with n times its cotangents.
 */
#include "engine/sample.h"

#include "assay/relation.h"

#include <stdlib.h>

/* How many rows have each small row's data. */
static int64_t *count_twins(const sample *s) {
    int64_t *times = calloc((size_t)s->count + 1, sizeof *times);
    for (int64_t row = 0; times && row < s->rows; ++row)
        ++times[sample_twin(s, row)];
    return times;
}

/* `to`: allocated like the problem's cotangents. */
static void multiply(const assay_problem *p, const int64_t *times, assay_arrays *to) {
    for (int32_t o = 0; o < to->count; ++o) {
        const sample_axis axis = sample_axis_of(&p->sample->sig.out[o], &p->sig.out[o]);
        for (int64_t e = 0; to->data[o] && e < to->size[o]; ++e) {
            const int64_t row = axis.inner > 0 ? e / axis.inner % p->sample->count : 0;
            to->data[o][e] = p->cot.data[o][e] * (axis.inner > 0 ? (double)times[row] : 1);
        }
    }
}

static assay_status like(const assay_arrays *model, assay_arrays *arrays) {
    assay_status status = assay_arrays_init(arrays, model->count);
    for (int32_t i = 0; status == ASSAY_OK && i < model->count; ++i)
        if (model->data[i])
            status = assay_arrays_add(arrays, i, model->size[i]);
    return status;
}

/* Keeps those of tensors without rows, as a kernel stores them. */
static void keep_sums(const assay_problem *p, assay_arrays *sums) {
    for (int32_t i = 0; i < sums->count; ++i) {
        const assay_tensor_spec *whole = &p->sample->sig.in[i];
        if (sums->data[i] && sample_axis_of(whole, &p->sig.in[i]).inner > 0)
            assay_arrays_drop(sums, i);
        for (int64_t e = 0; sums->data[i] && e < sums->size[i]; ++e)
            sums->data[i][e] = assay_dtype_round(whole->dtype, sums->data[i][e]);
    }
}

assay_status sample_sums(const assay_problem *p, const assay_reference *ref, assay_arrays *sums) {
    assay_arrays cot = {0};
    int64_t *times = NULL;
    *sums = (assay_arrays){0};
    if (!sample_is_exact(p->sample) || !assay_problem_has_backward(p))
        return ASSAY_OK;
    assay_status status = like(&p->cot, &cot);
    if (status == ASSAY_OK)
        status = like(&ref->want.grad, sums);
    if (status != ASSAY_OK)
        goto done;
    times = count_twins(p->sample);
    if (!times) {
        status = assay_fail(ASSAY_ERR_MEMORY, "out of memory for the rows of %s", p->c.op->name);
        goto done;
    }
    multiply(p, times, &cot);
    const assay_oracle_args args = {
        .params = &p->c.params, .sig = &p->sig, .in = &p->in, .out = &ref->want.out, .cot = &cot};
    status = p->c.op->backward(&args, sums);
    if (status == ASSAY_OK)
        keep_sums(p, sums);
done:
    free(times);
    assay_arrays_clear(&cot);
    if (status != ASSAY_OK)
        assay_arrays_clear(sums);
    return status;
}
