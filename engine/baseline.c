#include "engine/baseline.h"

#include "assay/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool baseline_applies(const assay_case *c) {
    const bool finite = c->fill != ASSAY_FILL_INF && c->fill != ASSAY_FILL_NAN;
    return finite && c->params.math == ASSAY_STRICT && !assay_fill_is_exact(c->fill);
}

/* (Σ B)² / Σ B² over rows of that length, B a row's sum of squared bounds: their number where all
 * are alike; infinite where none may be off. Infinite bounds are left out: they bound nothing.
 * Scaled, so that no square overflows. */
static double rows_that_matter(int64_t length, int64_t count, const double *bound) {
    double sum = 0, squares = 0, largest = 0;
    for (int64_t e = 0; e < count; ++e)
        largest = isfinite(bound[e]) ? fmax(largest, bound[e]) : largest;
    for (int64_t first = 0; largest > 0 && first < count; first += length) {
        double row = 0;
        for (int64_t e = first; e < first + length; ++e)
            row += isfinite(bound[e]) ? bound[e] / largest * (bound[e] / largest) : 0;
        sum += row;
        squares += row * row;
    }
    return squares > 0 ? sum * sum / squares : INFINITY;
}

/* Whether a row of the tensor may share an error: otherwise, as in lse, each element is a row. */
static bool has_rows(const assay_tensor_spec *spec) {
    return spec->rank > 1 && spec->differentiable;
}

static double fewest(const assay_tensor_spec *specs, const assay_arrays *bounds, double rows) {
    for (int32_t i = 0; i < bounds->count; ++i) {
        const int32_t rank = specs[i].rank;
        if (bounds->data[i] && has_rows(&specs[i]))
            rows = fmin(
                rows, rows_that_matter(specs[i].shape[rank - 1], bounds->size[i], bounds->data[i]));
    }
    return rows;
}

/* How many rows differ from the row before. Infinite where all do. Copies of fill=constant and
 * fill=rows are neighbours. */
static double kinds_of_rows(const assay_tensor_spec *spec, const double *data, int64_t count) {
    const int64_t length = spec->shape[spec->rank - 1];
    int64_t kinds = 1, rows = 1;
    for (int64_t first = length; length > 0 && first < count; first += length, ++rows)
        kinds += memcmp(data + first, data + first - length, (size_t)length * sizeof *data) != 0;
    return kinds < rows ? (double)kinds : INFINITY;
}

static double fewest_kinds(const assay_tensor_spec *specs, const assay_arrays *data, double rows) {
    for (int32_t i = 0; i < data->count; ++i)
        if (data->data[i] && specs[i].rank > 1)
            rows = fmin(rows, kinds_of_rows(&specs[i], data->data[i], data->size[i]));
    return rows;
}

double baseline_rows(const assay_problem *p, const assay_reference *ref) {
    double rows = fewest(p->sig.out, &ref->out_bound.element, INFINITY);
    rows = fewest(p->sig.in, &ref->grad_bound.element, rows);
    rows = fewest_kinds(p->sig.in, &p->in, rows);
    return fewest_kinds(p->sig.out, &p->cot, rows);
}

double baseline_rows_of(const assay_tensor_spec *spec, const double *bound, double rows) {
    const int64_t count = assay_spec_count(spec);
    return has_rows(spec) ? rows : fmin(rows, rows_that_matter(1, count, bound));
}

double baseline_share(const assay_case *c) {
    const assay_dtype dtype = c->params.dtype;
    const unsigned random_signs =
        ASSAY_FILL_BIT(ASSAY_FILL_NORMAL) | ASSAY_FILL_BIT(ASSAY_FILL_UNIFORM) |
        ASSAY_FILL_BIT(ASSAY_FILL_ZEROS) | ASSAY_FILL_BIT(ASSAY_FILL_HUGE);
    if ((ASSAY_FILL_BIT(c->fill) & random_signs) == 0 || assay_dtype_size(dtype) < sizeof(float))
        return 16;
    return dtype == ASSAY_F64 ? 32 : 64;
}

/* Subnormals of the accumulator are counted in the bounds of elements alone. */
static bool is_nearly_subnormal(assay_dtype dtype, const double *bound, int64_t count) {
    const double least = assay_dtype_denorm_min(dtype == ASSAY_F64 ? ASSAY_F64 : ASSAY_F32);
    return assay_norm2(bound, count) / sqrt((double)count) < 0x1p12 * least;
}

const double baseline_usual = 0.125;

double *baseline_jumps(const double *bound, const double *usual, int64_t count) {
    double *jump = calloc((size_t)count + 1, sizeof *jump);
    for (int64_t e = 0; jump && e < count; ++e) /* 0 also where either is infinite */
        jump[e] = isfinite(usual[e]) && usual[e] > bound[e] / 2 ? usual[e] : 0;
    return jump;
}

baseline baseline_compare(assay_dtype dtype, const double *got, const double *v1,
                          const double *want, const double *bound, const double *jump,
                          int64_t count, double rows, double share) {
    const double factor = fmax(2, exp(6 / sqrt(rows)));
    const double rounding = assay_dtype_unit(dtype) * assay_norm2(want, count);
    const double of_v1 = factor * assay_distance2(v1, want, count) + rounding;
    const double of_jumps = jump ? assay_norm2(jump, count) : 0;
    const double of_bound = factor * assay_norm2(bound, count) / share + of_jumps;
    baseline b = {.error = assay_distance2(got, want, count), .allowed = fmax(of_v1, of_bound)};
    b.kept = !isfinite(of_v1) || b.error <= b.allowed || is_nearly_subnormal(dtype, bound, count);
    return b;
}
