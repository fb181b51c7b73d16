/*
 * The baseline tier. A bound must allow every element the roundings of a long chain, and a kernel
 * that loses accuracy everywhere could hide below it: in f32, products of two bf16 digits pass
 * every bound from 512 terms on. So there is a bound for the tensor as a whole: it may be no
 * further from the oracle than twice v1's, whose sums are plain chains, and one rounding of the
 * stored values:
 *
 *     ‖got - want‖ <= max(f ‖v1 - want‖ + u ‖want‖, f ‖bound‖ / C),      f = max(2, exp(6/√n))
 *
 * The second holds where v1 is right by luck: errors that are shared by a whole row make a few
 * random numbers of a large tensor. Of random data a plain chain of K products is off by 0.28 √K u
 * times the root of the sum of squares, 1/57 of its bound, so C is 64 for data of random signs in
 * f32. In f64 it is 32, because the oracle is off as well, and often just as v1. It is 16 for other
 * data, because a chain of these is off by up to 1/12 of its bound. It is also 16 where results are
 * stored in 16 bits and operands are rounded.
 *
 * f allows for luck of another kind. The errors of two right kernels are two draws from one
 * distribution. With n independent numbers in each, the logarithm of the ratio of their norms has a
 * standard deviation of 1/√n. f is 2 from n = 75 on, and 6 deviations below. The bound takes part
 * because v1 may be exactly right, where terms cancel in its order of them and in no other order. n
 * is the number of rows that matter, in the tensor that has fewest. For a tensor of one axis, and
 * for an output without a cotangent, n is the number of its elements if that is smaller. Rows that
 * are copies of each other have one error: where a tensor that is given has such rows, n is at most
 * the number of its kinds. A bad v1 loosens nothing: each element's bound stands.
 *
 * Some results jump, as AdamW's step does when a gradient changes its sign. Then a kernel whose
 * gradients are off by 2/C of their bounds moves elements by their whole bound, and v1 moves other
 * elements than the next kernel does. These are the elements of which roundings an eighth as large
 * (assay/usual.h) leave more than half of the bound. They may be off by that: its norm is added to
 * ‖bound‖ / C.
 *
 * math=tf32 has no such tier: v1 computes in fp32 there, which is no measure of cut operands.
 */
#ifndef ASSAY_ENGINE_BASELINE_H
#define ASSAY_ENGINE_BASELINE_H

#include "assay/problem.h"

#include <stdbool.h>

/* Whether the case has the tier. */
bool baseline_applies(const assay_case *c);

/* The fewest rows that matter in a tensor of two axes or more: a row counts by its share in the sum
 * of the squared bounds. No more than kinds of rows in an input or cotangent that has copies. */
double baseline_rows(const assay_problem *p, const assay_reference *ref);

/* n of one tensor, from that. */
double baseline_rows_of(const assay_tensor_spec *spec, const double *bound, double rows);

/* C */
double baseline_share(const assay_case *c);

typedef struct baseline {
    double error, allowed; /* L2 norms */
    bool kept;             /* true also where norms say nothing: data that are not finite, results
                              that are nearly subnormal, and lose by underflow */
} baseline;

/* `jump`: baseline_jumps(), or NULL: no result jumps. */
baseline baseline_compare(assay_dtype dtype, const double *got, const double *v1,
                          const double *want, const double *bound, const double *jump,
                          int64_t count, double rows, double share);

/* For one tensor: the bounds of roundings that are baseline_usual of their largest values, at
 * elements where these are more than half of the bound; 0 at all others. NULL: no memory. Freed by
 * the caller. */
extern const double baseline_usual;
double *baseline_jumps(const double *bound, const double *usual, int64_t count) ASSAY_MUST_CHECK;

#endif
