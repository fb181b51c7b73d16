/*
 * Where a definition ends. A sum whose terms are together larger than the accumulator's largest
 * number, or a square of a number beyond its root, may overflow inside a right kernel, although the
 * exact result is a number: such a tensor is outside of the definition (assay_bounds), and the
 * operator's `outside` says which intermediate result it is.
 *
 * Magnitudes are made of the largest elements, and so are no smaller than what is really formed.
 */
#ifndef ASSAY_ORACLES_COMMON_RANGE_H
#define ASSAY_ORACLES_COMMON_RANGE_H

#include "assay/op.h"

/* The largest finite absolute value of tensor i; 0 where it has none. */
double range_largest(const assay_arrays *arrays, int32_t i);

/* What the largest of `terms` products of two such numbers sum up to. No data say more than
 * absolute values do: signs that are random leave partial sums of their terms' root. */
double range_of_sum(const assay_rounding *r, double terms, double product);

/* Says that tensor i is outside if `magnitude`, that of what is called `what`, may overflow the
 * accumulator; `dtype`: that type. */
void range_hold(const assay_rounding *r, double magnitude, const char *what, assay_bounds *bounds,
                int32_t i);
void range_hold_in(assay_dtype dtype, double magnitude, const char *what, assay_bounds *bounds,
                   int32_t i);

#endif
