/* The pictures of a report. */
#ifndef ASSAY_BENCH_REPORT_PLOT_H
#define ASSAY_BENCH_REPORT_PLOT_H

#include "bench/report/svg.h"
#include "bench/report/sweep.h"
#include "bench/report/view.h"

typedef enum plot_kind {
    PLOT_SUMMARY,  /* best peer / our best, a bar for each section and stage */
    PLOT_PEERS,    /* our best against each peer, the mean over a section's cases */
    PLOT_SPEEDUPS, /* the same of each case */
    PLOT_SWEEP,    /* time over size */
    PLOT_ROOFLINE, /* operations a second over operations a byte */
    PLOT_BOUNDS,   /* error / bound of the timed calls' outputs */
} plot_kind;

enum { PLOT_TITLE = 256, PLOT_ID = 64 };

typedef struct plot {
    plot_kind kind;
    const view *v;
    const view_section *section; /* NULL: of all */
    bench_stage stage;           /* of PLOT_SPEEDUPS */
    const sweep *sweep;          /* of PLOT_SWEEP */
    char id[PLOT_ID];            /* a word, also the name of its file */
    char title[PLOT_TITLE], note[PLOT_TITLE];
} plot;

typedef struct plots {
    plot *item;
    int32_t count, room;
    sweeps sweeps;
} plots;

/* All pictures that there is something to show of. */
assay_status plots_init(plots *p, const view *v) ASSAY_MUST_CHECK;
void plots_clear(plots *p);

void plot_draw(const plot *p, const svg *to);

/* Its height, in units of svg.h. */
double plot_height(const plot *p);

/* ---- the kinds ---- */

void plot_summary(const plot *p, const svg *s);
double plot_summary_height(const plot *p);
void plot_peers(const plot *p, const svg *s);
double plot_peers_height(const plot *p);
void plot_speedups(const plot *p, const svg *s);
double plot_speedups_height(const plot *p);
void plot_sweep(const plot *p, const svg *s);
double plot_sweep_height(const plot *p);
void plot_roofline(const plot *p, const svg *s);
double plot_roofline_height(const plot *p);
void plot_bounds(const plot *p, const svg *s);
double plot_bounds_height(const plot *p);

/* Whether a mean over several cases can be made. */
bool plot_has_peers(const view *v, const view_section *section);

/* Whether there is a point on that section's roofline. */
bool plot_has_roofline(const view *v, const view_section *section);

#endif
