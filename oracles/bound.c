#include "oracles/bound.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double independence = 4.0; /* the factor on √h·u, see bound.h */

assay_rounding assay_rounding_of(assay_dtype stored, assay_fill fill) {
    const assay_dtype accumulator = stored == ASSAY_F64 ? ASSAY_F64 : ASSAY_F32;
    return (assay_rounding){
        .u = assay_dtype_unit(accumulator),
        .u_out = stored == accumulator ? 0.0 : assay_dtype_unit(stored),
        .tiny = fmax(assay_dtype_denorm_min(accumulator), assay_dtype_denorm_min(stored)),
        .independent =
            fill == ASSAY_FILL_NORMAL || fill == ASSAY_FILL_UNIFORM || fill == ASSAY_FILL_POSITIVE,
    };
}

/* Infinite, so that nothing can be said, when h·u reaches 1. */
static double gamma_of(double h, double u) {
    return h * u < 1 ? h * u / (1 - h * u) : INFINITY;
}

static bool statistical(const assay_rounding *r, double h, double u) {
    return r->independent && independence * sqrt(h) * u < gamma_of(h, u);
}

static double phi(const assay_rounding *r, double h, double u) {
    return statistical(r, h, u) ? independence * sqrt(h) * u : gamma_of(h, u);
}

double assay_accumulation(const assay_rounding *r, double depth) {
    return phi(r, depth, r->u) + phi(r, depth, assay_dtype_unit(ASSAY_F64));
}

double assay_compound(double a, double b) {
    return a + b + a * b;
}

double assay_bound_element(const assay_rounding *r, double factor, double depth, double magnitude,
                           double want) {
    const double accumulated = factor * magnitude;
    const double stored = r->u_out > 0 ? r->u_out * (fabs(want) + accumulated) + r->tiny : 0.0;
    return accumulated + stored + depth * r->tiny;
}

void assay_why_sum(const assay_rounding *r, double depth, const char *magnitude,
                   char why[ASSAY_WHY]) {
    const char *rule = statistical(r, depth, r->u) ? "4*sqrt(h)*u" : "gamma_h";
    snprintf(why, ASSAY_WHY, "h=%.0f roundings in any order: %s*G, G = %s, u = 2^%.0f%s", depth,
             rule, magnitude, log2(r->u), r->u_out > 0 ? ", then rounded to the stored type" : "");
}

assay_status assay_bounds_init(assay_bounds *bounds, int32_t count) {
    *bounds = (assay_bounds){0};
    const assay_status status = assay_arrays_init(&bounds->element, count);
    if (status != ASSAY_OK)
        return status;
    bounds->why = calloc((size_t)count + 1, sizeof *bounds->why);
    if (!bounds->why) {
        assay_arrays_clear(&bounds->element);
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for %d bounds", count);
    }
    return ASSAY_OK;
}

void assay_bounds_clear(assay_bounds *bounds) {
    assay_arrays_clear(&bounds->element);
    free(bounds->why);
    *bounds = (assay_bounds){0};
}

static assay_status arrays_abs(const assay_arrays *from, assay_arrays *to) {
    assay_status status = assay_arrays_init(to, from->count);
    for (int32_t i = 0; status == ASSAY_OK && i < from->count; ++i) {
        if (!from->data[i])
            continue;
        status = assay_arrays_add(to, i, from->size[i]);
        for (int64_t e = 0; status == ASSAY_OK && e < from->size[i]; ++e)
            to->data[i][e] = fabs(from->data[i][e]);
    }
    if (status != ASSAY_OK)
        assay_arrays_clear(to);
    return status;
}

assay_status assay_magnitudes(const assay_oracle_args *args, assay_oracle oracle,
                              assay_arrays *result) {
    assay_arrays in = {0}, cot = {0};
    assay_status status = arrays_abs(args->in, &in);
    if (status == ASSAY_OK && args->cot)
        status = arrays_abs(args->cot, &cot);
    if (status == ASSAY_OK) {
        assay_oracle_args twin = *args;
        twin.in = &in;
        twin.cot = &cot;
        status = oracle(&twin, result);
    }
    assay_arrays_clear(&in);
    assay_arrays_clear(&cot);
    return status;
}
