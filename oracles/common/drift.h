/*
 * The error of a long running sum of terms of one sign, beside the walk of bound.h.
 *
 * A walk needs rounding errors of mean zero. A sum lies on the grid g of its binade. A term x that
 * is added to it leaves the error r_g(x) = g·rint(x/g) - x, which depends on x alone: if x comes
 * again, so does r_g(x); if many terms are below g/2, all of them are lost. In any order that does
 * not depend on the values, the terms that meet a grid are a sample of all terms. So one running
 * sum drifts by about the largest |Σ_j r_g(x_j)| over the grids that it passes, and many shorter
 * sums drift by less. A grid so fine that h roundings on it are less than a quarter of the walk is
 * left out. If all terms are different and of like size, the drift is close to 0.
 *
 * Terms of a small sum are lifted by a power of two, so that neither a grid nor its inverse leaves
 * fp64's normal numbers. Each term then lies on any grid below fp64's least number, and drifts by
 * 0.
 *
 * (Stagnation, where it is worst: Connolly, Higham and Mary, Stochastic rounding and its
 * probabilistic backward error analysis, SISC 43, 2021.)
 */
#ifndef ASSAY_ORACLES_COMMON_DRIFT_H
#define ASSAY_ORACLES_COMMON_DRIFT_H

#include "assay/op.h"

#include <math.h>
#include <string.h>

#if defined(__CUDACC__)
#define DRIFT_FN static inline __host__ __device__
#else
#define DRIFT_FN static inline
#endif

enum { DRIFT_GRIDS = 16 };

typedef struct assay_drift {
    int32_t grids;           /* 0: no term is looked at */
    double lift;             /* of terms, grids and `off` */
    double coarsest;         /* grid i is 2^-i of it */
    double off[DRIFT_GRIDS]; /* Σ r_g(x) of the terms so far */
} assay_drift;

/* For `terms` of which the sum is about `sum`, added with unit roundoff u as independent errors:
 * where they are not, the bound is linear in their number, and has room for any drift. */
DRIFT_FN assay_drift drift_begin(bool independent, double u, double terms, double sum) {
    assay_drift d;
    memset(&d, 0, sizeof d);
    d.lift = 1;
    if (!independent || !(sum > 0 && sum < (double)INFINITY))
        return d;
    if (sum < 0x1p-800)
        d.lift = 0x1p200;
    sum *= d.lift;
    d.coarsest = 2 * exp2(floor(log2(u)) + floor(log2(sum))); /* u may have an oracle's added */
    for (double grid = d.coarsest;
         d.grids < DRIFT_GRIDS && terms * grid / 2 > sqrt(terms) * u * sum; grid /= 2)
        ++d.grids;
    return d;
}

DRIFT_FN void drift_add(assay_drift *d, double term) {
    double grid = d->coarsest, inverse = 1 / d->coarsest;
    term *= d->lift;
    for (int32_t i = 0; i < d->grids; ++i) {
        d->off[i] += rint(term * inverse) * grid - term;
        grid /= 2;
        inverse *= 2;
    }
}

/* How far the sum may be off, beside the walk. */
DRIFT_FN double drift_of(const assay_drift *d) {
    double most = 0;
    for (int32_t i = 0; i < d->grids; ++i)
        most = fmax(most, fabs(d->off[i]));
    return most / d->lift;
}

#endif
