/*
 * From how a kernel rounds to how far each element may be off.
 *
 * A computed sum whose terms each pass through at most h roundings differs from the exact one by at
 * most gamma_h · M, with gamma_h = h u / (1 - h u) and M no smaller than any partial sum. M = G,
 * the same sum over absolute values, is always right (Higham, Accuracy and Stability of Numerical
 * Algorithms, 2nd ed., sections 3.1 and 4.2). A sum of h products has depth h in whatever order it
 * is taken.
 *
 * With random data the rounding errors are independent. Each is at most u·M and of mean zero, so
 * uniform at worst: their sum has a standard deviation of at most √(h/3)·u·M. 4·√h·u·M is 6.9 of
 * those (a probability of 5e-12 for an element), and from h = 17 on it is the smaller of the two
 * (Higham and Mary, A new approach to probabilistic rounding error analysis, SISC 41, 2019).
 *
 * When the terms also have random signs, partial sums are random walks: with V the same sum over
 * squares, √V is their standard deviation, and 4·√V may stand for M where it is smaller than G. By
 * Cauchy-Schwarz it never is for 16 terms or fewer.
 */
#ifndef ASSAY_ORACLES_BOUND_H
#define ASSAY_ORACLES_BOUND_H

#include "assay/op.h"

/* How a computation in `dtype` rounds on data of that fill. */
assay_rounding assay_rounding_of(assay_dtype dtype, assay_fill fill);

/* phi(h): the factor on M for sums of depth h, the oracle's own fp64 rounding included, because a
 * kernel is compared with the oracle's computed value and not with the exact one. */
double assay_accumulation(const assay_rounding *r, double depth);

/* Two stages one after the other: (1 + a)(1 + b) - 1. */
double assay_compound(double a, double b);

/* The bound of one element: accumulation phi·M, then rounding of the stored value, then underflow
 * of any of its `depth` operations. */
double assay_bound_element(const assay_rounding *r, double phi, double depth, double magnitude,
                           double want);

/* The `why` line of a sum of depth h whose terms are called `term`. */
void assay_why_sum(const assay_rounding *r, double depth, const char *term, char why[ASSAY_WHY]);

/* What M is under `r`, for other `why` lines. */
const char *assay_why_magnitude(const assay_rounding *r);

assay_status assay_bounds_init(assay_bounds *bounds, int32_t count) ASSAY_MUST_CHECK;
void assay_bounds_clear(assay_bounds *bounds);

/* M of every result of a multilinear operator: its own oracle on the absolute values of inputs and
 * cotangents gives G, on their squares V. */
assay_status assay_magnitudes(const assay_oracle_args *args, const assay_rounding *r,
                              assay_oracle oracle, assay_arrays *result) ASSAY_MUST_CHECK;

#endif
