/* How far a correct cross_entropy may be off. */
#include "oracles/common/bound.h"
#include "oracles/common/drift.h"
#include "oracles/cross_entropy/cross_entropy.h"

#include <math.h>
#include <stdio.h>

/*
 * Constants, in units of u. EXP: an exp that is right to 2 ulp, with its product. ARGUMENT: what
 * x - m, the product with log2 e and that constant's own rounding do to an exponent, relative to
 * it.
 */
enum { EXP = 8, ARGUMENT = 3 };

/* One operation of a kernel, with the oracle's own. */
static double unit_of(const assay_rounding *r) {
    return r->u + assay_dtype_unit(ASSAY_F64);
}

/*
 * Roundings that a term of a row's sum passes through: v additions, and three for each time that an
 * online sum is rescaled to a new maximum. Among random logits new maxima are rare: their number
 * has mean and variance of about ln v, so 40 are never reached.
 */
static double roundings(const assay_rounding *r, int64_t v) {
    enum { RESCALE = 3, MAXIMA = 40 };
    const double times = r->independent ? fmin((double)v, MAXIMA) : (double)v;
    return (double)v + RESCALE * times;
}

/*
 * How far a kernel's lse of one row may be off. Each exp(x_j - m) has a relative error of
 * (ARGUMENT·|x_j - m| + EXP) u, also where it reaches the final m by several rescalings, whose
 * exponents add up to x_j - m. Weighted by P_j, and with lse ≥ m, the sum's is at most ARGUMENT
 * times the row's entropy Σ P_j (lse - x_j), and the same relative error of the sum is the error of
 * its logarithm. That is at most ln v, and right to 2 u of it; m, which is at most |lse| + ln v,
 * may be rounded once when it is scaled by log2 e, and lse is rounded when m is added. The sum of
 * many equal exps also drifts (drift.h).
 */
static double lse_error(const assay_rounding *r, const double *x, int64_t v, double lse) {
    double entropy = 0;
    if (!isfinite(lse))
        return 0;
    const double sum = exp(lse - ce_shift_of(x, v));
    assay_drift drift = drift_begin(r->independent, r->u, (double)v, sum);
    for (int64_t j = 0; j < v; ++j) {
        const double p = exp(x[j] - lse);
        entropy += p > 0 ? p * (lse - x[j]) : 0;
        drift_add(&drift, p * sum);
    }
    const double u = unit_of(r);
    return assay_accumulation(r, roundings(r, v)) + drift_of(&drift) / sum +
           u * (ARGUMENT * entropy + EXP + 3 * log((double)v) + 2 * fabs(lse));
}

/* The terms lse - logit are rounded, or their two sums are subtracted; then the mean is taken. */
static void bound_loss(const assay_oracle_args *args, const assay_rounding *r,
                       const assay_arrays *want, assay_bounds *bounds) {
    const ce_sizes s = ce_sizes_of(args->params);
    const double t = (double)s.t;
    double errors = 0, magnitude = 0;
    for (int64_t i = 0; i < s.t; ++i) {
        const double logit = args->in->data[CE_LOGITS][i * s.v + ce_target_of(args, i)];
        errors += bounds->element.data[CE_LSE][i];
        magnitude += fabs(want->data[CE_LSE][i]) + fabs(logit);
    }
    const double mean = (errors + assay_accumulation(r, t + 3) * magnitude) / t;
    bounds->element.data[CE_LOSS][0] = isfinite(want->data[CE_LOSS][0]) ? mean : 0;
    snprintf(bounds->why[CE_LOSS], ASSAY_WHY,
             "mean of the errors of lse, and h=%.0f roundings of the sum of |lse| + |logit|, "
             "u = 2^%.0f",
             t + 3, log2(r->u));
}

/*
 * What the exponent x - lse may lose by the size of lse: by its rounding as it is stored, which is
 * no more than log sum itself, at most ln v, because the maximum before it needs no rounding; and
 * by a rounding of both where they are scaled by log2 e, which may differ up to 2^-12, as in
 * attention. Without these limits a bound of logits of 10^6 would admit everything.
 */
