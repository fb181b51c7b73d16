/*
 * How far AdamW carries errors of gradients, step by step, as intervals.
 *
 * An update is m̂ / (√v̂ + eps): where a gradient is near 0 an error of it may turn its sign, and the
 * first updates jump by twice the learning rate. A few disturbed runs may all miss that. So each
 * element's m and v are known to lie in intervals,
 *
 *     e_m' = beta1 e_m + (1 - beta1) e_g
 *     e_v' = beta2 e_v + (1 - beta2) (2 |g| e_g + e_g²)
 *
 * each with adamw's own rounding, and the update is off by what it is at the worst corner of
 * m ± e_m', v ± e_v' (it is monotone in both), but never by more than AdamW can move at all:
 * by Cauchy and Schwarz |m̂| <= √v̂ (1 - beta1)/c1 √(c2/(1 - beta2) Σ_j<step (beta1²/beta2)^j), with
 * c1 and c2 the corrections. Errors of the updates add up, and decay with the weight.
 */
#ifndef ASSAY_ORACLES_TRANSFORMER_CARRY_H
#define ASSAY_ORACLES_TRANSFORMER_CARRY_H

#include "assay/op.h"

/* The rule of one step. */
typedef struct transformer_rule {
    double lr, wd, beta1, beta2, eps, correction1, correction2;
    double most; /* of |m̂| / √v̂ */
    double u;    /* unit roundoff */
} transformer_rule;

/* `adamw`: the parameters of that step; u: the unit roundoff that it is taken in. */
transformer_rule transformer_rule_of(const assay_params *adamw, double u);

/* The errors of one element, before and after; m, v: its exact new ones; own: adamw's rounding. */
typedef struct transformer_errors {
    double p, m, v;
} transformer_errors;
transformer_errors transformer_carry(const transformer_rule *k, transformer_errors before, double g,
                                     double of_g, double m, double v, transformer_errors own);

#endif
