/*
 * Is a number right? Every element must satisfy |got - want| <= bound, written so that NaN fails.
 */
#ifndef ASSAY_COMPARE_H
#define ASSAY_COMPARE_H

#include "assay/dtype.h"
#include "assay/verdict.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct assay_comparison {
    assay_verdict verdict;   /* pass, mistrusted, fail or error */
    const char *reason;      /* static text when it is not a pass, otherwise "" */
    int64_t count;           /* elements compared */
    int64_t wrong;           /* elements beyond their bound */
    int64_t unbounded;       /* finite `want` whose bound is not: a defect of the harness */
    int64_t worst;           /* index of the largest ratio, or of the first unbounded element if
                                there is one; -1 when count is 0 */
    double ratio;            /* the largest |got - want| / bound; 1 is the limit */
    double got, want, bound; /* at `worst` */
    /* The norm tier: always reported, never decides. */
    double max_abs;                  /* max |got - want| */
    double rel_l1, rel_l2, rel_linf; /* ‖got - want‖ / ‖want‖; 0 when both are 0 */
    double norm_got, norm_want;      /* ‖·‖₂ */
    double resolution; /* ‖bound‖₂ / ‖want‖₂: the relative error that is typically caught */
} assay_comparison;

/*
 * Compares `count` elements of a kernel's result, stored as `dtype` and widened, with the oracle's.
 * A NaN is right exactly where the oracle has a NaN, an infinity where it has the same one, or
 * where its value plus the bound rounds to it in `dtype`. With bound 0 (the exact tier) got must
 * equal want; -0 equals +0.
 * Error: a finite value of the oracle whose bound is infinite, NaN or negative, for any `got`.
 * Mistrusted: nothing to compare, or a result of zeros would have passed too.
 */
assay_comparison assay_compare(assay_dtype dtype, const double *got, const double *want,
                               const double *bound, int64_t count);

/* ‖v‖₂, scaled against overflow; NaN when an element is NaN. */
double assay_norm2(const double *v, int64_t count);

/* ‖a - b‖₂ */
double assay_distance2(const double *a, const double *b, int64_t count);

#ifdef __cplusplus
}
#endif

#endif
