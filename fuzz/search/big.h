/*
 * Cases that are too large for indices of 32 bits: the rows of a small case become so many that its
 * largest tensor has just more than 2^31 or 2^32 elements, or 2^32 bytes. Judged through a small
 * one (engine/sample.h), on a device that has the memory.
 */
#ifndef ASSAY_FUZZ_SEARCH_BIG_H
#define ASSAY_FUZZ_SEARCH_BIG_H

#include "assay/op.h"

enum { FUZZ_BIG_ROWS = 64 }; /* that make it up, where nothing else is said */

/* About how many multiply-adds the small case may have; its other extents are drawn for that. */
extern const double fuzz_big_budget;

/* Sets the first key. ASSAY_ERR_USAGE when the case would take too much memory or time, or when its
 * rows are so short that a kernel which walks along them, one after the other, would not end. */
assay_status fuzz_big_enlarge(assay_rng *rng, assay_case *c) ASSAY_MUST_CHECK;

#endif
