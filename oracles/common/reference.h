/* Shared by the makers of references. */
#ifndef ASSAY_ORACLES_COMMON_REFERENCE_H
#define ASSAY_ORACLES_COMMON_REFERENCE_H

#include "assay/problem.h"

/* All arrays of the answers and of their bounds, zeroed; cleared by assay_reference_clear(), also
 * after an error. */
assay_status reference_allocate(assay_reference *r, const assay_problem *p) ASSAY_MUST_CHECK;

/* Clears the bounds of answers that are not finite, and says where the operator's definition ends,
 * or has two answers. */
assay_status reference_limit(assay_reference *r, const assay_problem *p,
                             const assay_rounding *rounding) ASSAY_MUST_CHECK;

#endif
