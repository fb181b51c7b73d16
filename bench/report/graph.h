/* Shared by plots of points: a frame with ticks to the left and below, and marks for arms. */
#ifndef ASSAY_BENCH_REPORT_GRAPH_H
#define ASSAY_BENCH_REPORT_GRAPH_H

#include "bench/report/axis.h"
#include "bench/report/plot.h"

enum { GRAPH_LEFT = 40, GRAPH_TOP = 22, GRAPH_HEIGHT = 220, GRAPH_ARMS = 16 };

/* The arms of a section as a plot shows them. */
typedef struct graph_arms {
    const bench_row *arm[GRAPH_ARMS]; /* ours first */
    int32_t count;
    const bench_row *main; /* of ours */
} graph_arms;

graph_arms graph_arms_of(const view *v, const view_section *section);

/* Its mark: for each arm another shape; those of ours hollow but for the main one. */
void graph_mark(const svg *s, const graph_arms *arms, const bench_row *row, double x, double y,
                const char *tip);

/* "our", "our-other" or "peer": classes begin with it. */
const char *graph_role(const graph_arms *arms, const bench_row *row);

/* Lines and labels of both axes; `x_title` stands below, `y_title` above. */
void graph_frame(const svg *s, const axis *x, const axis *y, const char *x_title,
                 const char *y_title);

/* Marks and names of all arms below `top`, in two columns. */
void graph_legend(const svg *s, const graph_arms *arms, double top);
double graph_legend_height(const graph_arms *arms);

#endif
