/*
 * What the files of conv3d_groupnorm_mean share: its sizes, and one sample with its patches as a
 * matrix. oracles/conv3d_groupnorm_mean/conv3d_groupnorm_mean.c has the definition.
 *
 * Everything works on one sample at a time, so that no array is larger than its patches: N x P,
 * with N = ci·k³ products for each of the P positions.
 */
#ifndef ASSAY_ORACLES_CONV3D_GROUPNORM_MEAN_DEFINITION_H
#define ASSAY_ORACLES_CONV3D_GROUPNORM_MEAN_DEFINITION_H

#include "assay/op.h"
#include "assay/relation.h"
#include "oracles/common/bound.h"

enum {
    CONV_KEY_N,
    CONV_KEY_CI,
    CONV_KEY_CO,
    CONV_KEY_S,
    CONV_KEY_K,
    CONV_KEY_G,
    CONV_KEY_EPS,
};
enum { CONV_X, CONV_W, CONV_B, CONV_GAMMA, CONV_BETA };
enum { CONV_Y };

typedef struct conv_sizes {
    int64_t n, ci, co, k, groups;
    int64_t in[3], out[3]; /* spatial extents of x and of c */
    int64_t volume;        /* elements of one channel of x */
    int64_t positions;     /* P: elements of one channel of c */
    int64_t terms;         /* N: products in one of them */
    int64_t per_group;     /* channels */
    double eps;
} conv_sizes;

conv_sizes conv_sizes_of(const assay_params *params);

/* patches (N, P): row (i, a, b, c), the order of w[o], has x[i, d + a, h + b, w + c] at column
 * (d, h, w). */
void conv_gather(const conv_sizes *s, const double *x, double *patches);

/* The transpose: adds row (i, a, b, c) of patches at column (d, h, w) to x[i, d + a, h + b, w + c].
 */
void conv_scatter(const conv_sizes *s, const double *patches, double *x);

/* One sample: its patches, c (co, P), and the statistics of each group, taken in two passes. */
typedef struct conv_sample {
    assay_arrays storage; /* owns what follows */
    double *patches, *c;
    double *mean, *inverse; /* per group: the mean, and 1 / sqrt(variance + eps) */
    double *spread;         /* (N, P) and */
    double *field;          /* (co, P) to work in */
} conv_sample;

/* Clear it whatever the status. */
assay_status conv_sample_init(conv_sample *t, const conv_sizes *s) ASSAY_MUST_CHECK;
void conv_sample_clear(conv_sample *t);
void conv_sample_load(const conv_sizes *s, const assay_oracle_args *args, int64_t n,
                      conv_sample *t);

/* blas_gemm, the columns of C shared out to the host's processors. */
void conv_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
               const double *b, int64_t ldb, double beta, double *c, int64_t ldc);

assay_status conv_forward(const assay_oracle_args *args, assay_arrays *result);
assay_status conv_backward(const assay_oracle_args *args, assay_arrays *result);
assay_status conv_forward_plain(const assay_oracle_args *args, assay_arrays *result);
assay_status conv_backward_plain(const assay_oracle_args *args, assay_arrays *result);
assay_status conv_forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                const assay_arrays *want, assay_bounds *bounds);
assay_status conv_backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                 const assay_arrays *want, assay_bounds *bounds);

enum { CONV_RELATIONS = 10 };
extern const assay_relation conv_relations[CONV_RELATIONS];

/* The relation of translation. */
bool conv_can_move(const assay_case *c);
assay_status conv_frame(assay_problem *base);
assay_status conv_move(const assay_problem *base, int32_t i, assay_problem *derived);
assay_status conv_drop_frame(const assay_problem *base, const assay_problem *derived,
                             assay_results *results);
assay_status conv_move_back(const assay_problem *base, const assay_problem *derived,
                            const assay_results *results, assay_results *want);

#endif
