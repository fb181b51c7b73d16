/*
 * The baseline tier, for operators that ask for it, in bf16 and f16. There the bound must allow
 * every element the roundings of a long chain, and a kernel that loses accuracy everywhere could
 * hide below it. So a tensor as a whole may be no further from the oracle than twice v1's, and one
 * rounding of what is stored:
 *
 *     ‖got - want‖ <= 2 ‖v1 - want‖ + u ‖want‖
 *
 * A bad v1 loosens nothing: the bound of each element stands as it is. The comparison of two random
 * errors needs many of them: it is made for tensors of 64 elements and more, and for data whose
 * errors differ from element to element (normal, uniform, positive).
 */
#ifndef ASSAY_ENGINE_BASELINE_H
#define ASSAY_ENGINE_BASELINE_H

#include "assay/op.h"

#include <stdbool.h>

/* Whether the case has the tier, and a tensor of that dtype in it. */
bool baseline_applies(const assay_case *c);
bool baseline_holds(assay_dtype dtype);

typedef struct baseline {
    double error, allowed; /* L2 norms */
    bool kept;             /* true also where norms say nothing: few elements, an Inf, a NaN */
} baseline;

baseline baseline_compare(assay_dtype dtype, const double *got, const double *v1,
                          const double *want, int64_t count);

#endif
