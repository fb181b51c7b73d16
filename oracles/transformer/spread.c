#include "oracles/transformer/spread.h"
#include "core/parallel.h"
#include "oracles/transformer/local.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double deviations = 6;

assay_status transformer_spread_init(transformer_spread *s, int64_t size, int64_t row) {
    enum { PARTS = 3 };
    double **const part[PARTS] = {&s->variance, &s->largest, &s->unit};
    const int64_t length[PARTS] = {size, size, row > 0 ? size / row : 0};
    assay_arrays parts;
    *s = (transformer_spread){.size = size, .row = row};
    assay_status status = assay_arrays_init(&parts, PARTS);
    for (int32_t i = 0; status == ASSAY_OK && i < PARTS; ++i)
        status = assay_arrays_add(&parts, i, length[i]);
    for (int32_t i = 0; status == ASSAY_OK && i < PARTS; ++i) {
        *part[i] = parts.data[i];
        parts.data[i] = NULL;
    }
    assay_arrays_clear(&parts);
    return status;
}

void transformer_spread_clear(transformer_spread *s) {
    free(s->variance);
    free(s->largest);
    free(s->unit);
    *s = (transformer_spread){0};
}

transformer_spread *transformer_spreads(const assay_oracle_args *args) {
    const int32_t count = transformer_sizes_of(args->params).parameters;
    transformer_spread *spread = calloc((size_t)count, sizeof *spread);
    if (!spread) {
        (void)assay_fail(ASSAY_ERR_MEMORY, "out of memory for a list of %d tensors", count);
        return NULL;
    }
    for (int32_t i = 0; i < count; ++i) {
        const assay_tensor_spec *spec = &args->sig->in[TRANSFORMER_FIRST + i];
        if (transformer_spread_init(&spread[i], assay_spec_count(spec),
                                    spec->shape[spec->rank - 1]) != ASSAY_OK) {
            transformer_spreads_free(spread, i);
            return NULL;
        }
    }
    return spread;
}

void transformer_spreads_free(transformer_spread *spread, int32_t count) {
    for (int32_t i = 0; spread && i < count; ++i)
        transformer_spread_clear(&spread[i]);
    free(spread);
}

typedef struct run {
    transformer_spread *spread;
    const double *got, *want;
    double gain, weight;
} run;

/* All runs have the same exact elements. No unit is below fp32's smallest number: exact elements of
 * fp64 may be far smaller than what moves them, whose square would overflow. */
static void take_units(transformer_spread *s, const double *want) {
    for (int64_t first = 0; first < s->size; first += s->row) {
        double most = 0;
        for (int64_t e = first; e < first + s->row; ++e)
            if (isfinite(want[e]))
                most = fmax(most, fabs(want[e]));
        s->unit[first / s->row] =
            most > 0 ? fmax(ldexp(1, ilogb(most)), assay_dtype_denorm_min(ASSAY_F32)) : 1;
    }
}

/* An element that is not finite in the exact result has no bound. */
static void add_piece(void *context, int64_t first, int64_t last) {
    const run *r = context;
    for (int64_t e = first; e < last; ++e) {
        const double deviation = fabs(r->got[e] - r->want[e]) / r->gain;
        if (!isfinite(deviation)) {
            if (isfinite(r->want[e]))
                r->spread->largest[e] = (double)INFINITY;
            continue;
        }
        const double in_units = deviation / r->spread->unit[e / r->spread->row];
        r->spread->variance[e] += r->weight * in_units * in_units;
        if (r->weight == 0)
            r->spread->largest[e] = fmax(r->spread->largest[e], deviation);
    }
}

void transformer_spread_add(transformer_spread *s, const double *got, const double *want,
                            double gain, double weight) {
    run r = {s, got, want, gain, weight};
    if (s->size > 0 && s->unit[0] == 0)
        take_units(s, want);
    assay_parallel(s->size, add_piece, &r);
}

static double mean(const double *v, int64_t count) {
    double sum = 0;
    for (int64_t e = 0; e < count; ++e)
        sum += v[e];
    return sum / (double)count;
}

void transformer_spread_bound(const transformer_spread *s, const double *local, bool astray,
                              double *bound) {
    for (int64_t first = 0; first < s->size; first += s->row) {
        const double of_row = mean(s->variance + first, s->row), unit = s->unit[first / s->row];
        for (int64_t e = first; e < first + s->row; ++e) {
            const double sigma = sqrt((s->variance[e] + of_row) / 2);
            bound[e] = astray ? (double)INFINITY
                              : deviations * sigma * unit + s->largest[e] + (local ? local[e] : 0);
        }
    }
}

static bool leaves_fp32(const double *bound, int64_t size) {
    const double most = assay_dtype_max(ASSAY_F32);
    for (int64_t e = 0; e < size; ++e)
        if (!(bound[e] <= most))
            return true;
    return false;
}

void transformer_spread_outside(bool astray, const double *bound, int64_t size,
                                char line[ASSAY_WHY]) {
    if (line[0] != '\0')
        return;
    if (astray)
        snprintf(line, ASSAY_WHY,
                 "rounding alone moves the root of a norm, or the loss, by a half: no bound can be "
                 "given");
    else if (leaves_fp32(bound, size))
        snprintf(line, ASSAY_WHY,
                 "rounding alone moves an element beyond fp32's largest number: no bound can be "
                 "given");
}

void transformer_spread_why(bool astray, assay_bounds *bounds, int32_t i) {
    transformer_spread_outside(astray, bounds->element.data[i], bounds->element.size[i],
                               bounds->outside[i]);
    snprintf(bounds->why[i], ASSAY_WHY,
             "%g deviations of %d runs in which each stored tensor is off by its operator's bound "
             "with random signs, %d of them by rows, + the larger of 2 of equal signs + the last "
             "operator's bound",
             deviations, TRANSFORMER_ELEMENT_RUNS + TRANSFORMER_ROW_RUNS, TRANSFORMER_ROW_RUNS);
}
