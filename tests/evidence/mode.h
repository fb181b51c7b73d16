/* The modes that evidence is given for: each operator, in each dtype, strict and TF32. */
#ifndef ASSAY_EVIDENCE_MODE_H
#define ASSAY_EVIDENCE_MODE_H

#include "assay/op.h"

#include <stdbool.h>

enum { MOST_MODES = 128 };

typedef struct mode {
    const assay_op *op;
    assay_dtype dtype;
    assay_math math;
} mode;

typedef struct modes {
    mode mode[MOST_MODES];
    int32_t count;
} modes;

/* Those of one operator, behind those that are there. */
assay_status modes_add(modes *m, const assay_op *op) ASSAY_MUST_CHECK;

bool mode_is(const mode *m, const assay_case *c);

#endif
