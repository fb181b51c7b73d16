/*
 * Operations a second over operations a byte, both as the definition counts them, under the
 * device's limits: the copy that was measured beside, and its data sheet (Williams, Waterman and
 * Patterson, "Roofline", CACM 52, 2009). Data that stays in the L2 cache, and algorithms of fewer
 * operations than the definition, come out above.
 */
#include "bench/ceilings.h"
#include "bench/report/format.h"
#include "bench/report/graph.h"
#include "bench/report/words.h"

#include <math.h>
#include <string.h>

enum { LEGEND_GAP = 42 };

static bool has_point(const view *v, const view_row *row) {
    return row->row->cache == v->cache && view_timed(row) &&
           isnormal(row->row->flops / row->row->bytes) && isnormal(row->derived.tflops);
}

bool plot_has_roofline(const view *v, const view_section *section) {
    for (int64_t g = 0; g < section->count; ++g)
        for (int64_t r = 0; r < section->group[g].count; ++r)
            if (has_point(v, &section->group[g].row[r]))
                return true;
    return false;
}

double plot_roofline_height(const plot *p) {
    const graph_arms arms = graph_arms_of(p->v, p->section);
    return GRAPH_TOP + GRAPH_HEIGHT + LEGEND_GAP + graph_legend_height(&arms) + 2 * SVG_LINE + 4;
}

/* ---- ceilings ---- */

typedef struct ceiling {
    double tflops;
    char name[32];
} ceiling;

typedef struct roof {
    double copy, sheet; /* TB/s, which is TFLOP/s at one operation a byte; NaN: unknown */
    ceiling peak[ASSAY_DTYPES + 1];
    int n_peaks;
} roof;

static bool section_has(const view_section *section, const char *key, const char *value) {
    char found[ASSAY_CASE_TEXT];
    for (int64_t g = 0; g < section->count; ++g) {
        words_value(section->group[g].case_text, key, found);
        if (strcmp(found, value) == 0)
            return true;
    }
    return false;
}

static void add_peak(roof *r, double flops, const char *name) {
    if (isnan(flops))
        return;
    r->peak[r->n_peaks].tflops = flops / 1e12;
    snprintf(r->peak[r->n_peaks++].name, sizeof r->peak->name, "%s", name);
}

static roof roof_of(const plot *p) {
    const bench_environment *e = &p->v->results->environment;
    const bench_ceilings sheet = bench_ceilings_of(e->device);
    roof r = {.copy = e->copy_bytes > 0 ? e->copy_bytes / 1e12 : (double)NAN,
              .sheet = sheet.bytes / 1e12};
    for (int d = 0; d < ASSAY_DTYPES; ++d)
        if (section_has(p->section, "dtype", assay_dtype_name((assay_dtype)d)))
            add_peak(&r, sheet.flops[d], assay_dtype_name((assay_dtype)d));
    if (section_has(p->section, "dtype", "f32"))
        add_peak(&r, sheet.tf32, "tf32");
    return r;
}

static double highest_peak(const roof *r) {
    double most = INFINITY;
    for (int i = 0; i < r->n_peaks; ++i)
        most = i == 0 ? r->peak[i].tflops : fmax(most, r->peak[i].tflops);
    return most;
}

/* The piece of y = bandwidth x, up to the highest peak, that is on the picture. */
typedef struct slope {
    double bandwidth, from, to;
    bool shown;
} slope;

static slope slope_of(const axis *x, const axis *y, double bandwidth, double peak) {
    slope it = {.bandwidth = bandwidth};
    it.from = fmax(x->low, y->low / bandwidth);
    it.to = fmin(fmin(x->high, y->high / bandwidth), peak / bandwidth);
    it.shown = !isnan(bandwidth) && it.from < it.to;
    return it;
}

static void put_slope(const svg *s, const axis *x, const axis *y, const slope *it,
                      const char *class) {
    if (it->shown)
        svg_line(s, axis_at(x, it->from), axis_at(y, it->from * it->bandwidth), axis_at(x, it->to),
                 axis_at(y, it->to * it->bandwidth), class);
}

/* What a slope is, beside a piece of its line; returns where the next one goes. */
static double put_slope_name(const svg *s, double y, const slope *it, const char *class,
                             const char *name) {
    char label[96], number[FORMAT_NUMBER];
    if (!it->shown)
        return y;
    svg_line(s, 0, y + 0.5 * SVG_LINE, 16, y + 0.5 * SVG_LINE, class);
    snprintf(label, sizeof label, "%s: %s TB/s", name, format_fixed(it->bandwidth, 2, number));
    svg_text(s, 22, y + 0.5 * SVG_LINE + 4, SVG_START, "quiet", label);
    return y + SVG_LINE;
}

