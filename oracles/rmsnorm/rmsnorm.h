/* rmsnorm: what the files of its oracle share. oracles/rmsnorm/rmsnorm.c has the definition. */
#ifndef ASSAY_ORACLES_RMSNORM_RMSNORM_H
#define ASSAY_ORACLES_RMSNORM_RMSNORM_H

#include "assay/op.h"
#include "assay/relation.h"

enum { RMSNORM_KEY_N, RMSNORM_KEY_D, RMSNORM_KEY_RESIDUAL, RMSNORM_KEY_EPS };
enum { RMSNORM_X, RMSNORM_R };
enum { RMSNORM_Y, RMSNORM_H };

typedef struct rmsnorm_sizes {
    int64_t rows, d;
    bool residual;
    int32_t w; /* which input w is: the last */
    double eps;
} rmsnorm_sizes;

rmsnorm_sizes rmsnorm_sizes_of(const assay_params *params);

/* s of one row. */
double rmsnorm_inverse(const rmsnorm_sizes *s, const double *h);
/* What is normalised, once the forward has run. */
const double *rmsnorm_normalised(const rmsnorm_sizes *s, const assay_oracle_args *args);
/* dr is dx. */
void rmsnorm_copy_to_residual(const rmsnorm_sizes *s, assay_arrays *result);

assay_status rmsnorm_forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds);
assay_status rmsnorm_backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                    const assay_arrays *want, assay_bounds *bounds);

enum { RMSNORM_RELATIONS = 7 };
extern const assay_relation rmsnorm_relations[RMSNORM_RELATIONS];

#endif
