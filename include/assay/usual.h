/* Bounds of what errors usually come to, a share of what bounds allow for. */
#ifndef ASSAY_USUAL_H
#define ASSAY_USUAL_H

#include "assay/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As assay_reference_init(), but every rounding is that share of what it may be. Where a result is
 * smooth its bound is then that share as well; where it jumps, as a step of AdamW does where a
 * gradient's sign turns, it is up to the whole. Not for fill=exact. */
assay_status assay_reference_init_usual(assay_reference *r, const assay_problem *p,
                                        double share) ASSAY_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
