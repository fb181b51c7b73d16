/* The baseline tier (baseline.h) of one problem, for everything that judges its tensors. */
#ifndef ASSAY_ENGINE_BASELINE_TIER_H
#define ASSAY_ENGINE_BASELINE_TIER_H

#include "assay/op.h"
#include "engine/baseline.h"

typedef struct baseline_tier {
    const assay_problem *p; /* the caller's, as long as this is used */
    double rows, share;     /* as baseline.h has them */
    assay_reference usual;  /* made when it is first asked for */
    bool has_usual;
} baseline_tier;

baseline_tier baseline_tier_of(const assay_problem *p, const assay_reference *ref);
void baseline_tier_clear(baseline_tier *t);

/* Tensor `i` of a stage's results, as `spec` has it: the kernel's, v1's and the oracle's. A tensor
 * that is further off than allowed is looked at again: whether results that jump are why. */
assay_status baseline_tier_compare(baseline_tier *t, assay_stage stage, int32_t i,
                                   const assay_tensor_spec *spec, const double *got,
                                   const double *v1, const double *want, const double *bound,
                                   int64_t count, baseline *b) ASSAY_MUST_CHECK;

#endif
