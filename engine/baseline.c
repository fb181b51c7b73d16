#include "engine/baseline.h"

#include "assay/compare.h"

#include <math.h>

bool baseline_holds(assay_dtype dtype) {
    return assay_dtype_size(dtype) < sizeof(float);
}

bool baseline_applies(const assay_case *c) {
    return c->op->baseline && baseline_holds(c->params.dtype);
}

/* (Σ B)² / Σ B² over the rows, B a row's sum of squared bounds: their number where all are alike.
 * Not of what is infinite, which bounds nothing. */
static double rows_that_matter(const assay_tensor_spec *spec, const double *bound) {
    const int64_t length = spec->shape[spec->rank - 1], count = assay_spec_count(spec);
    double sum = 0, squares = 0;
    for (int64_t first = 0; first < count; first += length) {
        double row = 0;
        for (int64_t e = first; e < first + length; ++e)
            row += isfinite(bound[e]) ? bound[e] * bound[e] : 0;
        sum += row;
        squares += row * row;
    }
    return squares > 0 ? sum * sum / squares : 0;
}

static double fewest(const assay_tensor_spec *specs, const assay_arrays *bounds, double rows) {
    for (int32_t i = 0; i < bounds->count; ++i)
        if (bounds->data[i] && specs[i].rank > 1 && baseline_holds(specs[i].dtype))
            rows = fmin(rows, rows_that_matter(&specs[i], bounds->data[i]));
    return rows;
}

double baseline_rows(const assay_problem *p, const assay_reference *ref) {
    const double outputs = fewest(p->sig.out, &ref->out_bound.element, INFINITY);
    return fewest(p->sig.in, &ref->grad_bound.element, outputs);
}

baseline baseline_compare(assay_dtype dtype, const double *got, const double *v1,
                          const double *want, const double *bound, int64_t count, double rows) {
    const double factor = fmax(2, exp(6 / sqrt(rows)));
    const double rounding = assay_dtype_unit(dtype) * assay_norm2(want, count);
    const double of_v1 = factor * assay_distance2(v1, want, count) + rounding;
    const double of_bound = factor * assay_norm2(bound, count) / 16;
    baseline b = {.error = assay_distance2(got, want, count), .allowed = fmax(of_v1, of_bound)};
    b.kept = !isfinite(of_v1) || b.error <= b.allowed;
    return b;
}
