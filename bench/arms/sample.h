/* Samples of a stage: cold, one call; warm, many calls together. */
#ifndef ASSAY_BENCH_ARMS_SAMPLE_H
#define ASSAY_BENCH_ARMS_SAMPLE_H

#include "bench/arms/work.h"

/* The sets that are timed: all but the first, which is for untimed calls. If there is only one set,
 * it is timed. */
int64_t sample_sets(const work *w);
set *sample_set(const work *w, int64_t number);

/* One call behind overwritten caches. `given`: on the set as it was given, and its results are kept
 * apart; never repeated. */
assay_status sample_cold(work *w, set *s, bool given, double *microseconds) ASSAY_MUST_CHECK;

/* Of calls back to back, w->together of them on the sets in turn, the time of one. */
assay_status sample_warm(work *w, bool given, double *microseconds) ASSAY_MUST_CHECK;

/* Calls that are not timed; afterwards it is known how many warm ones go together. */
assay_status sample_warm_up(work *w) ASSAY_MUST_CHECK;

/* Queued: the set as it was given; as no call has seen it; so many calls, back to back. */
assay_status sample_restore(work *w, set *s) ASSAY_MUST_CHECK;
assay_status sample_freshen(work *w, set *s) ASSAY_MUST_CHECK;
assay_status sample_queue(work *w, int64_t count) ASSAY_MUST_CHECK;

#endif
