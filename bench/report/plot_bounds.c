/* Error / bound of the outputs of timed calls, a row for each arm of each section. An arm close to
 * 1 uses all of the error that the bound allows; an arm far below 1 computes more precisely than it
 * must. */
#include "bench/report/axis.h"
#include "bench/report/format.h"
#include "bench/report/graph.h"

#include <math.h>

enum { LEFT = 108, RIGHT = 310, TOP = 30, ROW = 15, HEAD = 22 };

static const double least = 1e-8; /* exact results stand there */

/* Worst of the arm's timed calls in the section; false: none was compared. */
static bool worst_of(const view_section *section, const bench_row *arm, double *worst) {
    bool any = false;
    *worst = 0;
    for (int64_t g = 0; g < section->count; ++g) {
        for (int64_t r = 0; r < section->group[g].count; ++r) {
            const view_row *row = &section->group[g].row[r];
            if (!view_timed(row) || !view_is_arm(row->row, arm) || isnan(row->row->ratio))
                continue;
            *worst = fmax(*worst, row->row->ratio);
            any = true;
        }
    }
    return any;
}

static int32_t count_arms(const plot *p, const view_section *section) {
    const graph_arms arms = graph_arms_of(p->v, section);
    int32_t count = 0;
    double worst;
    for (int32_t a = 0; a < arms.count; ++a)
        count += worst_of(section, arms.arm[a], &worst);
    return count;
}

double plot_bounds_height(const plot *p) {
    double height = TOP + 4;
    for (int64_t i = 0; i < p->v->n_sections; ++i) {
        const int32_t arms = count_arms(p, &p->v->section[i]);
        height += arms > 0 ? HEAD + arms * ROW : 0;
    }
    return height;
}

static axis axis_of(const view *v) {
    double low = 0.1, high = 1;
    for (int64_t i = 0; i < v->n_rows; ++i) {
        const double ratio = v->row[i].row->ratio;
        if (!view_timed(&v->row[i]) || !isfinite(ratio))
            continue;
        low = fmin(low, fmax(ratio, least));
        high = fmax(high, ratio);
    }
    return axis_logarithmic(low, high, LEFT, RIGHT);
}

static void put_frame(const svg *s, const axis *a, double bottom) {
    double tick[AXIS_TICKS];
    char text[32];
    double last = -SVG_WIDTH;
    for (int i = 0, n = axis_ticks(a, tick); i < n; ++i) {
        const double x = axis_at(a, tick[i]), half = svg_text_width(axis_text(tick[i], text)) / 2;
        svg_line(s, x, TOP - 4, x, bottom, "grid");
        if (x - half < last + 4)
            continue;
        svg_text(s, x, TOP - 8, SVG_MIDDLE, "quiet", text);
        last = x + half;
    }
    svg_line(s, axis_at(a, 1), TOP - 4, axis_at(a, 1), bottom, "one");
    svg_text(s, axis_at(a, 1), TOP - 20, SVG_END, "quiet", "bound = 1");
}

static void put_arm(const svg *s, const axis *a, const graph_arms *arms,
                    const view_section *section, const bench_row *arm, double worst, double y) {
    char name[SVG_FITTED], number[FORMAT_NUMBER];
    svg_text(s, LEFT - 8, y + 4, SVG_END, arm->ours ? "our-name" : "",
             svg_fit(view_name(arm), LEFT - 10, name));
    for (int64_t g = 0; g < section->count; ++g) {
        for (int64_t r = 0; r < section->group[g].count; ++r) {
            const view_row *row = &section->group[g].row[r];
            char tip[256];
            if (!view_timed(row) || !view_is_arm(row->row, arm) || !isfinite(row->row->ratio))
                continue;
            snprintf(tip, sizeof tip, "%.120s %s: %.3g at %s", section->group[g].label,
                     bench_stage_name(section->group[g].stage), row->row->ratio,
                     row->row->worst_tensor);
            graph_mark(s, arms, arm, axis_at(a, fmax(row->row->ratio, a->low)), y, tip);
        }
    }
    svg_text(s, SVG_WIDTH, y + 4, SVG_END, "", format_ratio(worst, number));
}

void plot_bounds(const plot *p, const svg *s) {
    const axis a = axis_of(p->v);
    double y = TOP, worst;
    put_frame(s, &a, plot_bounds_height(p));
    svg_text(s, SVG_WIDTH, TOP - 8, SVG_END, "quiet", "worst");
    for (int64_t i = 0; i < p->v->n_sections; ++i) {
        const view_section *section = &p->v->section[i];
        const graph_arms arms = graph_arms_of(p->v, section);
        if (count_arms(p, section) == 0)
            continue;
        svg_text(s, 0, y + HEAD - 7, SVG_START, "strong", section->name);
        y += HEAD;
        for (int32_t k = 0; k < arms.count; ++k) {
            if (!worst_of(section, arms.arm[k], &worst))
                continue;
            put_arm(s, &a, &arms, section, arms.arm[k], worst, y + ROW / 2.0);
            y += ROW;
        }
    }
}
