/* Where and how, line by line. */
#ifndef ASSAY_BENCH_REPORT_ENVIRONMENT_H
#define ASSAY_BENCH_REPORT_ENVIRONMENT_H

#include "bench/result.h"

typedef struct environment_item {
    const char *name;
    char text[2 * BENCH_DEVICE];
} environment_item;

/* The i-th line, those that are unknown left out; false after the last. */
bool environment_line(const bench_environment *e, int i, environment_item *item);

#endif
