/* Our best arm's time against each peer's: of a section with several cases, the geometric mean over
 * those that both were timed in. */
#include "bench/report/bars.h"
#include "bench/report/graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The ratio of that peer in a group; false: one of the two was not timed there. */
static bool ratio_to(const view_group *group, const bench_row *peer, bench_ratio *ratio) {
    for (int64_t r = 0; r < group->count; ++r) {
        if (view_is_arm(group->row[r].row, peer) && !isnan(group->row[r].versus.ratio)) {
            *ratio = group->row[r].versus;
            return true;
        }
    }
    return false;
}

/* Of one stage: how many cases there are, in how many of them both were timed, and their mean. */
typedef struct against {
    int64_t cases, both;
    double mean;
} against;

static against sum_up(const plot *p, const bench_row *peer, bench_stage stage) {
    against sum = {0};
    double logarithms = 0;
    bench_ratio ratio;
    for (int64_t g = 0; g < p->section->count; ++g) {
        const view_group *group = &p->section->group[g];
        if (group->stage != stage || group->cache != p->v->cache)
            continue;
        ++sum.cases;
        if (!ratio_to(group, peer, &ratio))
            continue;
        logarithms += log(ratio.ratio);
        ++sum.both;
    }
    sum.mean = exp(logarithms / (double)sum.both);
    return sum;
}

/* Peers that can be compared in that stage; fills `peer`. */
static int32_t find_peers(const plot *p, bench_stage stage, const bench_row *peer[GRAPH_ARMS]) {
    const graph_arms arms = graph_arms_of(p->v, p->section);
    int32_t count = 0;
    for (int32_t a = 0; a < arms.count; ++a)
        if (!arms.arm[a]->ours && sum_up(p, arms.arm[a], stage).both > 0)
            peer[count++] = arms.arm[a];
    return count;
}

bool plot_has_peers(const view *v, const view_section *section) {
    const plot p = {.v = v, .section = section};
    const bench_row *peer[GRAPH_ARMS];
    for (int stage = BENCH_FORWARD; stage <= BENCH_BOTH; ++stage) {
        const int32_t peers = find_peers(&p, (bench_stage)stage, peer);
        for (int32_t i = 0; i < peers; ++i)
            if (sum_up(&p, peer[i], (bench_stage)stage).both > 1)
                return true;
    }
    return false;
}

double plot_peers_height(const plot *p) {
    const bench_row *peer[GRAPH_ARMS];
    double height = BARS_TOP + 4;
    for (int stage = BENCH_FORWARD; stage <= BENCH_BOTH; ++stage) {
        const int32_t peers = find_peers(p, (bench_stage)stage, peer);
        height += peers > 0 ? BARS_HEAD + peers * BARS_ROW : 0;
    }
    return height;
}

static axis axis_of(const plot *p) {
    double *ratio = malloc((size_t)(p->v->n_rows + 1) * sizeof *ratio);
    int64_t count = 0;
    for (int64_t g = 0; ratio != NULL && g < p->section->count; ++g) {
        const view_group *group = &p->section->group[g];
        for (int64_t r = 0; group->cache == p->v->cache && r < group->count; ++r)
            if (!group->row[r].row->ours && !isnan(group->row[r].versus.ratio))
                ratio[count++] = group->row[r].versus.ratio;
    }
    const axis a = bars_axis(ratio, count);
    free(ratio);
    return a;
}

static void put_peer(const plot *p, const svg *s, const axis *a, const bench_row *peer,
                     bench_stage stage, double y) {
    const against sum = sum_up(p, peer, stage);
    bench_ratio ratio;
    char after[48] = "";
    if (sum.both < sum.cases)
        snprintf(after, sizeof after, ", %" PRId64 "/%" PRId64, sum.both, sum.cases);
    bars_name(s, y, "", view_name(peer));
    bars_mean(s, a, y, sum.mean, sum.mean < 1 - BENCH_MARGIN ? "bar-slower" : "bar-peer", after);
    for (int64_t g = 0; g < p->section->count; ++g) {
        const view_group *group = &p->section->group[g];
        if (group->stage == stage && group->cache == p->v->cache && ratio_to(group, peer, &ratio))
            bars_case(s, a, y, group, &ratio);
    }
}

void plot_peers(const plot *p, const svg *s) {
    const axis a = axis_of(p);
    const bench_row *peer[GRAPH_ARMS];
    double y = BARS_TOP;
    bars_frame(s, &a, plot_peers_height(p));
    for (int stage = BENCH_FORWARD; stage <= BENCH_BOTH; ++stage) {
        const int32_t peers = find_peers(p, (bench_stage)stage, peer);
        if (peers == 0)
            continue;
        svg_text(s, 0, y + BARS_HEAD - 7, SVG_START, "strong",
                 bench_stage_name((bench_stage)stage));
        y += BARS_HEAD;
        for (int32_t i = 0; i < peers; ++i, y += BARS_ROW)
            put_peer(p, s, &a, peer[i], (bench_stage)stage, y + 0.5 * BARS_ROW);
    }
}