static double lost_by_size(const assay_rounding *r, double lse, int64_t v) {
    const double rounding = unit_of(r) * fabs(lse);
    return fmin(rounding, log((double)v)) + fmin(2 * rounding, 0x1p-12);
}

/*
 * exp(x - lse) with an lse that is off by its bound and may be rounded when it is scaled; then a
 * subtraction and the factors dloss and 1 / t. No weight is more than 1 but for its exponent's
 * roundings. A kernel may as well take exp(x - m) times an
 * inverse of the sum of all: that sum is no further off than lse may be, and the two more roundings
 * are less than the 3 ln v that lse is allowed (for v = 1 nothing is rounded).
 */
enum { FACTORS = 4 };

static void bound_gradient(const assay_oracle_args *args, const assay_rounding *r,
                           const double *lse, double scale, const double *want, double *bound) {
    const ce_sizes s = ce_sizes_of(args->params);
    const double u = unit_of(r);
    const double lost =
        2 * FACTORS * fmin(fmax(1, scale), 0x1p1000); /* P underflows before it is multiplied */
    for (int64_t i = 0; i < s.t; ++i) {
        const double *x = args->in->data[CE_LOGITS] + i * s.v;
        const double common = lse_error(r, x, s.v, lse[i]) - 2 * u * fabs(lse[i]) + u * EXP +
                              lost_by_size(r, lse[i], s.v);
        for (int64_t j = 0; j < s.v; ++j) {
            const double p = exp(x[j] - lse[i]);
            const double exponent = common + u * ARGUMENT * fabs(x[j] - lse[i]);
            const double of_p = p > 0 ? fmin(p * expm1(exponent), fmax(p, 1 + 0x1p-10 - p)) : 0;
            const double error =
                scale * (of_p + FACTORS * u * (p + (double)(j == ce_target_of(args, i))));
            const int64_t e = i * s.v + j;
            bound[e] = assay_bound_element(r, 1, lost, error, want[e]);
        }
    }
}

static void explain_gradient(const assay_rounding *r, char why[ASSAY_WHY]) {
    snprintf(why, ASSAY_WHY,
             "P exp(error of lse + (%d |logit - lse| + |lse| + %d) u), then %d operations, "
             "u = 2^%.0f%s",
             ARGUMENT, EXP, FACTORS, log2(r->u),
             r->u_out > 0 ? ", then rounded to the stored type" : "");
}

assay_status ce_forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                              const assay_arrays *want, assay_bounds *bounds) {
    const ce_sizes s = ce_sizes_of(args->params);
    for (int64_t i = 0; i < s.t; ++i)
        bounds->element.data[CE_LSE][i] =
            lse_error(r, args->in->data[CE_LOGITS] + i * s.v, s.v, want->data[CE_LSE][i]);
    snprintf(
        bounds->why[CE_LSE], ASSAY_WHY,
        "sum of exps in h=%.0f roundings, and its drift, with (%d entropy + 3 ln v + 2 |lse| + %d) u, "
        "u = 2^%.0f",
        roundings(r, s.v), ARGUMENT, EXP, log2(r->u));
    bound_loss(args, r, want, bounds);
    if (s.gradient) {
        bound_gradient(args, r, want->data[CE_LSE], 1 / (double)s.t, want->data[CE_GRADIENT],
                       bounds->element.data[CE_GRADIENT]);
        explain_gradient(r, bounds->why[CE_GRADIENT]);
    }
    return ASSAY_OK;
}

assay_status ce_backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                               const assay_arrays *want, assay_bounds *bounds) {
    const double scale = fabs(args->cot->data[CE_LOSS][0]) / (double)ce_sizes_of(args->params).t;
    bound_gradient(args, r, args->out->data[CE_LSE], scale, want->data[CE_LOGITS],
                   bounds->element.data[CE_LOGITS]);
    explain_gradient(r, bounds->why[CE_LOGITS]);
    return ASSAY_OK;
}
