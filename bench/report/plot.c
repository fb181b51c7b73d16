#include "bench/report/plot.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two sections' names may become one word. */
static void make_unique(const plots *p, plot *item) {
    const size_t length = strlen(item->id);
    int32_t taken = 0;
    for (int32_t i = 0; i < p->count; ++i)
        taken += strncmp(p->item[i].id, item->id, length) == 0;
    for (int32_t i = 0; i < p->count; ++i) {
        if (strcmp(p->item[i].id, item->id) == 0) {
            snprintf(item->id + length, PLOT_ID - length, "-%d", taken + 1);
            i = -1;
            ++taken;
        }
    }
}

static assay_status add(plots *p, plot *item) {
    make_unique(p, item);
    if (p->count == p->room) {
        const int32_t room = p->room > 0 ? 2 * p->room : 16;
        plot *more = realloc(p->item, (size_t)room * sizeof *more);
        if (more == NULL)
            return assay_fail(ASSAY_ERR_MEMORY, "no memory for %d pictures", room);
        p->item = more;
        p->room = room;
    }
    p->item[p->count++] = *item;
    return ASSAY_OK;
}

/* A file's name and an id: letters, digits and `-`. */
static void name(plot *item, const char *kind) {
    const char *words = item->section != NULL ? item->section->name : "";
    size_t length = (size_t)snprintf(item->id, PLOT_ID, "%s", kind);
    for (size_t i = 0; words[i] != '\0' && i < PLOT_ID / 2; ++i) {
        if (i == 0)
            item->id[length++] = '-';
        item->id[length++] = isalnum((unsigned char)words[i]) || words[i] == '_' ? words[i] : '-';
    }
    item->id[length] = '\0';
}

/* Whether a peer was meant to run beside ours. */
static bool has_peer(const view *v, const view_section *section, bench_stage stage) {
    for (int64_t g = 0; g < section->count; ++g) {
        const view_group *group = &section->group[g];
        for (int64_t r = 0; r < group->count; ++r)
            if (group->stage == stage && group->cache == v->cache && !group->row[r].row->ours)
                return true;
    }
    return false;
}

static assay_status add_summary(plots *p, const view *v) {
    plot item = {.kind = PLOT_SUMMARY, .v = v};
    if (isnan(v->mean))
        return ASSAY_OK;
    name(&item, "summary");
    snprintf(item.title, sizeof item.title, "How many times as fast as the best peer");
    snprintf(item.note, sizeof item.note,
             "Best peer's median / ours, %s. Bars: geometric means; dots: cases.",
             bench_cache_name(v->cache));
    return add(p, &item);
}

static assay_status add_bounds(plots *p, const view *v) {
    plot item = {.kind = PLOT_BOUNDS, .v = v};
    if (v->worst == NULL)
        return ASSAY_OK;
    name(&item, "bounds");
    snprintf(item.title, sizeof item.title, "Error of the very outputs that were timed");
    snprintf(item.note, sizeof item.note,
             "Worst element's error / its bound, a dot for each case; right of 1 is wrong.");
    return add(p, &item);
}

static assay_status add_peers(plots *p, const view *v, const view_section *section) {
    plot item = {.kind = PLOT_PEERS, .v = v, .section = section};
    if (!plot_has_peers(v, section))
        return ASSAY_OK;
    name(&item, "peers");
    snprintf(item.title, sizeof item.title, "Our best against each peer");
    snprintf(item.note, sizeof item.note,
             "Peer's median / ours, %s. Bars: geometric means; dots: cases; 4/5: of so many both "
             "were timed.",
             bench_cache_name(v->cache));
    return add(p, &item);
}

