/* Rows that lack something, those of one arm and one reason together. */
#ifndef ASSAY_BENCH_REPORT_MISSING_H
#define ASSAY_BENCH_REPORT_MISSING_H

#include "bench/report/view.h"

typedef struct missing {
    const view_section *section;
    const bench_row *row; /* the first */
    int64_t count;        /* of cases and stages; cold and warm are one */
    char cases[ASSAY_CASE_TEXT];
} missing;

typedef struct missing_list {
    missing *item;
    int64_t count;
} missing_list;

typedef enum missing_what {
    MISSING_TIME,       /* refused, does not fit, ... */
    MISSING_COMPARISON, /* timed, but not compared in full; the reason names the missing part */
} missing_what;

assay_status missing_init(missing_list *list, const view *v, missing_what what) ASSAY_MUST_CHECK;
void missing_clear(missing_list *list);

#endif
