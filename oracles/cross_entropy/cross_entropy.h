/* cross_entropy: what the files of its oracle share. oracles/cross_entropy/cross_entropy.c has the
 * definition. */
#ifndef ASSAY_ORACLES_CROSS_ENTROPY_CROSS_ENTROPY_H
#define ASSAY_ORACLES_CROSS_ENTROPY_CROSS_ENTROPY_H

#include "assay/op.h"
#include "assay/relation.h"

enum { CE_KEY_T, CE_KEY_V, CE_KEY_GRADIENT };
enum { CE_LOGITS, CE_TARGET };
enum { CE_LOSS, CE_LSE, CE_GRADIENT };

typedef struct ce_sizes {
    int64_t t, v;
    bool gradient;
} ce_sizes;

ce_sizes ce_sizes_of(const assay_params *params);

/* What is subtracted of a row's logits: their maximum, or 0 where that is not finite. */
double ce_shift_of(const double *x, int64_t v);

/* The target of token i. */
int64_t ce_target_of(const assay_oracle_args *args, int64_t i);

assay_status ce_forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                              const assay_arrays *want, assay_bounds *bounds);
assay_status ce_backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                               const assay_arrays *want, assay_bounds *bounds);

enum { CE_RELATIONS = 6 };
extern const assay_relation ce_relations[CE_RELATIONS];

#endif
