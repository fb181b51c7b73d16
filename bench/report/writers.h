/* The formats of bench/report/report.h, each a file. */
#ifndef ASSAY_BENCH_REPORT_WRITERS_H
#define ASSAY_BENCH_REPORT_WRITERS_H

#include "bench/report/missing.h"
#include "bench/report/plot.h"
#include "bench/report/view.h"

#include <stdbool.h>
#include <stdio.h>

/* The data that all writers show; made once. */
typedef struct report {
    view v;
    plots plots;
    missing_list missing, uncompared;
} report;

assay_status report_init(report *r, const bench_results *results) ASSAY_MUST_CHECK;
void report_clear(report *r);

void report_text(FILE *to, const view *v, bool color);
void report_csv(FILE *to, const report *r);
void report_markdown(FILE *to, const report *r);
void report_html(FILE *to, const report *r);

#endif
