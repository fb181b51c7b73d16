/*
 * From disturbed runs to the bound of each element of a tensor.
 *
 * Let l_i be the local bounds and J_i what one unit of the i-th local error does to the element.
 * A run in which every l_i has a random sign is off by X = Σ ± J_i l_i, of variance
 * σ² = Σ (J_i l_i)². A kernel's error is Σ J_i δ_i with |δ_i| <= l_i. Where the δ_i are independent
 * and as often up as down, they are uniform at worst, as in bound.h, and of deviation l_i/√3. σ is
 * known from 16 runs, so the error over the sample's σ is distributed as Student's t with 16
 * degrees of freedom is, over √3: more than 6 has a probability of 2e-8. Only a dtype that rounds
 * coarsely comes near that. A sum of n products is off by 1/7 of its bound in the mean, so that in
 * fp32, where sums are all there is, 6 σ is tens of deviations.
 *
 * The variance of an element is the mean of its own and of its row's, which evens out what
 * neighbours do not share; where they share their largest error, the sample is no larger than it
 * was.
 *
 * Errors that are not independent: those that a row has in common (the root of a norm, the lse of
 * a softmax) have runs of their own, whose variance is added; those that point the same way
 * everywhere (what tensor cores cut) are the two systematic runs, and the larger one is added.
 */
#ifndef ASSAY_ORACLES_TRANSFORMER_SPREAD_H
#define ASSAY_ORACLES_TRANSFORMER_SPREAD_H

#include "assay/op.h"

typedef struct transformer_spread {
    int64_t size, row; /* elements, and how many make a row */
    double *variance;  /* of all random runs, in units of the row */
    double *largest;   /* of the systematic ones */
    double *unit;      /* of each row, near its largest exact element: squares do not underflow */
} transformer_spread;

assay_status transformer_spread_init(transformer_spread *s, int64_t size,
                                     int64_t row) ASSAY_MUST_CHECK;
void transformer_spread_clear(transformer_spread *s);

/* One for each parameter's gradient; NULL: out of memory. */
transformer_spread *transformer_spreads(const assay_oracle_args *args);
void transformer_spreads_free(transformer_spread *spread, int32_t count);

/* Adds a run: its values against the exact ones, which were disturbed `gain` times too much. A
 * random run counts with its `weight`, a systematic one has none. Where a run is not finite and the
 * exact element is, the bound will be infinite. */
void transformer_spread_add(transformer_spread *s, const double *got, const double *want,
                            double gain, double weight);

/* bound[e] = 6 σ + the largest systematic deviation + the element's own local bound, which no run
 * has: `local`, NULL for none. Infinite where the runs went `astray`. */
void transformer_spread_bound(const transformer_spread *s, const double *local, bool astray,
                              double *bound);

/* Why nothing is said of a tensor with such bounds, in `line`: the runs went astray, or so far that
 * they leave fp32, as the exp() of a score does whose rounding error is large. Nothing otherwise,
 * and nothing over another line. */
void transformer_spread_outside(bool astray, const double *bound, int64_t size,
                                char line[ASSAY_WHY]);

/* How tensor i's bounds were made, and that line. */
void transformer_spread_why(bool astray, assay_bounds *bounds, int32_t i);

#endif
