/* From values to places on a picture, and the values that an axis names. */
#ifndef ASSAY_BENCH_REPORT_AXIS_H
#define ASSAY_BENCH_REPORT_AXIS_H

#include <stdbool.h>

enum { AXIS_TICKS = 24 };

typedef struct axis {
    double low, high; /* values */
    double from, to;  /* their places */
    bool log;
    int n_own; /* ticks that were asked for; 0: round values */
    double own[AXIS_TICKS];
} axis;

/* From 0 to `most` or somewhat beyond; bars have no other axis. */
axis axis_from_zero(double most, double from, double to);

/* From the 1, 2 or 5 times a power of ten that is at most `low` to the one that is at least `high`;
 * both above 0. */
axis axis_logarithmic(double low, double high, double from, double to);

double axis_at(const axis *a, double value);

/* Their number; round values, few enough to be told apart. */
int axis_ticks(const axis *a, double tick[AXIS_TICKS]);

/* A tick as a label: "0.5", "20", "50k", "2M". */
const char *axis_text(double tick, char text[32]);

#endif
