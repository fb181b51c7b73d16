/*
 * Ways to judge a result: this project's, and those that others use, each as its authors define it.
 * All get the fp64 oracle's answers, which is more than the others usually have; those others that
 * compare tensors of one dtype get them rounded to it.
 */
#ifndef ASSAY_EVIDENCE_METHODS_H
#define ASSAY_EVIDENCE_METHODS_H

#include "assay/dtype.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum method {
    METHOD_ASSAY,        /* the exact tier, the bounds, the baseline */
    METHOD_ALLCLOSE_2,   /* torch.allclose, numpy.allclose: rtol = atol = 1e-2 */
    METHOD_ALLCLOSE_4,   /* rtol = atol = 1e-4 */
    METHOD_NMSE,         /* sum (got - want)^2 <= 1e-7 sum want^2 (ggml's test-backend-ops) */
    METHOD_ASSERT_CLOSE, /* torch.testing.assert_close, its tolerances by dtype */
} method;
enum { METHODS = 5 };

/* "assay", "allclose 1e-2", ... */
const char *method_name(method m);

/* One tensor of a result, and what is known of it. */
typedef struct subject {
    assay_dtype dtype;
    int64_t count;
    const double *got, *want, *bound;
    const double *stored;   /* `want` rounded to dtype */
    const double *baseline; /* v1's result where the baseline tier holds, otherwise NULL */
    double rows, share;     /* what tell it (baseline.h) */
} subject;

bool method_rejects(method m, const subject *s);

#endif
