/*
 * Trivial solutions: results that a kernel could return without computing the operator. They are
 * judged as variants are, by assay_compare with the case's bounds. If one of them passes, the
 * case's data do not show a wrong kernel, and a pass there is mistrusted.
 *
 * Of each tensor: a constant (1, or the mean of the right values), the mean of each row, a copy of
 * any input or cotangent that has as many elements. assay_compare tries zeros itself. A result that
 * the definition asks for is not trivial. This holds for a copy where the tensor's bounds are all 0
 * outside the exact tier. It also holds for an equal gradient throughout, or throughout each row,
 * where only the mean of an input matters and may replace it.
 *
 * Of the whole case: a kernel that ignores a parameter. The oracle runs again with zeros, with
 * ones, and with its mean in place of an input or a cotangent; if no output and no gradient changes
 * beyond its bound, nothing shows that the parameter was used. That some of them stay is no fault:
 * where y is linear in x, dx knows nothing of x. These runs, and gradients that are the same
 * throughout or in each row, are left out of large cases.
 */
#ifndef ASSAY_ENGINE_TRIVIAL_H
#define ASSAY_ENGINE_TRIVIAL_H

#include "assay/problem.h"

enum { TRIVIAL_REASON = 128 };

/* Why a trivial solution passes; "" where no trivial solution passes. */
typedef struct trivial_findings {
    char (*out)[TRIVIAL_REASON];  /* n_out */
    char (*grad)[TRIVIAL_REASON]; /* n_in */
    char whole[TRIVIAL_REASON];   /* of the case */
    bool searched; /* for parameters that may be ignored: the case was no large one */
} trivial_findings;

assay_status trivial_find(const assay_problem *p, const assay_reference *ref,
                          trivial_findings *found) ASSAY_MUST_CHECK;
void trivial_clear(trivial_findings *found);

#endif
