/* Bounds of usual errors: a share of the largest errors that a right kernel may have. */
#ifndef ASSAY_USUAL_H
#define ASSAY_USUAL_H

#include "assay/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As assay_reference_init(), but with each rounding error that share of its largest value. Where a
 * result is smooth, its bound shrinks by the same share. Where a result jumps, as AdamW's step does
 * when a gradient changes its sign, the bound may stay as large as before. Not for fill=exact. */
assay_status assay_reference_init_usual(assay_reference *r, const assay_problem *p,
                                        double share) ASSAY_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
