#include "bench/report/bars.h"

#include "bench/report/format.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

axis bars_axis(double *ratio, int64_t count) {
    double most = 1.5;
    if (count > 0) {
        qsort(ratio, (size_t)count, sizeof *ratio, by_value);
        most = fmax(most, fmin(1.02 * ratio[count - 1], fmax(3, 3 * ratio[count / 2])));
    }
    return axis_from_zero(most, BARS_LEFT, BARS_RIGHT);
}

void bars_frame(const svg *s, const axis *a, double bottom) {
    double tick[AXIS_TICKS];
    char text[32], times[40];
    const int n = axis_ticks(a, tick);
    for (int i = 0; i < n; ++i) {
        const double x = axis_at(a, tick[i]);
        snprintf(times, sizeof times, "%s%s", axis_text(tick[i], text),
                 tick[i] > 0 ? "\u00d7" : "");
        svg_text(s, x, BARS_TOP - 8, SVG_MIDDLE, "quiet", times);
        svg_line(s, x, BARS_TOP - 3, x, bottom, "grid");
    }
    svg_text(s, axis_at(a, 1), BARS_TOP - 22, SVG_MIDDLE, "quiet", "as fast");
    svg_line(s, axis_at(a, 1), BARS_TOP - 3, axis_at(a, 1), bottom, "one");
}

void bars_name(const svg *s, double y, const char *class, const char *name) {
    char fitted[SVG_FITTED];
    svg_text(s, BARS_LEFT - 6, y + 4, SVG_END, class, svg_fit(name, BARS_LEFT - 8, fitted));
}

void bars_mean(const svg *s, const axis *a, double y, double mean, const char *class,
               const char *after) {
    const bool slower = mean < 1 - BENCH_MARGIN;
    char number[FORMAT_NUMBER], value[2 * FORMAT_NUMBER];
    svg_rect(s, a->from, y - BARS_THICK / 2.0, axis_at(a, fmin(mean, a->high)) - a->from,
             BARS_THICK, class, NULL);
    snprintf(value, sizeof value, "%s\u00d7%s", format_fixed(mean, mean < 100 ? 2 : 0, number),
             after);
    svg_text(s, SVG_WIDTH, y + 4, SVG_END, slower ? "bad-value" : "value", value);
}

void bars_case(const svg *s, const axis *a, double y, const view_group *group,
               const bench_ratio *ratio) {
    char tip[256];
    snprintf(tip, sizeof tip, "%.160s: %.3f\u00d7, %s", group->label, ratio->ratio,
             bench_verdict_name(ratio->verdict));
    svg_mark(s, 0, axis_at(a, fmin(ratio->ratio, a->high)), y, "case-mark", tip);
}

static void put_interval(const svg *s, const axis *a, double y, const bench_ratio *ratio) {
    if (ratio->low <= a->high)
        svg_line(s, axis_at(a, ratio->low), y, axis_at(a, fmin(ratio->high, a->high)), y,
                 "whisker");
}

void bars_draw(const svg *s, const axis *a, double y, const bench_ratio *ratio, const char *class,
               const char *tip) {
    const bool cut = ratio->ratio > a->high;
    const double end = cut ? a->to : axis_at(a, ratio->ratio);
    char number[FORMAT_NUMBER], value[2 * FORMAT_NUMBER];
    svg_rect(s, a->from, y - BARS_THICK / 2.0, end - a->from, BARS_THICK, class, tip);
    put_interval(s, a, y, ratio);
    if (cut)
        for (int i = 0; i < 2; ++i)
            svg_line(s, end - 14 + 4 * i, y + 7, end - 10 + 4 * i, y - 7, "break");
    snprintf(value, sizeof value, "%s\u00d7 %s",
             format_fixed(ratio->ratio, ratio->ratio < 100 ? 2 : 0, number),
             format_verdict_sign(ratio->verdict));
    svg_text(s, fmax(end, axis_at(a, fmin(ratio->high, a->high))) + 4, y + 4, SVG_START,
             ratio->verdict == BENCH_SLOWER ? "bad-value" : "value", value);
}
