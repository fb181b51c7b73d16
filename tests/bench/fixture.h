/* Results as a benchmark could have left them, made of numbers alone: for tests of what writes,
 * reads and shows them. */
#ifndef ASSAY_TESTS_BENCH_FIXTURE_H
#define ASSAY_TESTS_BENCH_FIXTURE_H

#include "bench/result.h"

/* Several operators, stages, peers and sweeps, with rows that were refused, did not fit, could not
 * run, broke. Ends the test where that fails. */
void fixture_results(bench_results *results);

/* One row of ours, timed: a place to begin. `time` is its median, microseconds. */
bench_row fixture_row(const char *experiment, const char *case_text, const char *arm, double time);

void fixture_add(bench_results *results, const bench_row *row);

#endif
