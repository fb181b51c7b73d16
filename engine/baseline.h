/*
 * The baseline tier, for operators that ask for it, in bf16 and f16. There the bound must allow
 * every element the roundings of a long chain, and a kernel that loses accuracy everywhere could
 * hide below it. So a tensor as a whole may be no further from the oracle than twice v1's, and one
 * rounding of what is stored:
 *
 *     ‖got - want‖ <= max(f ‖v1 - want‖ + u ‖want‖, f ‖bound‖ / 16),      f = max(2, exp(6/√n))
 *
 * The second holds where v1 is right by luck: errors that are shared by a whole row make a few
 * random numbers of a large tensor. So does f: of two right kernels the errors are two draws of one
 * distribution, and with n independent numbers in each the logarithm of the ratio of their norms
 * has a standard deviation of 1/√n. f is 2 from n = 75 on, and 6 deviations below; the bound takes
 * part, for v1 may be exactly right where terms cancel in its order of them and in no other. n are
 * the rows that matter in the tensor that has fewest. A bad v1 loosens nothing: each element's
 * bound stands.
 */
#ifndef ASSAY_ENGINE_BASELINE_H
#define ASSAY_ENGINE_BASELINE_H

#include "assay/problem.h"

#include <stdbool.h>

/* Whether the case has the tier, and a tensor of that dtype in it. */
bool baseline_applies(const assay_case *c);
bool baseline_holds(assay_dtype dtype);

/* The fewest rows that matter in a tensor that it holds, parameters of one axis aside: a row counts
 * by its share in the sum of the squared bounds. */
double baseline_rows(const assay_problem *p, const assay_reference *ref);

typedef struct baseline {
    double error, allowed; /* L2 norms */
    bool kept;             /* true also where norms say nothing: data that are not finite */
} baseline;

baseline baseline_compare(assay_dtype dtype, const double *got, const double *v1,
                          const double *want, const double *bound, int64_t count, double rows);

#endif
