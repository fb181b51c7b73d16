/* Counting an operator's work (assay_op.work). */
#ifndef ASSAY_ORACLES_COMMON_WORK_H
#define ASSAY_ORACLES_COMMON_WORK_H

#include "assay/op.h"

/* Of all elements of a tensor, without padding. */
double work_bytes(const assay_tensor_spec *spec);

#endif