static void put_peak(const svg *s, const axis *x, const axis *y, const roof *r,
                     const ceiling *peak) {
    const double bandwidth = isnan(r->sheet) ? r->copy : r->sheet;
    const double from = isnan(bandwidth) ? x->low : fmax(x->low, peak->tflops / bandwidth);
    char label[96], number[FORMAT_NUMBER];
    if (!(from < x->high && peak->tflops < y->high && peak->tflops > y->low))
        return;
    svg_line(s, axis_at(x, from), axis_at(y, peak->tflops), x->to, axis_at(y, peak->tflops),
             "sheet");
    snprintf(label, sizeof label, "data sheet, %s: %s TFLOP/s", peak->name,
             format_fixed(peak->tflops, 0, number));
    svg_text(s, x->to, axis_at(y, peak->tflops) - 4, SVG_END, "quiet", label);
}

/* `below`: where the names of slopes go. */
static void put_roof(const svg *s, const axis *x, const axis *y, const roof *r, double below) {
    const double peak = highest_peak(r);
    const slope copy = slope_of(x, y, r->copy, peak), sheet = slope_of(x, y, r->sheet, peak);
    put_slope(s, x, y, &sheet, "sheet");
    put_slope(s, x, y, &copy, "ceiling");
    for (int i = 0; i < r->n_peaks; ++i)
        put_peak(s, x, y, r, &r->peak[i]);
    below = put_slope_name(s, below, &copy, "ceiling", "slope of the copy that was measured");
    put_slope_name(s, below, &sheet, "sheet", "slope of the data sheet");
}

/* ---- points ---- */

typedef struct range {
    double low, high;
} range;

static void widen(range *r, double value) {
    if (isfinite(value) && value > 0) {
        r->low = fmin(r->low, value);
        r->high = fmax(r->high, value);
    }
}

static void ranges_of(const plot *p, const roof *r, range *x, range *y) {
    *x = *y = (range){INFINITY, 0};
    for (int64_t g = 0; g < p->section->count; ++g) {
        const view_group *group = &p->section->group[g];
        for (int64_t i = 0; i < group->count; ++i) {
            if (!has_point(p->v, &group->row[i]))
                continue;
            widen(x, group->row[i].row->flops / group->row[i].row->bytes);
            widen(y, group->row[i].derived.tflops);
        }
    }
    widen(x, x->low / 2);
    widen(x, x->high * 2);
    widen(y, 1.3 * fmin(highest_peak(r), x->high * (isnan(r->sheet) ? r->copy : r->sheet)));
}

static void put_points(const plot *p, const svg *s, const graph_arms *arms, const axis *x,
                       const axis *y, bool ours) {
    for (int64_t g = 0; g < p->section->count; ++g) {
        const view_group *group = &p->section->group[g];
        for (int64_t i = 0; i < group->count; ++i) {
            const view_row *row = &group->row[i];
            char tip[320], number[FORMAT_NUMBER];
            if (row->row->ours != ours || !has_point(p->v, row))
                continue;
            snprintf(tip, sizeof tip, "%.60s, %.120s %s: %s TFLOP/s", view_name(row->row),
                     group->label, bench_stage_name(group->stage),
                     format_short(row->derived.tflops, number));
            graph_mark(s, arms, row->row, axis_at(x, row->row->flops / row->row->bytes),
                       axis_at(y, row->derived.tflops), tip);
        }
    }
}

void plot_roofline(const plot *p, const svg *s) {
    const graph_arms arms = graph_arms_of(p->v, p->section);
    const roof r = roof_of(p);
    const double legend = GRAPH_TOP + GRAPH_HEIGHT + LEGEND_GAP;
    range of_x, of_y;
    ranges_of(p, &r, &of_x, &of_y);
    const axis x = axis_logarithmic(of_x.low, of_x.high, GRAPH_LEFT, SVG_WIDTH - 6);
    const axis y = axis_logarithmic(of_y.low, of_y.high, GRAPH_TOP + GRAPH_HEIGHT, GRAPH_TOP);
    graph_frame(s, &x, &y, "operations a byte", "TFLOP/s");
    put_roof(s, &x, &y, &r, legend + graph_legend_height(&arms));
    put_points(p, s, &arms, &x, &y, false);
    put_points(p, s, &arms, &x, &y, true);
    graph_legend(s, &arms, legend);
}
