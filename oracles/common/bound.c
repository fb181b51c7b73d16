#include "oracles/common/bound.h"

#include "core/parallel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* See bound.h: standard deviations, of the sum of rounding errors (√3 to each) and of a walk. */
static const double independence = 4.0;
static const double excursion = 4.0;

/* Independent elements of like size, so that roundings are independent and no few terms make a sum;
 * except for what a non-finite element reaches, where no bound counts. */
static bool is_random(assay_fill fill) {
    switch (fill) {
    case ASSAY_FILL_EXACT:
    case ASSAY_FILL_GOLDEN:
    case ASSAY_FILL_WIDE:
    case ASSAY_FILL_DENORMAL:
    case ASSAY_FILL_MIXED:
    case ASSAY_FILL_SINGLE:
    case ASSAY_FILL_CONSTANT:
    case ASSAY_FILL_ROWS:
    case ASSAY_FILL_REPEAT:
        return false;
    default:
        return true;
    }
}

static bool has_random_signs(assay_fill fill) {
    return is_random(fill) && fill != ASSAY_FILL_POSITIVE && fill != ASSAY_FILL_NEGATIVE &&
           fill != ASSAY_FILL_CANCEL;
}

assay_rounding assay_rounding_of(assay_dtype stored, assay_math math, assay_fill fill) {
    const assay_dtype accumulator = stored == ASSAY_F64 ? ASSAY_F64 : ASSAY_F32;
    const bool tf32 = stored == ASSAY_F32 && math == ASSAY_TF32;
    return (assay_rounding){
        .u = assay_dtype_unit(accumulator),
        .u_out = stored == accumulator ? 0.0 : assay_dtype_unit(stored),
        .tiny = fmax(assay_dtype_denorm_min(accumulator), assay_dtype_denorm_min(stored)),
        .independent = is_random(fill),
        .zero_mean = has_random_signs(fill),
        .tensor_core = tf32 || assay_dtype_size(stored) < sizeof(float),
        .product = tf32 ? 0x1p-9 : 0.0,
    };
}

/* h u / (1 - n h u). Where that is no bound any more, what it bounds: h u (1 + u)^(n h), which is
 * finite, and says that a sum of that many terms may be anything up to many times M. */
static double gamma_of(double h, double n, double u) {
    return 2 * n * h * u < 1 ? h * u / (1 - n * h * u) : h * u * exp(fmin(n * h * u, 600));
}

static bool statistical(const assay_rounding *r, double h, double n, double u) {
    return r->independent && independence * sqrt(h) * u < gamma_of(h, n, u);
}

static double phi(const assay_rounding *r, double h, double n, double u) {
    return statistical(r, h, n, u) ? independence * sqrt(h) * u : gamma_of(h, n, u);
}

double assay_accumulation(const assay_rounding *r, double depth) {
    return phi(r, depth, 1, r->u) + phi(r, depth, 1, assay_dtype_unit(ASSAY_F64));
}

double assay_walk(double sum, double squares) {
    const double normal = 0x1p-960;
    return squares >= normal ? fmin(sum, excursion * sqrt(squares)) : sum;
}

/* ---- passes of products ---- */

enum { SHORTEST_STEP = 8 };

/* What a pass on tensor cores may be off, in u·M. */
static double tensor_core_depth(double products) {
    return products / 2 + 2 * ceil(products / SHORTEST_STEP) + 1;
}

/* Whether tensor cores are the worse of the places where a pass may run. */
static bool truncation_leads(const assay_rounding *r, double products, double passes) {
    return r->tensor_core &&
           gamma_of(tensor_core_depth(products), passes, r->u) > phi(r, products + 1, passes, r->u);
}

double assay_product_error(const assay_rounding *r, double products, double passes, double running,
                           double product) {
    const double cut = r->product * passes * product;
    const double oracle = phi(r, products + 1, passes, assay_dtype_unit(ASSAY_F64));
    const double kernel = truncation_leads(r, products, passes)
                              ? gamma_of(tensor_core_depth(products), passes, r->u)
                              : phi(r, products + 1, passes, r->u);
    return (kernel * (1 + r->product) + oracle) * running + cut;
}

void assay_why_product(const assay_rounding *r, double products, double passes, const char *term,
                       const char *running, char why[ASSAY_WHY]) {
    const double h = products + 1;
    char rule[48];
    if (truncation_leads(r, products, passes))
        snprintf(rule, sizeof rule, "tensor cores %.6g*u", tensor_core_depth(products));
    else
        snprintf(rule, sizeof rule, "h=%.0f, %s", h,
                 statistical(r, h, passes, r->u) ? "4*sqrt(h)*u" : "h*u/(1-n*h*u)");
    snprintf(why, ASSAY_WHY, "sum of %s, n=%.0f passes over %s: %s, %s, u = 2^%.0f%s%s", term,
             passes, running, rule, assay_why_magnitude(r), log2(r->u),
             r->product > 0 ? ", operands cut: 2^-9*n*M" : "",
             r->u_out > 0 ? ", then rounded to the stored type" : "");
}

double assay_compound(double a, double b) {
    return a + b + a * b;
}

double assay_underflow(const assay_rounding *r) {
    const double fp64 = assay_dtype_unit(ASSAY_F64);
    return assay_dtype_denorm_min(r->u == fp64 ? ASSAY_F64 : ASSAY_F32);
}

