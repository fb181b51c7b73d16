/*
 * How far the intermediate results of a correct kernel may be off, for one sample: what
 * conv3d_bound.c makes bounds of. docs/numerics.md has the derivation in words.
 *
 * Notation: u the unit roundoff, phi(h) the factor of bound.h for sums of depth h, N products to an
 * element of c, P positions, q channels to a group, S = q·P; μ, r = 1/√(σ² + eps) and x̂ as in the
 * definition; m the mean of one channel of c, D = m - μ.
 *
 * Convolution. An element of c is off by at most E = assay_product_error over running sums
 * R = |b| + M. Operands cut to TF32 add 2^-9·M, kept apart.
 *
 * Sums of such errors, Σ l_p e_p over positions. Where roundings are independent they are so over
 * positions as well, which hold different data, so 4·√(N+1)·u·√Σ(l R)²: again 6.9 standard
 * deviations. Otherwise Σ|l| E. Cut operands are cut alike wherever they are used, so of data with
 * random signs a part of what they lose is coherent: the rest is a walk.
 *
 * Statistics. m is off by phi(P+3)·mean|c|, μ by phi(S+3)·mean|c|, besides the error of c itself.
 * A variance may be taken in two passes, by Welford's updates or with values shifted by a K that is
 * within d of the mean:
 *
 *     mean (c-K)² - (mean (c-K))²    is off by    phi·(σ² + d²) + 2 d·phi·√(σ² + d²),
 *
 * Welford's by phi·σ·√(σ² + μ²) (Chan, Golub and LeVeque, The American Statistician 37, 1983), two
 * passes by phi·σ² + (δμ)². d = 2σ for random data, the largest |c - μ| otherwise. Neither term has
 * μ²: mean c² - μ² in the accumulator, without a shift, is not a correct kernel.
 */
#ifndef ASSAY_ORACLES_CONV3D_GROUPNORM_MEAN_ERRORS_H
#define ASSAY_ORACLES_CONV3D_GROUPNORM_MEAN_ERRORS_H

#include "oracles/conv3d_groupnorm_mean/definition.h"

/* Per channel. */
typedef struct conv_channel {
    double off;         /* D */
    double size, apart; /* mean |c|, mean |c - μ| */
    double scatter;     /* Σ (c - m)² over positions */
    double own;         /* error of m by that of c's elements */
    double sum;         /* error of m by its sum */
} conv_channel;

/* Per group. */
typedef struct conv_group {
    double gamma, gamma_size; /* means of γ and |γ| */
    double along;             /* h = mean γ·x̂ */
    double along_size;        /* M of the sum that h is */
    double mean;              /* error of μ */
    double inverse;           /* relative error of r */
    double along_error;       /* error of h, but for that sum */
} conv_group;

typedef struct conv_errors {
    assay_arrays storage; /* owns the arrays below */
    const assay_rounding *r;
    bool independent;       /* the errors of different positions are */
    double worst, walk;     /* error of an element of c over R: at most, and as 6.9 deviations */
    double *reach;          /* (co, P): R */
    double *operands;       /* (co, P): Σ (w x)² of random signs, else Σ |w x| */
    double *column, *power; /* (N), over the row of patches: Σ x and Σ x² */
    double *magnitude;      /* (co, N): |w| */
    double *square;         /* (co, N): w² */
    conv_channel *channel;
    conv_group *group;
} conv_errors;

/* What holds of these data. A sum of squares is no bound where squares have underflowed, as those
 * of products of small numbers in fp64 do: there errors are not taken as independent, nor sums as
 * random walks. */
assay_rounding conv_rounding(const assay_oracle_args *args, const assay_rounding *r);

/* Clear it whatever the status. */
assay_status conv_errors_init(conv_errors *e, const conv_sizes *s, const assay_oracle_args *args,
                              const assay_rounding *r) ASSAY_MUST_CHECK;
void conv_errors_clear(conv_errors *e);

/* The errors of a sample that is loaded. */
void conv_errors_of(const conv_sizes *s, const assay_oracle_args *args, conv_sample *t,
                    conv_errors *e);

/* t->spread becomes f of the patches. */
void conv_map_patches(const conv_sizes *s, double (*f)(double), conv_sample *t);
double conv_square(double v);

/* Σ l e over elements of c, given Σ |l| R and Σ (l R)². */
double conv_sum_of_errors(const conv_errors *e, double sum, double squares);

/* phi for a sum of `runs` runs of `length` equal terms each, with `others` roundings beside. Equal
 * terms meet the same grid and are rounded alike, so that a run's errors add up linearly; those of
 * different runs are independent where data are random. More than 4096 terms a kernel must take in
 * pieces: it would lose digits that no order of different terms loses. */
double conv_runs_of_equals(const assay_rounding *r, double runs, double length, double others);

/* phi for runs of terms that vary by `deviation` about a value of their own, `size` the mean of all
 * |terms|. Partial sums grow: where their grid becomes wider than the deviation, the terms of a run
 * might as well be equal. */
double conv_runs_of_likes(const assay_rounding *r, double runs, double length, double others,
                          double size, double deviation);

#endif
