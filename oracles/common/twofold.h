/*
 * Sums as if in twice the precision of fp64, then rounded (Sum2 and Dot2 of Ogita, Rump, Oishi,
 * Accurate sum and dot product, SISC 26, 2005): for values that are compared in fp64, or must come
 * out equal. Start from {0}.
 */
#ifndef ASSAY_ORACLES_COMMON_TWOFOLD_H
#define ASSAY_ORACLES_COMMON_TWOFOLD_H

#include <math.h>

typedef struct twofold {
    double high, low;
} twofold;

static inline void twofold_add(twofold *sum, double x) {
    const double high = sum->high + x, part = high - sum->high;
    sum->low += (sum->high - (high - part)) + (x - part);
    sum->high = high;
}

static inline void twofold_add_product(twofold *sum, double a, double b) {
    const double product = a * b;
    sum->low += fma(a, b, -product);
    twofold_add(sum, product);
}

/* Where the sum is not finite, its low part is NaN. */
static inline double twofold_value(twofold sum) {
    return isfinite(sum.high) ? sum.high + sum.low : sum.high;
}

#endif
