/*
 * Bounds by running error analysis (Wilkinson; Higham, Accuracy and Stability of Numerical
 * Algorithms, 2nd ed., section 3.3): a bound is the operator's own formula, written once more with
 * these functions in place of + - * / and exp. An `approx` is a number and how far a right kernel's
 * may lie from it. Each function takes its operands' errors through the operation, all orders of
 * them, and adds the operation's own rounding, and the oracle's in fp64.
 *
 *     y = exp(x) / sum exp(x)
 *
 *     approx_sum s = approx_sum_begin(r, n, about);
 *     for (j...) approx_sum_add(&s, approx_exp(r, approx_exact(x[j])));
 *     const approx sum = approx_sum_end(r, &s);
 *     bound[j] = approx_bound(r, approx_div(r, approx_exp(r, approx_exact(x[j])), sum), want[j]);
 *
 * A formula may hold only to first order, or for one order of the operations. The writer must allow
 * for the rest: take the worst form that a right kernel may have.
 */
#ifndef ASSAY_ORACLES_COMMON_APPROX_H
#define ASSAY_ORACLES_COMMON_APPROX_H

#include "oracles/common/bound.h"
#include "oracles/common/drift.h"

#include <math.h>

typedef struct approx {
    double value, error;
} approx;

/* ---- where numbers come from ---- */

/* An input, or a constant that every kernel has exactly. */
static inline approx approx_exact(double value) {
    return (approx){value, 0};
}

/* A number of that value that is off by `error` and then by `roundings` roundings. Infinities and
 * NaN are no approximations: where the formula has one, so have kernels. */
static inline approx approx_rounded(const assay_rounding *r, double value, double error,
                                    double roundings) {
    const double u = r->u + assay_dtype_unit(ASSAY_F64);
    if (!isfinite(value))
        return approx_exact(value);
    return (approx){value, error + roundings * u * (fabs(value) + error) + assay_underflow(r)};
}

/* It is stored in the case's dtype and read again: the outputs that backward gets. */
static inline approx approx_stored(const assay_rounding *r, approx a) {
    const double rest = r->u_out > 0 ? r->u_out * (fabs(a.value) + a.error) + r->tiny : 0;
    return (approx){a.value, a.error + rest};
}

/* ---- one operation each ---- */

static inline approx approx_add(const assay_rounding *r, approx a, approx b) {
    return approx_rounded(r, a.value + b.value, a.error + b.error, 1);
}

static inline approx approx_sub(const assay_rounding *r, approx a, approx b) {
    return approx_rounded(r, a.value - b.value, a.error + b.error, 1);
}

static inline approx approx_mul(const assay_rounding *r, approx a, approx b) {
    const double error = fabs(a.value) * b.error + fabs(b.value) * a.error + a.error * b.error;
    return approx_rounded(r, a.value * b.value, error, 1);
}

/* Two roundings: of a division, or of a reciprocal and a product. Inf where b may be 0. */
static inline approx approx_div(const assay_rounding *r, approx a, approx b) {
    const double value = a.value / b.value, least = fabs(b.value) - b.error;
    const double error = least > 0 ? (a.error + fabs(value) * b.error) / least : INFINITY;
    return approx_rounded(r, value, error, 2);
}

/* f(a) by a function that is right to `ulps`, with |f'| at most `slope` between any two values that
 * a may have. */
static inline approx approx_call(const assay_rounding *r, approx a, double value, double slope,
                                 double ulps) {
    return approx_rounded(r, value, a.error > 0 ? slope * a.error : 0, 2 * ulps);
}

/* 2 ulp; results below the smallest normal number may be 0. */
static inline approx approx_exp(const assay_rounding *r, approx a) {
    const double value = exp(a.value), normal = assay_underflow(r) / (2 * r->u);
    const double error = a.error <= 0  ? 0
                         : a.error < 1 ? value * expm1(a.error)
                                       : exp(a.value + a.error) - value;
    const approx result = approx_rounded(r, value, error, 4);
    return (approx){value, result.error + normal};
}

/* 2 ulp. Inf where a may be 0 or less. */
static inline approx approx_log(const assay_rounding *r, approx a) {
    const double least = a.value - a.error;
    return approx_call(r, a, log(a.value), least > 0 ? 1 / least : INFINITY, 2);
}

/* 1 / sqrt(a), of a root and a division, or right to 2 ulp. Inf where a may be 0. */
static inline approx approx_rsqrt(const assay_rounding *r, approx a) {
    const double least = a.value - a.error;
    return approx_call(r, a, 1 / sqrt(a.value), least > 0 ? 0.5 / (least * sqrt(least)) : INFINITY,
                       2);
}

/* 2 ulp. Its slope is at most 1 / cosh² of the value nearest 0. */
static inline approx approx_tanh(const assay_rounding *r, approx a) {
    const double nearest = fmax(fabs(a.value) - a.error, 0), root = 1 / cosh(nearest);
    return approx_call(r, a, tanh(a.value), root * root, 2);
}

/* The larger is chosen, not computed. */
static inline approx approx_max(approx a, approx b) {
    return (approx){fmax(a.value, b.value), fmax(a.error, b.error)};
}

/* ---- sums, in any order ---- */

typedef struct approx_sum {
    double value, magnitude, squares, errors, terms;
    assay_drift drift;
} approx_sum;

/* Of `terms` terms. `about`: the value of the sum where all terms have one sign; otherwise 0. */
static inline approx_sum approx_sum_begin(const assay_rounding *r, double terms, double about) {
    return (approx_sum){.terms = terms, .drift = drift_begin(r->independent, r->u, terms, about)};
}

static inline void approx_sum_add(approx_sum *s, approx term) {
    s->value += term.value;
    s->magnitude += fabs(term.value);
    s->squares += term.value * term.value;
    s->errors += term.error;
    drift_add(&s->drift, term.value);
}

/* A value that no partial sum exceeds. If the terms have random signs, partial sums are a walk
 * about their mean. */
static inline double approx_partial(const assay_rounding *r, double value, double magnitude,
                                    double squares) {
    return r->zero_mean ? fmin(magnitude, assay_walk(magnitude, squares) + fabs(value)) : magnitude;
}

/* The terms' errors add up; the errors of the additions are those of bound.h. */
static inline approx approx_sum_end(const assay_rounding *r, const approx_sum *s) {
    if (!isfinite(s->value))
        return approx_exact(s->value);
    const double m = approx_partial(r, s->value, s->magnitude, s->squares);
    const double added = assay_accumulation(r, s->terms) * (m + s->errors) + drift_of(&s->drift);
    return (approx){s->value, s->errors + added + s->terms * assay_underflow(r)};
}

/* A sum of k products of inputs, which may run on tensor cores: an element of a matrix product. */
static inline approx approx_dot(const assay_rounding *r, const double *a, int64_t a_stride,
                                const double *b, int64_t b_stride, int64_t k) {
    double value = 0, magnitude = 0, squares = 0;
    for (int64_t i = 0; i < k; ++i) {
        const double term = a[i * a_stride] * b[i * b_stride];
        value += term;
        magnitude += fabs(term);
        squares += term * term;
    }
    if (!isfinite(value))
        return approx_exact(value);
    const double m = approx_partial(r, value, magnitude, squares);
    const double error = assay_product_error(r, (double)k, 1, m, m);
    return (approx){value, error + (double)k * assay_underflow(r)};
}

/* ---- the bound ---- */

/* The bound of a stored element; `want` is the oracle's value. */
static inline double approx_bound(const assay_rounding *r, approx a, double want) {
    return assay_bound_element(r, 1, 1, a.error, want);
}

#endif
