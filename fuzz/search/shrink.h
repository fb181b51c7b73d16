/*
 * The smallest case that fails in the same way. Steps, each kept when the failure stays: the
 * schedule in order, nothing padded or misaligned, simpler data, strict arithmetic, f32, attributes
 * at their defaults, lists without an element, extents toward 1, first in leaps, then one by one,
 * those that are equal also together. It ends when no single step is left that is smaller and
 * fails.
 */
#ifndef ASSAY_FUZZ_SEARCH_SHRINK_H
#define ASSAY_FUZZ_SEARCH_SHRINK_H

#include "fuzz/search/check.h"

typedef struct fuzz_shrunk {
    assay_case c;
    bool again;    /* it failed again at all; otherwise `c` is the case as it was */
    bool smallest; /* no single step is left; false: the tries ran out */
    int32_t tries;
} fuzz_shrunk;

assay_status fuzz_shrink(const fuzz_subject *subject, const assay_case *c,
                         const fuzz_failure *failure, fuzz_shrunk *shrunk) ASSAY_MUST_CHECK;

#endif
