/*
 * Two benchmarks of one device, row by row: the rows that became slower, and those that are gone.
 *
 * A regression is an arm of ours that is slower than before by more than the margin, its interval
 * clear of it, or that was timed before and is not now. A peer's row that changed is shown and is
 * no regression. A case that the later run did not time at all is left out: it was not asked for.
 */
#ifndef ASSAY_BENCH_COMPARE_H
#define ASSAY_BENCH_COMPARE_H

#include "bench/result.h"
#include "bench/statistics.h"

#include <stdio.h>

#define BENCH_MARGIN 0.03 /* relative: below it, nothing is faster or slower */

typedef struct bench_change {
    const bench_row *before, *after; /* NULL: the run has no such row */
    bench_ratio ratio; /* before / after: above 1 is faster now; NaN: not comparable */
    bool regression;
} bench_change;

typedef struct bench_comparison {
    bench_change *change; /* in the order of the later run, then the rows that it lacks */
    int64_t count, regressions;
    int64_t left_out; /* earlier rows of cases that the later run does not have */
    double margin;
    const char *device;
    bool simulated;
} bench_comparison;

/* ASSAY_ERR_USAGE when the devices differ. Both results must outlive the comparison. */
assay_status bench_compare_results(const bench_results *before, const bench_results *after,
                                   double margin, bench_comparison *comparison) ASSAY_MUST_CHECK;
void bench_comparison_clear(bench_comparison *comparison);

void bench_comparison_text(FILE *to, const bench_comparison *comparison, bool color);

#endif
