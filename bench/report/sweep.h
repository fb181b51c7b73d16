/* Cases that differ in one size alone: a plot draws a curve through them. */
#ifndef ASSAY_BENCH_REPORT_SWEEP_H
#define ASSAY_BENCH_REPORT_SWEEP_H

#include "bench/report/view.h"

enum { SWEEP_LEAST = 3 /* points */ };

typedef struct sweep_point {
    double size;
    const view_group *group;
} sweep_point;

typedef struct sweep {
    const view_section *section;
    bench_stage stage;
    sweep_point *point; /* ascending */
    int32_t count;
    bool by_bytes;
    char axis[BENCH_NAME];       /* "sq", "m = n = k", or another name of the sizes */
    char fixed[ASSAY_CASE_TEXT]; /* the part of the label that all points share */
} sweep;

typedef struct sweeps {
    sweep *item;
    int32_t count, room;
} sweeps;

/*
 * Of each section and stage, in the view's cache state. Keys that vary together, as m=64 n=64 k=64,
 * are one size. Of several that could be swept, those with the most points come first, and the rest
 * only for cases that no curve goes through. Cases that differ in more than a size are ordered by
 * the bytes that they move, where no size serves.
 */
assay_status sweeps_init(sweeps *s, const view *v) ASSAY_MUST_CHECK;
void sweeps_clear(sweeps *s);

#endif
