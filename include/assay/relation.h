/*
 * A metamorphic relation: an identity between a kernel's answers to related problems, checked
 * without the oracle's answers. Take a base problem, derive up to two others from it, run the
 * kernel on all; predict the base's results from the derived ones (and from the data) and compare.
 *
 * `predict` must be linear in the derived results, its coefficients non-negative or data of the
 * problems, because the bounds go through it too, with the magnitudes of those data: the difference
 * may be bound(base) + predict(bounds of the derived). The same holds of `reduce`, through which
 * the base's results and bounds go. An `exact` relation leaves no room: the prediction must hold to
 * the last bit.
 */
#ifndef ASSAY_RELATION_H
#define ASSAY_RELATION_H

#include "assay/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ASSAY_MAX_DERIVED = 2 };

typedef struct assay_relation {
    const char *name; /* stable word, part of test names: "linearity" */
    const char *why;  /* one line: the identity */
    bool exact;
    int32_t n_derived;

    /* Whether the relation applies to this case; NULL: always. */
    bool (*applies)(const assay_case *c);

    /* Changes the base problem's data before anything runs; NULL: leave it. */
    assay_status (*prepare)(assay_problem *base);

    /* The case of derived problem i; NULL: the base's. */
    assay_status (*derive_case)(const assay_case *base, int32_t i, assay_case *derived);

    /* Fills derived->in and derived->cot, which come allocated and zero. */
    assay_status (*derive)(const assay_problem *base, int32_t i, assay_problem *derived);

    /* Reduces the base's results in place to the values that predict gives: it sets others to 0, or
     * replaces an array's first elements by sums and makes its size their number; predict then does
     * the same to `want`. Each rounds a sum to fp64 once; the bound allows that. NULL: predict
     * gives each element. */
    assay_status (*reduce)(const assay_problem *base, const assay_problem *derived,
                           assay_results *results);

    /* Writes the base's results as they follow from those of each derived problem (arrays of
     * n_derived). `want` comes fully allocated; predict drops the arrays that it does not give with
     * assay_arrays_drop, and absent arrays are not compared. */
    assay_status (*predict)(const assay_problem *base, const assay_problem *derived,
                            const assay_results *results, assay_results *want);
} assay_relation;

/* Frees data[i] and leaves it absent. */
void assay_arrays_drop(assay_arrays *arrays, int32_t i);

#ifdef __cplusplus
}
#endif

#endif
