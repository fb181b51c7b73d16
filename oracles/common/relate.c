#include "oracles/common/relate.h"

#include <math.h>
#include <string.h>

void relate_copy(double *to, const double *from, int64_t count) {
    memcpy(to, from, (size_t)count * sizeof *to);
}

static void copy_arrays(assay_arrays *to, const assay_arrays *from) {
    for (int32_t t = 0; t < from->count; ++t)
        if (from->data[t] && to->data[t])
            relate_copy(to->data[t], from->data[t], from->size[t]);
}

void relate_copy_data(const assay_problem *base, assay_problem *derived) {
    copy_arrays(&derived->in, &base->in);
    copy_arrays(&derived->cot, &base->cot);
}

void relate_copy_results(const assay_results *from, assay_results *to) {
    copy_arrays(&to->out, &from->out);
    copy_arrays(&to->grad, &from->grad);
}

/* ---- linearity: part i keeps the elements whose index is i modulo 2 ---- */

void relate_keep_part(assay_arrays *arrays, int32_t t, int32_t i) {
    for (int64_t e = 1 - i; e < arrays->size[t]; e += 2)
        arrays->data[t][e] = 0;
}

assay_status relate_split(const assay_problem *base, int32_t i, assay_problem *derived) {
    relate_copy_data(base, derived);
    relate_keep_part(&derived->in, 0, i);
    return ASSAY_OK;
}

static void add(assay_arrays *sum, const assay_arrays *a, const assay_arrays *b) {
    for (int32_t t = 0; t < sum->count; ++t)
        for (int64_t e = 0; sum->data[t] && e < sum->size[t]; ++e)
            sum->data[t][e] = a->data[t][e] + b->data[t][e];
}

assay_status relate_add(const assay_problem *base, const assay_problem *derived,
                        const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    add(&want->out, &results[0].out, &results[1].out);
    add(&want->grad, &results[0].grad, &results[1].grad);
    relate_copy(want->grad.data[0], results[0].grad.data[0], want->grad.size[0]);
    return ASSAY_OK;
}

/* ---- scaling ---- */

enum { COTANGENT_POWER = 1 };
static const int factor_power[] = {2, -3}; /* their sum is RELATE_OUTPUT_POWER */
enum { FACTORS = 2 };

static int power_of_input(int32_t t, int further) {
    return t < FACTORS ? factor_power[t] : further;
}

static void scale(assay_arrays *to, const assay_arrays *from, int32_t t, int power) {
    for (int64_t e = 0; to->data[t] && e < to->size[t]; ++e)
        to->data[t][e] = ldexp(from->data[t][e], power);
}

void relate_scale_data(const assay_problem *base, int further, assay_problem *derived) {
    for (int32_t t = 0; t < base->in.count; ++t)
        scale(&derived->in, &base->in, t, power_of_input(t, further));
    for (int32_t t = 0; t < base->cot.count; ++t)
        scale(&derived->cot, &base->cot, t, COTANGENT_POWER);
}

void relate_unscale_results(const assay_results *results, int further, assay_results *want) {
    for (int32_t t = 0; t < want->out.count; ++t)
        scale(&want->out, &results->out, t, -RELATE_OUTPUT_POWER);
    for (int32_t t = 0; t < want->grad.count; ++t)
        scale(&want->grad, &results->grad, t,
              power_of_input(t, further) - RELATE_OUTPUT_POWER - COTANGENT_POWER);
}

assay_status relate_scale(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_scale_data(base, 0, derived);
    return ASSAY_OK;
}

assay_status relate_unscale(const assay_problem *base, const assay_problem *derived,
                            const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    relate_unscale_results(results, 0, want);
    return ASSAY_OK;
}

/* ---- permutation of the batch ---- */

bool relate_keeps_bits(const assay_case *c) {
    return c->fill != ASSAY_FILL_DENORMAL && c->fill != ASSAY_FILL_MIXED &&
           c->params.dtype != ASSAY_F16;
}

bool relate_has_batch_axis(const assay_case *c) {
    assay_signature sig;
    if (c->op->signature(&c->params, &sig) != ASSAY_OK)
        return false;
    const bool has = sig.out[0].rank > 0;
    assay_signature_clear(&sig);
    return has;
}

void relate_reverse_axis(const assay_tensor_spec *spec, int32_t axis, const double *from,
                         double *to) {
    int64_t outer = 1, length = 1;
    for (int32_t i = 0; i < axis; ++i)
        outer *= spec->shape[i];
    for (int32_t i = axis + 1; i < spec->rank; ++i)
        length *= spec->shape[i];
    const int64_t extent = spec->shape[axis];
    for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < extent; ++i)
            relate_copy(to + (o * extent + i) * length,
                        from + (o * extent + extent - 1 - i) * length, length);
}

static void reverse_all(const assay_problem *base, const assay_arrays *from, assay_arrays *to) {
    for (int32_t t = 0; t < to->count; ++t)
        if (to->data[t])
            relate_reverse_axis(&base->sig.out[t], 0, from->data[t], to->data[t]);
}

assay_status relate_reverse(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    relate_reverse_axis(&base->sig.in[0], 0, base->in.data[0], derived->in.data[0]);
    reverse_all(base, &base->cot, &derived->cot);
    return ASSAY_OK;
}

assay_status relate_unreverse(const assay_problem *base, const assay_problem *derived,
                              const assay_results *results, assay_results *want) {
    (void)derived;
    reverse_all(base, &results->out, &want->out);
    copy_arrays(&want->grad, &results->grad);
    relate_reverse_axis(&base->sig.in[0], 0, results->grad.data[0], want->grad.data[0]);
    return ASSAY_OK;
}

