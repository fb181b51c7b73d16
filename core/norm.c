#include "core/norm.h"

#include "assay/compare.h"

#include <math.h>

/* Scaled values stay below 2^400, so 2^223 squares fit; a value that underflows is
 * too small to count beside the value that set the scale. */
static const double headroom = 0x1p400;
enum { EXPONENT_MIN = -1022, EXPONENT_MAX = 1022 };

static void kahan_add(double *sum, double *lost, double term) {
    const double corrected = term - *lost;
    const double next = *sum + corrected;
    *lost = (next - *sum) - corrected;
    *sum = next;
}

static void rescale_to(assay_norms *n, int exponent) {
    const int shift = n->exponent - exponent;
    n->sum = ldexp(n->sum, shift);
    n->sum_lost = ldexp(n->sum_lost, shift);
    n->squares = ldexp(n->squares, 2 * shift);
    n->squares_lost = ldexp(n->squares_lost, 2 * shift);
    n->exponent = exponent;
    n->inverse = ldexp(1, -exponent);
    n->started = true;
}

static void rescale(assay_norms *n, double v) {
    int exponent;
    frexp(v, &exponent);
    exponent = exponent < EXPONENT_MIN ? EXPONENT_MIN : exponent;
    rescale_to(n, exponent > EXPONENT_MAX ? EXPONENT_MAX : exponent);
}

void assay_norms_join(assay_norms *n, const assay_norms *next) {
    n->nan |= next->nan;
    n->infinite |= next->infinite;
    n->max = next->max > n->max ? next->max : n->max;
    if (!next->started)
        return;
    assay_norms add = *next;
    if (!n->started || add.exponent > n->exponent)
        rescale_to(n, add.exponent);
    else
        rescale_to(&add, n->exponent);
    kahan_add(&n->sum, &n->sum_lost, add.sum);
    kahan_add(&n->sum, &n->sum_lost, -add.sum_lost);
    kahan_add(&n->squares, &n->squares_lost, add.squares);
    kahan_add(&n->squares, &n->squares_lost, -add.squares_lost);
}

void assay_norms_add(assay_norms *n, double v) {
    v = fabs(v);
    if (isnan(v)) {
        n->nan = true;
        return;
    }
    n->max = v > n->max ? v : n->max;
    if (isinf(v)) {
        n->infinite = true;
        return;
    }
    if (v == 0)
        return;
    if (!n->started || v * n->inverse > headroom)
        rescale(n, v);
    const double scaled = v * n->inverse;
    kahan_add(&n->sum, &n->sum_lost, scaled);
    kahan_add(&n->squares, &n->squares_lost, scaled * scaled);
}

double assay_norms_l2(const assay_norms *n) {
    if (n->nan)
        return NAN;
    return n->infinite ? INFINITY : ldexp(sqrt(n->squares), n->exponent);
}

/* The quotient of two norms, mantissas and powers of two apart, so that neither overflows. */
static double quotient(const assay_norms *a, double a_mantissa, const assay_norms *b,
                       double b_mantissa) {
    if (a->nan || b->nan)
        return NAN;
    if (a->infinite)
        return INFINITY;
    if (a_mantissa == 0 || b->infinite)
        return 0;
    if (b_mantissa == 0)
        return INFINITY;
    return ldexp(a_mantissa / b_mantissa, a->exponent - b->exponent);
}

double assay_norms_ratio_l1(const assay_norms *a, const assay_norms *b) {
    return quotient(a, a->sum, b, b->sum);
}

double assay_norms_ratio_l2(const assay_norms *a, const assay_norms *b) {
    return quotient(a, sqrt(a->squares), b, sqrt(b->squares));
}

double assay_norms_ratio_linf(const assay_norms *a, const assay_norms *b) {
    return quotient(a, a->max * a->inverse, b, b->max * b->inverse);
}

double assay_norm2(const double *v, int64_t count) {
    assay_norms n = {0};
    for (int64_t i = 0; i < count; ++i)
        assay_norms_add(&n, v[i]);
    return assay_norms_l2(&n);
}

double assay_distance2(const double *a, const double *b, int64_t count) {
    assay_norms n = {0};
    for (int64_t i = 0; i < count; ++i)
        assay_norms_add(&n, a[i] - b[i]);
    return assay_norms_l2(&n);
}
