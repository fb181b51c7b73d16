/* Bounds of a training: of the loss of each step, and of the parameters after the last. */
#ifndef ASSAY_ORACLES_TRANSFORMER_TRAINING_BOUND_H
#define ASSAY_ORACLES_TRANSFORMER_TRAINING_BOUND_H

#include "assay/op.h"

assay_status transformer_training_bound(const assay_oracle_args *args, const assay_rounding *r,
                                        const assay_arrays *want, assay_bounds *bounds);

#endif