static assay_status add_speedups(plots *p, const view *v, const view_section *section) {
    for (int stage = BENCH_FORWARD; stage <= BENCH_BOTH; ++stage) {
        plot item = {
            .kind = PLOT_SPEEDUPS, .v = v, .section = section, .stage = (bench_stage)stage};
        if (!has_peer(v, section, item.stage))
            continue;
        name(&item, stage == BENCH_FORWARD    ? "speedup-forward"
                    : stage == BENCH_BACKWARD ? "speedup-backward"
                                              : "speedup-both");
        snprintf(item.title, sizeof item.title, "Each case, %s", bench_stage_name(item.stage));
        snprintf(item.note, sizeof item.note,
                 "Peer's median / ours, %s; whisker: 95 %% interval. Bold and blue: the best peer.",
                 bench_cache_name(v->cache));
        const assay_status status = add(p, &item);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

static assay_status add_sweeps(plots *p, const view *v, const view_section *section) {
    for (int32_t i = 0; i < p->sweeps.count; ++i) {
        const sweep *it = &p->sweeps.item[i];
        plot item = {.kind = PLOT_SWEEP, .v = v, .section = section, .sweep = it};
        if (it->section != section)
            continue;
        name(&item, "sweep");
        snprintf(item.title, sizeof item.title, "Time over %s, %s%s%.100s", it->axis,
                 bench_stage_name(it->stage), it->fixed[0] != '\0' ? ", " : "", it->fixed);
        snprintf(item.note, sizeof item.note,
                 "Medians, %s; bands: p10 to p90. Both axes logarithmic.",
                 bench_cache_name(v->cache));
        const assay_status status = add(p, &item);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

static assay_status add_roofline(plots *p, const view *v, const view_section *section) {
    plot item = {.kind = PLOT_ROOFLINE, .v = v, .section = section};
    if (!plot_has_roofline(v, section))
        return ASSAY_OK;
    name(&item, "roofline");
    snprintf(item.title, sizeof item.title, "Roofline");
    snprintf(item.note, sizeof item.note,
             "A point for each arm and case, %s. Both axes logarithmic.",
             bench_cache_name(v->cache));
    return add(p, &item);
}

assay_status plots_init(plots *p, const view *v) {
    assay_status status;
    *p = (plots){0};
    if ((status = sweeps_init(&p->sweeps, v)) != ASSAY_OK ||
        (status = add_summary(p, v)) != ASSAY_OK)
        goto done;
    for (int64_t i = 0; i < v->n_sections; ++i) {
        const view_section *section = &v->section[i];
        if ((status = add_peers(p, v, section)) != ASSAY_OK ||
            (status = add_speedups(p, v, section)) != ASSAY_OK ||
            (status = add_sweeps(p, v, section)) != ASSAY_OK ||
            (status = add_roofline(p, v, section)) != ASSAY_OK)
            goto done;
    }
    status = add_bounds(p, v);
done:
    if (status != ASSAY_OK)
        plots_clear(p);
    return status;
}

void plots_clear(plots *p) {
    sweeps_clear(&p->sweeps);
    free(p->item);
    *p = (plots){0};
}

static const struct {
    void (*draw)(const plot *p, const svg *s);
    double (*height)(const plot *p);
} kinds[] = {
    [PLOT_SUMMARY] = {plot_summary, plot_summary_height},
    [PLOT_PEERS] = {plot_peers, plot_peers_height},
    [PLOT_SPEEDUPS] = {plot_speedups, plot_speedups_height},
    [PLOT_SWEEP] = {plot_sweep, plot_sweep_height},
    [PLOT_ROOFLINE] = {plot_roofline, plot_roofline_height},
    [PLOT_BOUNDS] = {plot_bounds, plot_bounds_height},
};

double plot_height(const plot *p) {
    const double notice = p->v->results->environment.simulated ? 2 * SVG_LINE : 0;
    return kinds[p->kind].height(p) + notice;
}

/* A picture of its own is seen without its page, so that it says itself what it is. */
void plot_draw(const plot *p, const svg *s) {
    char title[BENCH_NAME + PLOT_TITLE + 2];
    snprintf(title, sizeof title, "%s%s%s", p->section != NULL ? p->section->name : "",
             p->section != NULL ? ": " : "", p->title);
    svg_open(s, p->id, title, p->note, plot_height(p));
    kinds[p->kind].draw(p, s);
    if (p->v->results->environment.simulated)
        svg_text(s, 0, plot_height(p) - 6, SVG_START, "bad-name",
                 "Simulated on the host: no measurement.");
    svg_close(s);
}
