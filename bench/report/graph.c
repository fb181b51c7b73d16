#include "bench/report/graph.h"

#include <math.h>
#include <string.h>

static bool was_timed(const view_section *section, const bench_row *arm) {
    for (int64_t g = 0; g < section->count; ++g)
        for (int64_t r = 0; r < section->group[g].count; ++r)
            if (view_timed(&section->group[g].row[r]) &&
                view_is_arm(section->group[g].row[r].row, arm))
                return true;
    return false;
}

graph_arms graph_arms_of(const view *v, const view_section *section) {
    graph_arms arms = {.main = view_main_arm(v, section)};
    const int32_t all = view_arms(section, arms.arm, GRAPH_ARMS);
    for (int32_t a = 0; a < all; ++a)
        if (was_timed(section, arms.arm[a]))
            arms.arm[arms.count++] = arms.arm[a];
    return arms;
}

const char *graph_role(const graph_arms *arms, const bench_row *row) {
    if (!row->ours)
        return "peer";
    return arms->main != NULL && view_is_arm(row, arms->main) ? "our" : "our-other";
}

/* The disc is our main arm's; others of ours are hollow, and have shapes from the disc on. */
static int shape_of(const graph_arms *arms, const bench_row *row) {
    int before = 0;
    for (int32_t i = 0; i < arms->count && !view_is_arm(row, arms->arm[i]); ++i)
        before += strcmp(graph_role(arms, arms->arm[i]), graph_role(arms, row)) == 0;
    return row->ours ? before % SVG_MARKS : 1 + before % (SVG_MARKS - 1);
}

void graph_mark(const svg *s, const graph_arms *arms, const bench_row *row, double x, double y,
                const char *tip) {
    const char *role = graph_role(arms, row);
    svg_mark(s, shape_of(arms, row), x, y,
             strcmp(role, "our") == 0    ? "our-mark"
             : strcmp(role, "peer") == 0 ? "peer-mark"
                                         : "our-other",
             tip);
}

/* The last label is always there; those before it as far as they have room. */
static void put_x_labels(const svg *s, const axis *x, double y) {
    double tick[AXIS_TICKS], left = 2 * SVG_WIDTH;
    char text[32];
    for (int i = axis_ticks(x, tick) - 1; i >= 0; --i) {
        const double at = axis_at(x, tick[i]), half = svg_text_width(axis_text(tick[i], text)) / 2;
        svg_line(s, at, y, at, y + 4, "grid");
        if (at + half > left - 4)
            continue;
        left = fmin(at, SVG_WIDTH - half) - half;
        svg_text(s, left + half, y + 16, SVG_MIDDLE, "quiet", text);
    }
}

void graph_frame(const svg *s, const axis *x, const axis *y, const char *x_title,
                 const char *y_title) {
    double tick[AXIS_TICKS];
    char text[32];
    for (int i = 0, n = axis_ticks(y, tick); i < n; ++i) {
        const double at = axis_at(y, tick[i]);
        svg_line(s, x->from, at, x->to, at, "grid");
        svg_text(s, x->from - 5, at + 4, SVG_END, "quiet", axis_text(tick[i], text));
    }
    put_x_labels(s, x, y->from);
    svg_line(s, x->from, y->from, x->to, y->from, "one");
    svg_text(s, (x->from + x->to) / 2, y->from + 32, SVG_MIDDLE, "quiet", x_title);
    svg_text(s, 0, GRAPH_TOP - 10, SVG_START, "quiet", y_title);
}

void graph_legend(const svg *s, const graph_arms *arms, double top) {
    for (int32_t i = 0; i < arms->count; ++i) {
        const double x = 8 + (i % 2) * SVG_WIDTH / 2.0, y = top + (i / 2 + 0.5) * SVG_LINE;
        char name[SVG_FITTED];
        graph_mark(s, arms, arms->arm[i], x, y, NULL);
        svg_text(s, x + 9, y + 4, SVG_START, arms->arm[i]->ours ? "our-name" : "",
                 svg_fit(view_name(arms->arm[i]), SVG_WIDTH / 2.0 - 22, name));
    }
}

double graph_legend_height(const graph_arms *arms) {
    return (double)((arms->count + 1) / 2) * SVG_LINE;
}
