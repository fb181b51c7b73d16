/* Running L1, L2 and L∞ norms, safe from overflow and underflow on the way. */
#ifndef ASSAY_CORE_NORM_H
#define ASSAY_CORE_NORM_H

#include <stdbool.h>

/* Σ|v| = sum · 2^exponent and Σv² = squares · 4^exponent, each with its Kahan compensation. Start
 * from {0}. */
typedef struct assay_norms {
    int exponent;
    bool started, nan, infinite;
    double inverse; /* 2^-exponent */
    double sum, sum_lost, squares, squares_lost;
    double max;
} assay_norms;

void assay_norms_add(assay_norms *n, double v);
/* Adds what `next` has summed. */
void assay_norms_join(assay_norms *n, const assay_norms *next);
double assay_norms_l2(const assay_norms *n);

/* ‖a‖ / ‖b‖: 0 when a is 0, infinite when only b is, or a is infinite. */
double assay_norms_ratio_l1(const assay_norms *a, const assay_norms *b);
double assay_norms_ratio_l2(const assay_norms *a, const assay_norms *b);
double assay_norms_ratio_linf(const assay_norms *a, const assay_norms *b);

#endif
