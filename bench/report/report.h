/*
 * A benchmark's results for people and for other programs: one file each, bench/report/<format>.c,
 * and pictures (bench/report/plot.h). All say that simulated times are no measurement.
 */
#ifndef ASSAY_BENCH_REPORT_REPORT_H
#define ASSAY_BENCH_REPORT_REPORT_H

#include "bench/result.h"

#include <stdbool.h>
#include <stdio.h>

/* results.json, results.csv, results.md, index.html and pictures (*.svg) in `directory`, which is
 * made if it is not there. Each file appears whole or not at all. */
assay_status bench_report_write(const bench_results *results,
                                const char *directory) ASSAY_MUST_CHECK;

/* For a terminal of 100 columns. */
void bench_report_text(FILE *to, const bench_results *results, bool color);

#endif
