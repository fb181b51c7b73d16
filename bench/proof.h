/* The checks that a variant must pass before it is timed. */
#ifndef ASSAY_BENCH_PROOF_H
#define ASSAY_BENCH_PROOF_H

#include "assay/device.h"
#include "assay/op.h"
#include "engine/scope.h"

/* Checks a variant on the cases of a set, within a scope; of one dtype, or of all where it is NULL.
 * *passed is how many passed; a case that the variant declines does not count. ASSAY_ERR_KERNEL
 * with the case and the reason as soon as one does not pass. */
assay_status bench_prove(const assay_op *op, assay_set set, check_scope scope,
                         const assay_dtype *dtype, const assay_device *device, const char *variant,
                         int32_t *passed) ASSAY_MUST_CHECK;

#endif
