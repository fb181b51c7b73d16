/* Shared by plots of bars: names to the left, bars from zero, values to the right. */
#ifndef ASSAY_BENCH_REPORT_BARS_H
#define ASSAY_BENCH_REPORT_BARS_H

#include "bench/report/axis.h"
#include "bench/report/plot.h"

enum {
    BARS_LEFT = 116,
    BARS_RIGHT = 276,
    BARS_ROW = 17,
    BARS_TOP = 34,
    BARS_THICK = 11,
    BARS_HEAD = 22
};

/* From zero so far that most bars fit: a few that are much longer are cut, and say so. */
axis bars_axis(double *ratio, int64_t count);

/* Ticks above, lines down to `bottom`, and one where both are as fast. */
void bars_frame(const svg *s, const axis *a, double bottom);

/* One bar with its value, sign and interval; `y`: its middle. */
void bars_draw(const svg *s, const axis *a, double y, const bench_ratio *ratio, const char *class,
               const char *tip);

/* A mean of cases, which stand on it as dots, its value to the right. */
void bars_mean(const svg *s, const axis *a, double y, double mean, const char *class,
               const char *after);
void bars_case(const svg *s, const axis *a, double y, const view_group *group,
               const bench_ratio *ratio);

void bars_name(const svg *s, double y, const char *class, const char *name);

#endif
