/*
 * The adjoint identity (relate.h): h·dx and (J h)·dy, summed.
 *
 * One sum over everything says little of one element, because the bounds add up too. So sums are
 * taken slice by slice where the operator has slices, and h, whose elements are 1 and -1, keeps of
 * a slice of n elements all, about √n, or about one. Which of these, and which elements, depends on
 * the case's seed and on the tensor: the last is sharp, and the first sees every element. Values of
 * ±1 bring in no rounding, and leave integers integers.
 */
#include "oracles/common/relate.h"
#include "oracles/common/twofold.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool relate_has_elements(const assay_case *c) {
    assay_signature sig;
    if (c->op->signature(&c->params, &sig) != ASSAY_OK)
        return false;
    bool has = true;
    for (int32_t t = 0; t < sig.n_in; ++t)
        has = has && assay_spec_count(&sig.in[t]) > 0;
    for (int32_t t = 0; t < sig.n_out; ++t)
        has = has && assay_spec_count(&sig.out[t]) > 0;
    assay_signature_clear(&sig);
    return has;
}

/* ---- h ---- */

/* Where a tensor's slices lie: element (l, o, i, e) of (leading, outer, extent, inner) is in slice
 * l * extent + i. */
typedef struct slicing {
    int64_t leading, outer, extent, inner;
} slicing;

static slicing slicing_of(const assay_tensor_spec *spec, int32_t leading, int32_t axis) {
    slicing s = {1, 1, axis == RELATE_WHOLE ? 1 : spec->shape[axis], 1};
    for (int32_t a = 0; a < leading; ++a)
        s.leading *= spec->shape[a];
    for (int32_t a = leading; a < axis; ++a)
        s.outer *= spec->shape[a];
    for (int32_t a = axis < leading ? leading : axis + 1; a < spec->rank; ++a)
        s.inner *= spec->shape[a];
    return s;
}

static int64_t slices_in(const slicing *s) {
    return s->leading * s->extent;
}

static uint64_t stream_of(const assay_tensor_spec *spec) {
    char name[ASSAY_TENSOR_NAME + 2];
    snprintf(name, sizeof name, "h %s", spec->name);
    return assay_rng_stream(name);
}

/* The probability with which an element of a slice of `length` is kept. */
static double density(uint64_t bits, double length) {
    enum { DENSITIES = 3 };
    return pow(length, -0.5 * (double)(bits % DENSITIES));
}

static void draw_h(const assay_problem *base, const relate_link *link, double *h) {
    const assay_tensor_spec *spec = &base->sig.in[link->in];
    const slicing in = slicing_of(spec, link->leading, link->in_axis);
    const int64_t count = assay_spec_count(spec);
    const uint64_t stream = stream_of(spec), first = assay_rng_bits(base->c.seed, stream, 0);
    const double keep = density(first, (double)(in.outer * in.inner));
    for (int64_t e = 0; e < count; ++e) {
        const uint64_t bits = assay_rng_bits(base->c.seed, stream, (uint64_t)e + 1);
        const bool drawn = !link->alone && (double)(bits >> 11) * 0x1p-53 < keep;
        const bool kept = e == link->kept || drawn;
        h[e] = kept ? (bits % 2 == 0 ? 1 : -1) : 0;
    }
}

void relate_probe(const assay_problem *base, const relate_link *link, assay_problem *derived) {
    relate_copy_data(base, derived);
    draw_h(base, link, derived->in.data[link->in]);
    uint32_t added = link->added;
    for (int32_t t = 0; added != 0; added >>= 1, ++t)
        if ((added & 1) != 0)
            memset(derived->in.data[t], 0, (size_t)derived->in.size[t] * sizeof(double));
}

/* ---- sums ---- */

/* The sum of a·b over one slice: its own error is one rounding, which relation.h allows for, and
 * two equal sums of integers come out equal. Where b, of h or dy, is 0, nothing is in the sum,
 * whatever a is: a bound may be infinite. */
static double sum_slice(const slicing *s, int64_t i, const double *a, const double *b) {
    twofold sum = {0};
    for (int64_t o = 0; o < s->outer; ++o) {
        const int64_t from =
            ((i / s->extent * s->outer + o) * s->extent + i % s->extent) * s->inner;
        for (int64_t e = from; e < from + s->inner; ++e)
            if (b[e] != 0)
                twofold_add_product(&sum, a[e], b[e]);
    }
    return twofold_value(sum);
}

/* In place: element i of an array lies in none of the slices behind i. */
void relate_pair_input(const assay_problem *derived, const relate_link *link,
                       assay_results *results) {
    const slicing in = slicing_of(&derived->sig.in[link->in], link->leading, link->in_axis);
    double *grad = results->grad.data[link->in];
    for (int64_t i = 0; i < slices_in(&in); ++i)
        grad[i] = sum_slice(&in, i, grad, derived->in.data[link->in]);
    results->grad.size[link->in] = slices_in(&in);
}

void relate_pair_output(const assay_problem *base, const relate_link *link,
                        const assay_results *derived, assay_results *want) {
    const slicing out = slicing_of(&base->sig.out[0], link->leading, link->out_axis);
    for (int64_t i = 0; i < slices_in(&out); ++i)
        want->grad.data[link->in][i] = sum_slice(&out, i, derived->out.data[0], base->cot.data[0]);
    want->grad.size[link->in] = slices_in(&out);
}

static bool is_linked(const relate_link *links, int32_t n, int32_t t) {
    for (int32_t i = 0; i < n; ++i)
        if (links[i].in == t)
            return true;
    return false;
}

void relate_drop_unlinked(const relate_link *links, int32_t n, assay_results *want) {
    for (int32_t t = 0; t < want->out.count; ++t)
        assay_arrays_drop(&want->out, t);
    for (int32_t t = 0; t < want->grad.count; ++t)
        if (!is_linked(links, n, t))
            assay_arrays_drop(&want->grad, t);
}
