/* Operators on rows: key `n`, the leading axes, and `d`, the length of the last one. */
#ifndef ASSAY_ORACLES_COMMON_ROWS_H
#define ASSAY_ORACLES_COMMON_ROWS_H

#include "assay/op.h"

/* The product of the leading axes; 1 if there are no such axes. */
int64_t rows_count(const assay_params *params);

/* Whether a tensor (n…, d) has axes and elements that can be counted. `op` names the operator. */
assay_status rows_legal(const char *op, const assay_params *params) ASSAY_MUST_CHECK;

/* A differentiable tensor (n…, d) of the case's dtype with scale 1, its last axis packed. */
assay_tensor_spec rows_spec(const char *name, const assay_params *params);

#endif
