/*
 * Data that no call has seen: two elements of each tensor that a call reads have changed places. A
 * kernel that keeps results by the content of its inputs then finds no result kept; if it looks at
 * a part of the inputs only, it finds a wrong one.
 */
#ifndef ASSAY_BENCH_ARMS_DISTURB_H
#define ASSAY_BENCH_ARMS_DISTURB_H

#include "assay/rng.h"
#include "bench/arms/set.h"

/* Queued. Other elements each time; those of before are back in their places. */
assay_status disturb(set *s, const arm_timer *timer, assay_rng *rng,
                     set_groups groups) ASSAY_MUST_CHECK;
/* The set as it was given. */
assay_status disturb_undo(set *s, const arm_timer *timer, set_groups groups) ASSAY_MUST_CHECK;

#endif
