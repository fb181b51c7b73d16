/*
 * Where a definition ends. A sum whose terms are together larger than the accumulator's largest
 * number, or a square of a number beyond its root, may overflow inside a right kernel, although the
 * exact result is a number: such a tensor is outside of the definition (assay_bounds), and the
 * operator's `outside` says which intermediate result it is.
 *
 * Magnitudes are made of the largest elements, so they are no smaller than the numbers that a
 * kernel forms.
 */
#ifndef ASSAY_ORACLES_COMMON_RANGE_H
#define ASSAY_ORACLES_COMMON_RANGE_H

#include "assay/op.h"

/*
 * Words of a set's group that take an operand through its dtype's range. A kernel and its bound
 * form powers of an element up to the fourth. For each power, one exponent puts it in the middle of
 * the subnormal numbers, one makes it normal but its rounding errors subnormal, and one makes it
 * overflow. Kernels for f32, bf16 and f16 compute in fp32, so there are exponents for fp64 and for
 * fp32.
 */
#define RANGE_F64                                                                                  \
    "exponent=-1074,-1050,-1022,-990,-900,-600,-525,-500,-490,-400,-350,-330,-300,-262,-250,"      \
    "-140,140,250,260,300,340,345,490,505,515,700,1000,1023,1100"
#define RANGE_F32                                                                                  \
    "exponent=-149,-140,-126,-110,-100,-75,-70,-57,-50,-46,-38,-35,-28,-20,20,30,35,45,50,63,"     \
    "75,100,120,127,200"
#define RANGE_F16 "exponent=-24,-20,-14,-8,4,8,12,15,30"

/* The largest finite absolute value of tensor i; 0 where it has no finite value. */
double range_largest(const assay_arrays *arrays, int32_t i);

/* The largest sum of `terms` products of two such numbers: where signs are random, at most 4 √terms
 * of them. */
double range_of_sum(const assay_rounding *r, double terms, double product);

/* Says that tensor i is outside if `magnitude` may overflow the accumulator, whose type is `dtype`.
 * `what` names the quantity of that magnitude. */
void range_hold(const assay_rounding *r, double magnitude, const char *what, assay_bounds *bounds,
                int32_t i);
void range_hold_in(assay_dtype dtype, double magnitude, const char *what, assay_bounds *bounds,
                   int32_t i);

#endif
