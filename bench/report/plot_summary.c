/* Best peer / our best: each section's and stage's geometric mean, and its cases. */
#include "bench/report/bars.h"

#include <math.h>
#include <stdlib.h>

static int count_stages(const plot *p, const view_section *section) {
    int count = 0;
    int64_t cases;
    for (int stage = BENCH_FORWARD; stage <= BENCH_BOTH; ++stage)
        count += !isnan(view_mean(p->v, section, (bench_stage)stage, &cases));
    return count;
}

double plot_summary_height(const plot *p) {
    double height = BARS_TOP + 4;
    for (int64_t i = 0; i < p->v->n_sections; ++i) {
        const int stages = count_stages(p, &p->v->section[i]);
        height += stages > 0 ? BARS_HEAD + stages * BARS_ROW : 0;
    }
    return height;
}

static axis axis_of(const view *v) {
    double *ratio = malloc((size_t)(v->n_groups + 1) * sizeof *ratio);
    bench_ratio of_group;
    int64_t count = 0;
    for (int64_t g = 0; ratio != NULL && g < v->n_groups; ++g)
        if (v->group[g].cache == v->cache && view_ratio(&v->group[g], &of_group))
            ratio[count++] = of_group.ratio;
    const axis a = bars_axis(ratio, count);
    free(ratio);
    return a;
}

static void put_stage(const plot *p, const svg *s, const axis *a, const view_section *section,
                      bench_stage stage, double mean, double y) {
    bench_ratio ratio;
    bars_name(s, y, "", bench_stage_name(stage));
    bars_mean(s, a, y, mean, mean < 1 - BENCH_MARGIN ? "bar-slower" : "bar-best", "");
    for (int64_t g = 0; g < section->count; ++g) {
        const view_group *group = &section->group[g];
        if (group->stage == stage && group->cache == p->v->cache && view_ratio(group, &ratio))
            bars_case(s, a, y, group, &ratio);
    }
}

void plot_summary(const plot *p, const svg *s) {
    const axis a = axis_of(p->v);
    double y = BARS_TOP;
    bars_frame(s, &a, plot_summary_height(p));
    for (int64_t i = 0; i < p->v->n_sections; ++i) {
        const view_section *section = &p->v->section[i];
        if (count_stages(p, section) == 0)
            continue;
        svg_text(s, 0, y + BARS_HEAD - 7, SVG_START, "strong", section->name);
        y += BARS_HEAD;
        for (int stage = BENCH_FORWARD; stage <= BENCH_BOTH; ++stage) {
            int64_t cases;
            const double mean = view_mean(p->v, section, (bench_stage)stage, &cases);
            if (isnan(mean))
                continue;
            put_stage(p, s, &a, section, (bench_stage)stage, mean, y + 0.5 * BARS_ROW);
            y += BARS_ROW;
        }
    }
}
