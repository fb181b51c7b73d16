/*
 * How far each element may be off, derived from how a kernel rounds.
 *
 * A computed sum whose terms each pass through at most h roundings differs from the exact one by at
 * most gamma_h · M, with gamma_h = h u / (1 - h u) and M no smaller than any partial sum. M = G,
 * the same sum over absolute values, is always right (Higham, Accuracy and Stability of Numerical
 * Algorithms, 2nd ed., sections 3.1 and 4.2). A sum of h products has depth h in any order.
 *
 * With random data the rounding errors are independent. Each is at most u·M and of mean zero, so
 * uniform at worst: their sum has a standard deviation of at most √(h/3)·u·M. 4·√h·u·M is 6.9 of
 * those (a probability of 5e-12 for an element), and from h = 17 on it is the smaller of the two
 * (Higham and Mary, A new approach to probabilistic rounding error analysis, SISC 41, 2019).
 *
 * When the terms also have random signs, partial sums are random walks: with V the same sum over
 * squares, √V is their standard deviation, and 4·√V may stand for M where it is smaller than G. By
 * Cauchy-Schwarz it never is for 16 terms or fewer.
 *
 * Passes. A kernel may add the same product of k terms n times to a running sum. Its partial sums
 * in pass p are at most M_p, and each rounding errs by at most u·M_p. The passes' errors are not
 * independent of each other: the same terms on the same grid are rounded alike. So they add up
 * linearly, n passes of depth h = k + 1 are off by at most phi(h)·(M_1 + … + M_n), and second-order
 * terms make gamma_h,n = h u / (1 - n h u) of gamma_h. Scaling a product by n once is no worse.
 *
 * Tensor cores. One instruction takes the accumulator and s exact products, aligns these s + 1
 * addends to the largest exponent E, cuts each to a multiple of 2^(E - 25) toward zero, adds
 * exactly and rounds toward zero to fp32. (On Hopper; a product's exponent is the sum of its
 * factors'. It holds for bf16, fp16 and TF32.) The largest addend has at most 23 fractional bits
 * and is not cut; each of the others loses less than 2^(E - 25) <= (u/2)·M, and the result less
 * than 2u·M. Zeros lose nothing. k products in steps of s are off by at most
 * (k/2 + 2·ceil(k/s))·u·M: most with the shortest step, s = 8. All errors point toward zero, so
 * sqrt(h) does not hold, and they add up linearly. One more u·M adds the sum to another.
 *
 * TF32 operands lose 13 bits, cut or rounded: less than 2^-10 each, a product less than 2^-9, a sum
 * of products 2^-9·M. A walk stays a walk, because the loss does not depend on the operands' signs.
 */
#ifndef ASSAY_ORACLES_COMMON_BOUND_H
#define ASSAY_ORACLES_COMMON_BOUND_H

#include "assay/op.h"

/* 4·√V, but G where V, a sum of squares, is so small that they underflowed. */
double assay_walk(double sum, double squares);

/* How a computation in `dtype` rounds on data of that fill. TF32 is a mode of f32 alone. */
assay_rounding assay_rounding_of(assay_dtype dtype, assay_math math, assay_fill fill);

/* phi(h): the factor on M for sums of depth h, the oracle's own fp64 rounding included, because a
 * kernel is compared with the oracle's computed value and not with the exact one. */
double assay_accumulation(const assay_rounding *r, double depth);

/* How far `passes` passes of sums of `products` products each may be off, wherever they run, with
 * running = M_1 + … + M_n and `product` the M of the product alone. */
double assay_product_error(const assay_rounding *r, double products, double passes, double running,
                           double product);

/* The `why` line of such passes over `running` sums, a text, of terms called `term`. */
void assay_why_product(const assay_rounding *r, double products, double passes, const char *term,
                       const char *running, char why[ASSAY_WHY]);

/* Two stages one after the other: (1 + a)(1 + b) - 1. */
double assay_compound(double a, double b);

/* The largest loss of one operation by underflow: a subnormal of the accumulator. */
double assay_underflow(const assay_rounding *r);

/* The bound of one element: accumulation phi·M, underflow of any of its `depth` operations, then
 * rounding of the stored value, which may be subnormal in its own type. */
double assay_bound_element(const assay_rounding *r, double phi, double depth, double magnitude,
                           double want);

/* The `why` line of a sum of depth h whose terms are called `term`. */
void assay_why_sum(const assay_rounding *r, double depth, const char *term, char why[ASSAY_WHY]);

/* The name of M under `r`, for other `why` lines. */
const char *assay_why_magnitude(const assay_rounding *r);

assay_status assay_bounds_init(assay_bounds *bounds, int32_t count) ASSAY_MUST_CHECK;
void assay_bounds_clear(assay_bounds *bounds);

/* M of every result of a multilinear operator: its own oracle on the absolute values of inputs and
 * cotangents gives G, on their squares V. */
assay_status assay_magnitudes(const assay_oracle_args *args, const assay_rounding *r,
                              assay_oracle oracle, assay_arrays *result) ASSAY_MUST_CHECK;

#endif
