/* Random legal cases of an operator. */
#ifndef ASSAY_ENGINE_RANDOM_H
#define ASSAY_ENGINE_RANDOM_H

#include "assay/op.h"

/* Limits of random cases: masks within the operator's own, and the multiply-adds of one case. */
typedef struct random_wish {
    unsigned dtypes, maths, fills;
    double budget;
    bool usual; /* attributes and layouts that are usual ones: for statistics of errors; otherwise
                   all that are legal (reach.h) */
} random_wish;

/* Everything that the operator has, some milliseconds each on the simulated device. */
random_wish random_any(const assay_op *op);

/* Case `index`, a function of the operator, the wish, `seed` and `index` alone.
 * ASSAY_ERR_UNSUPPORTED when it drew no case that the wish allows. */
assay_status random_case(const assay_op *op, const random_wish *wish, uint64_t seed, int64_t index,
                         assay_case *c) ASSAY_MUST_CHECK;

/* Hands over the cases 0..count-1. */
assay_status random_cases(const assay_op *op, uint64_t seed, int64_t count,
                          assay_case_visitor visit, void *context) ASSAY_MUST_CHECK;

/* Whether fill=exact has data for such a case: some shapes have no integers whose sums are exact.
 */
assay_status random_has_exact_data(const assay_op *op, const assay_params *params,
                                   bool *has) ASSAY_MUST_CHECK;

#endif
