/* One format of a report by itself, for a file that the command names. */
#ifndef ASSAY_BENCH_REPORT_SINGLE_H
#define ASSAY_BENCH_REPORT_SINGLE_H

#include "bench/result.h"

#include <stdio.h>

assay_status bench_report_csv(FILE *to, const bench_results *results) ASSAY_MUST_CHECK;
assay_status bench_report_markdown(FILE *to, const bench_results *results) ASSAY_MUST_CHECK;

#endif
