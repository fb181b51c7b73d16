/* Checks one metamorphic relation (relation.h) of one variant on one case. */
#ifndef ASSAY_ENGINE_RELATIONS_H
#define ASSAY_ENGINE_RELATIONS_H

#include "assay/device.h"
#include "assay/relation.h"
#include "assay/verdict.h"
#include "engine/check.h"

typedef struct assay_relation_report {
    assay_verdict verdict;
    char tensor[ASSAY_TENSOR_NAME + 1]; /* of which bits differ */
    char reason[ASSAY_REASON];          /* which tensor, where, by how much; "" for a pass */
    assay_failure failure;              /* of what kind an error is */
} assay_relation_report;

/* Whether the relation says anything of the case; no relation does if data are not finite. */
bool relation_applies(const assay_relation *relation, const assay_case *c);

/* Returns an error only for trouble outside the variant (memory, golden file). */
assay_status assay_check_relation(const assay_relation *relation, const assay_case *c,
                                  const assay_device *device, const assay_variant *variant,
                                  assay_relation_report *report) ASSAY_MUST_CHECK;

/* Runs `c` twice under each schedule of the simulated device (twice on others): every bit of every
 * result must be the same. A variant whose sums have any order is not tested: a skip. */
assay_status assay_check_determinism(const assay_case *c, const assay_device *device,
                                     const assay_variant *variant,
                                     assay_relation_report *report) ASSAY_MUST_CHECK;

/* Runs `c` on two devices and compares every bit; variants of one name, one for each. Where the
 * simulated device is one of them it is `a`: it plans as `b` does. */
assay_status assay_check_same_bits(const assay_case *c, const assay_device *a_device,
                                   const assay_variant *a, const assay_device *b_device,
                                   const assay_variant *b,
                                   assay_relation_report *report) ASSAY_MUST_CHECK;

/* Runs the problem once more, under the next schedule, and compares every bit with the first run's
 * results. */
assay_status assay_check_repeat(const assay_problem *p, const assay_results *first,
                                const assay_device *device, const assay_variant *variant,
                                assay_relation_report *report) ASSAY_MUST_CHECK;

#endif
