/*
 * The cost of a case: how much work a changed case may be, and how often an expensive case is kept.
 */
#ifndef ASSAY_FUZZ_SEARCH_COST_H
#define ASSAY_FUZZ_SEARCH_COST_H

#include "assay/op.h"

/* Work may grow by that much over a case that was drawn within the budget. */
static const double cost_growth = 2;

/* Limits of a changed case: about how many multiply-adds, and how many elements in its tensors. */
typedef struct cost_limits {
    double work, elements;
} cost_limits;

/* How many times longer the operator's small cases take than those of most others. */
double cost_overhead(const assay_op *op);

/* The budget, of a source that has `most`. */
cost_limits cost_limits_within(const assay_op *op, double most, double budget);

/* Of a case that is long in one size: work is more than elements. */
cost_limits cost_limits_below(double work);

/* Where `drawn` will be changed, which may itself be beyond the limits. */
assay_status cost_limits_from(const assay_case *drawn, double budget,
                              cost_limits *most) ASSAY_MUST_CHECK;

/* ASSAY_ERR_USAGE: it does not. */
assay_status cost_affords(const cost_limits *most, const assay_case *c) ASSAY_MUST_CHECK;

/* The cost of a case. The unit is the time of one element, as its tensors lie in memory. */
assay_status cost_of(const assay_case *c, double *elements) ASSAY_MUST_CHECK;

/* Cases up to this cost are always kept. */
double cost_usual(const assay_op *op);

/* A case that costs a hundred times as much does not find a hundred times as much: one beyond
 * `usual` is kept as seldom as it costs more. So cases of each size take as much time together, all
 * sizes still come, and half of the cases are checked in a millisecond or two. */
bool cost_keeps(assay_rng *rng, double usual, const assay_case *c);

#endif