double assay_bound_element(const assay_rounding *r, double factor, double depth, double magnitude,
                           double want) {
    const double accumulated = factor * magnitude + depth * assay_underflow(r);
    const double stored = r->u_out > 0 ? r->u_out * (fabs(want) + accumulated) + r->tiny : 0.0;
    return accumulated + stored;
}

const char *assay_why_magnitude(const assay_rounding *r) {
    return r->zero_mean ? "M = min(sum of |terms|, 4*sqrt(sum of squared terms))"
                        : "M = sum of |terms|";
}

void assay_why_sum(const assay_rounding *r, double depth, const char *term, char why[ASSAY_WHY]) {
    const char *rule = statistical(r, depth, 1, r->u) ? "4*sqrt(h)*u*M" : "gamma_h*M";
    snprintf(why, ASSAY_WHY, "sum of %s, h=%.0f roundings in any order: %s, %s, u = 2^%.0f%s", term,
             depth, rule, assay_why_magnitude(r), log2(r->u),
             r->u_out > 0 ? ", then rounded to the stored type" : "");
}

assay_status assay_bounds_init(assay_bounds *bounds, int32_t count) {
    *bounds = (assay_bounds){0};
    const assay_status status = assay_arrays_init(&bounds->element, count);
    if (status != ASSAY_OK)
        return status;
    bounds->why = calloc((size_t)count + 1, sizeof *bounds->why);
    bounds->outside = calloc((size_t)count + 1, sizeof *bounds->outside);
    bounds->nan_too = calloc((size_t)count + 1, sizeof *bounds->nan_too);
    bounds->any_infinity = calloc((size_t)count + 1, sizeof *bounds->any_infinity);
    if (!bounds->why || !bounds->outside || !bounds->nan_too || !bounds->any_infinity) {
        assay_bounds_clear(bounds);
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for %d bounds", count);
    }
    return ASSAY_OK;
}

assay_status assay_bounds_allow_nan(assay_bounds *bounds, int32_t i) {
    const int64_t count = bounds->element.size[i];
    if (bounds->nan_too[i])
        return ASSAY_OK;
    bounds->nan_too[i] = calloc((size_t)count + 1, sizeof **bounds->nan_too);
    if (bounds->nan_too[i])
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_MEMORY, "out of memory for marks of %lld elements",
                      (long long)count);
}

void assay_bounds_clear(assay_bounds *bounds) {
    for (int32_t i = 0; bounds->nan_too && i < bounds->element.count; ++i)
        free(bounds->nan_too[i]);
    free(bounds->nan_too);
    free(bounds->any_infinity);
    assay_arrays_clear(&bounds->element);
    free(bounds->why);
    free(bounds->outside);
    *bounds = (assay_bounds){0};
}

static double square(double v) {
    return v * v;
}

typedef struct mapping {
    double (*f)(double); /* NULL: elements stay what they are */
    const double *from;
    double *to;
} mapping;

static void map_piece(void *context, int64_t first, int64_t last) {
    const mapping *m = context;
    for (int64_t e = first; e < last; ++e)
        m->to[e] = m->f ? m->f(m->from[e]) : m->from[e];
}

/* Indices stay what they are. */
static assay_status map(const assay_tensor_spec *specs, const assay_arrays *from,
                        double (*f)(double), assay_arrays *to) {
    assay_status status = assay_arrays_init(to, from->count);
    for (int32_t i = 0; status == ASSAY_OK && i < from->count; ++i) {
        if (!from->data[i])
            continue;
        status = assay_arrays_add(to, i, from->size[i]);
        mapping m = {specs[i].dtype == ASSAY_I32 ? NULL : f, from->data[i], to->data[i]};
        if (status == ASSAY_OK)
            assay_parallel(from->size[i], map_piece, &m);
    }
    return status;
}

/* The oracle on f of every input and cotangent. */
static assay_status run_mapped(const assay_oracle_args *args, double (*f)(double),
                               assay_oracle oracle, assay_arrays *result) {
    assay_arrays in = {0}, cot = {0};
    assay_status status = map(args->sig->in, args->in, f, &in);
    if (status == ASSAY_OK && args->cot)
        status = map(args->sig->out, args->cot, f, &cot);
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

typedef struct walk {
    double *sum;
    const double *squares;
} walk;

static void walk_piece(void *context, int64_t first, int64_t last) {
    const walk *w = context;
    for (int64_t e = first; e < last; ++e)
        w->sum[e] = assay_walk(w->sum[e], w->squares[e]);
}

/* Lowers each magnitude to what a random walk of the same terms reaches. */
static assay_status lower_to_walk(const assay_oracle_args *args, assay_oracle oracle,
                                  assay_arrays *result) {
    assay_arrays squares = {0};
    assay_status status = assay_arrays_init(&squares, result->count);
    for (int32_t i = 0; status == ASSAY_OK && i < result->count; ++i)
        if (result->data[i])
            status = assay_arrays_add(&squares, i, result->size[i]);
    if (status == ASSAY_OK)
        status = run_mapped(args, square, oracle, &squares);
    for (int32_t i = 0; status == ASSAY_OK && i < result->count; ++i) {
        walk w = {result->data[i], squares.data[i]};
        if (result->data[i])
            assay_parallel(result->size[i], walk_piece, &w);
    }
    assay_arrays_clear(&squares);
    return status;
}

assay_status assay_magnitudes(const assay_oracle_args *args, const assay_rounding *r,
                              assay_oracle oracle, assay_arrays *result) {
    const assay_status status = run_mapped(args, fabs, oracle, result);
    return status == ASSAY_OK && r->zero_mean ? lower_to_walk(args, oracle, result) : status;
}