/* ---- the batch in two parts ---- */

static int64_t *batch_of(assay_case *c) {
    return &c->params.item[0].value[0];
}

bool relate_can_be_cut(const assay_case *c) {
    return c->op->keys[0].kind == ASSAY_KEY_INT && c->params.item[0].value[0] >= 2;
}

assay_status relate_cut_case(const assay_case *base, int32_t i, assay_case *derived) {
    *derived = *base;
    const int64_t first = *batch_of(derived) / 2;
    *batch_of(derived) = i == 0 ? first : *batch_of(derived) - first;
    return ASSAY_OK;
}

/* The axis of the batch, which is shorter in a part; -1: the tensor has none. */
static int32_t cut_axis(const assay_tensor_spec *whole, const assay_tensor_spec *part) {
    for (int32_t a = 0; a < whole->rank; ++a)
        if (whole->shape[a] != part->shape[a])
            return a;
    return -1;
}

/* Copies part i's place in the whole, out of it or into it. */
static void copy_part(const assay_tensor_spec *whole, double *all, const assay_tensor_spec *part,
                      double *own, int32_t i, bool out_of) {
    const int32_t axis = cut_axis(whole, part);
    const int64_t extent = whole->shape[axis], length = part->shape[axis];
    int64_t outer = 1, inner = 1;
    for (int32_t a = 0; a < axis; ++a)
        outer *= whole->shape[a];
    for (int32_t a = axis + 1; a < whole->rank; ++a)
        inner *= whole->shape[a];
    for (int64_t o = 0; o < outer; ++o) {
        double *in_all = all + (o * extent + (i == 0 ? 0 : extent - length)) * inner;
        double *in_own = own + o * length * inner;
        relate_copy(out_of ? in_own : in_all, out_of ? in_all : in_own, length * inner);
    }
}

static void cut_arrays(const assay_tensor_spec *whole, const assay_arrays *from,
                       const assay_tensor_spec *part, assay_arrays *to, int32_t i) {
    for (int32_t t = 0; t < from->count; ++t) {
        if (!from->data[t])
            continue;
        if (cut_axis(&whole[t], &part[t]) < 0)
            relate_copy(to->data[t], from->data[t], from->size[t]);
        else
            copy_part(&whole[t], from->data[t], &part[t], to->data[t], i, true);
    }
}

assay_status relate_cut(const assay_problem *base, int32_t i, assay_problem *derived) {
    cut_arrays(base->sig.in, &base->in, derived->sig.in, &derived->in, i);
    cut_arrays(base->sig.out, &base->cot, derived->sig.out, &derived->cot, i);
    return ASSAY_OK;
}

/* A tensor without a batch is a sum over it. */
static void join_part(const assay_tensor_spec *whole, assay_arrays *to,
                      const assay_tensor_spec *part, const assay_arrays *from, int32_t i) {
    for (int32_t t = 0; t < to->count; ++t) {
        if (!to->data[t])
            continue;
        if (cut_axis(&whole[t], &part[t]) >= 0)
            copy_part(&whole[t], to->data[t], &part[t], from->data[t], i, false);
        for (int64_t e = 0; cut_axis(&whole[t], &part[t]) < 0 && e < to->size[t]; ++e)
            to->data[t][e] = (i == 0 ? 0 : to->data[t][e]) + from->data[t][e];
    }
}

assay_status relate_join(const assay_problem *base, const assay_problem *derived,
                         const assay_results *results, assay_results *want) {
    for (int32_t i = 0; i < 2; ++i) {
        join_part(base->sig.out, &want->out, derived[i].sig.out, &results[i].out, i);
        join_part(base->sig.in, &want->grad, derived[i].sig.in, &results[i].grad, i);
    }
    return ASSAY_OK;
}

/* ---- padding ---- */

/* Copies all of an array of shape `narrow` from or to the corner of one of shape `wide`. */
static void copy_corner(const assay_tensor_spec *narrow, double *small,
                        const assay_tensor_spec *wide, double *large, bool to_large) {
    const int64_t count = assay_spec_count(narrow);
    for (int64_t e = 0; e < count; ++e) {
        int64_t place = 0, step = 1, rest = e;
        for (int32_t a = narrow->rank - 1; a >= 0; --a) {
            place += rest % narrow->shape[a] * step;
            rest /= narrow->shape[a];
            step *= wide->shape[a];
        }
        if (to_large)
            large[place] = small[e];
        else
            small[e] = large[place];
    }
}

static void copy_corners(const assay_tensor_spec *narrow, const assay_arrays *small,
                         const assay_tensor_spec *wide, const assay_arrays *large, bool to_large) {
    for (int32_t t = 0; t < small->count; ++t)
        if (small->data[t])
            copy_corner(&narrow[t], small->data[t], &wide[t], large->data[t], to_large);
}

assay_status relate_embed(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    copy_corners(base->sig.in, &base->in, derived->sig.in, &derived->in, true);
    copy_corners(base->sig.out, &base->cot, derived->sig.out, &derived->cot, true);
    return ASSAY_OK;
}

assay_status relate_crop(const assay_problem *base, const assay_problem *derived,
                         const assay_results *results, assay_results *want) {
    copy_corners(base->sig.out, &want->out, derived->sig.out, &results->out, false);
    copy_corners(base->sig.in, &want->grad, derived->sig.in, &results->grad, false);
    return ASSAY_OK;
}
