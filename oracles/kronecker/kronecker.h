/* kronecker: what the files of its oracle share. oracles/kronecker/kronecker.c has the definition.
 */
#ifndef ASSAY_ORACLES_KRONECKER_KRONECKER_H
#define ASSAY_ORACLES_KRONECKER_KRONECKER_H

#include "assay/op.h"

enum { KRONECKER_KEY_B, KRONECKER_KEY_F, KRONECKER_KEY_Q, KRONECKER_KEY_LAYERS };
enum { KRONECKER_X, KRONECKER_FIRST_W };
enum { KRONECKER_Y };
enum {
    KRONECKER_MAX_FACTORS = 8,
    KRONECKER_MAX_LAYERS = 16,
    KRONECKER_MAX_STAGES = KRONECKER_MAX_LAYERS * KRONECKER_MAX_FACTORS,
};

/* One stage: in (left, p, right) -> out (left, q, right). */
typedef struct kronecker_stage {
    int32_t w; /* index of its factor among the inputs */
    int64_t left, p, q, right;
} kronecker_stage;

/* The stages of all layers in the order of their application; returns how many. */
int32_t kronecker_stages_of(const assay_params *params,
                            kronecker_stage stages[KRONECKER_MAX_STAGES]);

assay_status kronecker_forward(const assay_oracle_args *args, assay_arrays *result);
assay_status kronecker_backward(const assay_oracle_args *args, assay_arrays *result);
assay_status kronecker_forward_plain(const assay_oracle_args *args, assay_arrays *result);
assay_status kronecker_backward_plain(const assay_oracle_args *args, assay_arrays *result);

assay_status kronecker_forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                     const assay_arrays *want, assay_bounds *bounds);
assay_status kronecker_backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                      const assay_arrays *want, assay_bounds *bounds);

#endif
