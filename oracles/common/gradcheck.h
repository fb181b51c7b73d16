/*
 * Proves an oracle's backward against its forward. Each check returns the largest difference
 * between a derivative taken from the forward function and the one that backward gives, relative
 * to the magnitude of the terms that were subtracted. For a multilinear operator central
 * differences are exact for any step, so only rounding is left (1e-14); for a smooth one the step
 * eps^(1/3) balances truncation against rounding (1e-8). A NaN is returned as it is found.
 *
 * The functions are passed, not taken from the operator, so that a wrong backward can be shown to
 * be found.
 */
#ifndef ASSAY_ORACLES_COMMON_GRADCHECK_H
#define ASSAY_ORACLES_COMMON_GRADCHECK_H

#include "assay/problem.h"

typedef struct gradcheck {
    const assay_problem *problem;
    assay_oracle forward, backward;
} gradcheck;

/* Every entry of the Jacobian of every differentiable output by every differentiable input: for
 * tiny sizes. A projected check can hide a wrong gradient; this one cannot. */
assay_status gradcheck_jacobian(const gradcheck *g, double *worst) ASSAY_MUST_CHECK;

/* `count` random sign directions over one input at a time: the derivative of <dy, y> along them. */
assay_status gradcheck_directions(const gradcheck *g, int32_t count,
                                  double *worst) ASSAY_MUST_CHECK;

/* <u, J v> = <Jᵀ u, v> for one random u and v, all inputs at once, J v as a sum over inputs. */
assay_status gradcheck_adjoint(const gradcheck *g, double *worst) ASSAY_MUST_CHECK;

#endif
