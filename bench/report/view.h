/*
 * Results as reports show them: rows in sections (an experiment, or an operator outside of any),
 * groups (a case, stage and cache: the arms that ran side by side), and the texts about each.
 */
#ifndef ASSAY_BENCH_REPORT_VIEW_H
#define ASSAY_BENCH_REPORT_VIEW_H

#include "bench/compare.h"
#include "bench/derived.h"

typedef struct view_row {
    const bench_row *row;
    bench_derived derived;
    /* Of ours: the best peer's time / its own. Of a peer: its time / that of our best. NaN: nothing
     * to compare with. */
    bench_ratio versus;
} view_row;

typedef struct view_group {
    view_row *row; /* ours first */
    int64_t count;
    const view_row *ours, *peer; /* those of the least median; NULL: no arm was timed */
    const char *case_text;
    bench_stage stage;
    bench_cache cache;
    char label[ASSAY_CASE_TEXT]; /* the part of the case's text that differs in its section */
} view_group;

typedef struct view_section {
    view_group *group;
    int64_t count;
    const char *name; /* of the experiment, or `op` */
    char op[BENCH_NAME];
    char common[ASSAY_CASE_TEXT]; /* the part of the text that all its cases share, the operator's
                                     name left out */
} view_section;

typedef struct view {
    const bench_results *results;
    view_section *section;
    view_group *group;
    view_row *row;
    int64_t n_sections, n_groups, n_rows;

    /* The cache state that the summary speaks of: cold, unless no row was timed so. */
    bench_cache cache;
    int64_t statuses[BENCH_STATUSES];
    int64_t verdicts[BENCH_UNCLEAR + 1]; /* of the summary's groups with both sides */
    int64_t alone;                       /* of the summary's groups that lack a side */
    double mean;                         /* geometric, of best peer / our best; NaN: none */
    const bench_row *worst; /* of all timed rows, by error / bound; NULL: none was compared */
    int64_t uncompared;     /* timed rows of which nothing was compared */
} view;

assay_status view_init(view *v, const bench_results *results) ASSAY_MUST_CHECK;
void view_clear(view *v);

/* The arm's usual name. */
const char *view_name(const bench_row *row);

/* Whether the row was timed. */
bool view_timed(const view_row *row);

/* The arms of a section, ours first, each by a row of it; at most `most`. Their number. */
int32_t view_arms(const view_section *section, const bench_row **arm, int32_t most);

/* Whether `row` is of that arm; the arm of ours that is the best one most often (NULL: none). */
bool view_is_arm(const bench_row *row, const bench_row *arm);
const bench_row *view_main_arm(const view *v, const view_section *section);

/* Best peer / our best of a group; false where a side is missing. */
bool view_ratio(const view_group *group, bench_ratio *ratio);

/* Geometric mean of best peer / our best over a section's groups of that stage in the summary's
 * cache state; NaN: none. */
double view_mean(const view *v, const view_section *section, bench_stage stage, int64_t *count);

#endif
