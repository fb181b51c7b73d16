/* Our best arm's time against each peer's, a bar for each peer of each case. */
#include "bench/report/bars.h"
#include "bench/report/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static bool shown(const plot *p, const view_group *group) {
    return group->stage == p->stage && group->cache == p->v->cache;
}

static int64_t count_peers(const view_group *group) {
    int64_t count = 0;
    for (int64_t r = 0; r < group->count; ++r)
        count += !group->row[r].row->ours;
    return count;
}

/* Where there is nothing to compare, a line says so. */
static int64_t count_lines(const view_group *group) {
    const int64_t peers = count_peers(group);
    return group->ours == NULL || peers == 0 ? 1 : peers;
}

double plot_speedups_height(const plot *p) {
    double height = BARS_TOP;
    for (int64_t g = 0; g < p->section->count; ++g)
        if (shown(p, &p->section->group[g]))
            height += (double)(count_lines(&p->section->group[g]) + 1) * BARS_ROW + 6;
    return height + 4;
}

static axis axis_of(const plot *p) {
    double *ratio = malloc((size_t)(p->v->n_rows + 1) * sizeof *ratio);
    int64_t count = 0;
    for (int64_t g = 0; ratio != NULL && g < p->section->count; ++g) {
        const view_group *group = &p->section->group[g];
        for (int64_t r = 0; shown(p, group) && r < group->count; ++r)
            if (!group->row[r].row->ours && !isnan(group->row[r].versus.ratio))
                ratio[count++] = group->row[r].versus.ratio;
    }
    const axis a = bars_axis(ratio, count);
    free(ratio);
    return a;
}

static void put_head(const svg *s, const view_group *group, double y) {
    char median[FORMAT_NUMBER], line[SVG_FITTED], name[SVG_FITTED];
    double left = SVG_WIDTH;
    if (group->ours != NULL) {
        const double time = group->ours->derived.time.median;
        snprintf(line, sizeof line, "%.40s %s \u00b5s", view_name(group->ours->row),
                 format_fixed(time, format_decimals(time), median));
        svg_text(s, SVG_WIDTH, y + 4, SVG_END, "our-name", line);
        left -= svg_text_width(line) + 8;
    }
    svg_text(s, 0, y + 4, SVG_START, "strong",
             svg_fit(group->label[0] != '\0' ? group->label : "one case", left, name));
}

static void put_peer(const plot *p, const svg *s, const axis *a, const view_group *group,
                     const view_row *row, double y) {
    char median[FORMAT_NUMBER], tip[256];
    bars_name(s, y, row == group->peer ? "strong" : "", view_name(row->row));
    if (isnan(row->versus.ratio)) {
        svg_hatched(s, p->id, a->from, y - BARS_THICK / 2.0, 20, BARS_THICK);
        svg_text(s, a->from + 26, y + 4, SVG_START, "quiet-value",
                 row->row->status == BENCH_OOM ? "out of memory"
                                               : bench_status_name(row->row->status));
        return;
    }
    snprintf(tip, sizeof tip, "%.60s: %s \u00b5s, %.3f\u00d7 [%.3f, %.3f], %s", view_name(row->row),
             format_short(row->derived.time.median, median), row->versus.ratio, row->versus.low,
             row->versus.high, bench_verdict_name(row->versus.verdict));
    bars_draw(s, a, y, &row->versus, row == group->peer ? "bar-best" : "bar-peer", tip);
}

static double put_group(const plot *p, const svg *s, const axis *a, const view_group *group,
                        double y) {
    y += 0.5 * BARS_ROW + 6;
    put_head(s, group, y);
    if (group->ours == NULL || count_peers(group) == 0) {
        y += BARS_ROW;
        svg_text(s, 0, y + 4, SVG_START, "quiet",
                 group->ours == NULL ? "no arm of ours was timed" : "no peer in this run");
        return y + 0.5 * BARS_ROW;
    }
    for (int64_t r = 0; r < group->count; ++r)
        if (!group->row[r].row->ours)
            put_peer(p, s, a, group, &group->row[r], y += BARS_ROW);
    return y + 0.5 * BARS_ROW;
}

void plot_speedups(const plot *p, const svg *s) {
    const axis a = axis_of(p);
    double y = BARS_TOP;
    bars_frame(s, &a, plot_speedups_height(p));
    for (int64_t g = 0; g < p->section->count; ++g)
        if (shown(p, &p->section->group[g]))
            y = put_group(p, s, &a, &p->section->group[g], y);
}
