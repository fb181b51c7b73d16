/* Time over size: a line through each arm's medians, within its band, and the arm's name at its
 * end. */
#include "bench/report/format.h"
#include "bench/report/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 96 /* room for names */, BELOW = 40, APART = 13 };

double plot_sweep_height(const plot *p) {
    (void)p;
    return GRAPH_TOP + GRAPH_HEIGHT + BELOW;
}

/* The row of an arm at a point; NULL: not timed. */
static const view_row *row_at(const sweep_point *point, const bench_row *arm) {
    for (int64_t r = 0; r < point->group->count; ++r) {
        const view_row *row = &point->group->row[r];
        if (view_is_arm(row->row, arm) && view_timed(row))
            return row;
    }
    return NULL;
}

/* ---- one arm's line ---- */

typedef struct curve {
    const plot *p;
    const graph_arms *arms;
    const axis *x, *y;
} curve;

/* Along p90 and back along p10. */
static void put_band(const curve *c, const svg *s, const bench_row *arm) {
    const sweep *it = c->p->sweep;
    const char *letter = "M";
    fputs("<path d=\"", s->to);
    for (int32_t i = 0; i < 2 * it->count; ++i) {
        const bool back = i >= it->count;
        const sweep_point *point = &it->point[back ? 2 * it->count - 1 - i : i];
        const view_row *row = row_at(point, arm);
        if (row == NULL)
            continue;
        const bench_summary *time = &row->derived.time;
        fprintf(s->to, "%s%.1f %.1f", letter, axis_at(c->x, point->size),
                axis_at(c->y, back ? time->p10 : time->p90));
        letter = "L";
    }
    fprintf(s->to, "Z\" class=\"%s-band\"/>\n", arm->ours ? "our" : "peer");
}

/* Broken where a point is missing. */
static void put_line(const curve *c, const svg *s, const bench_row *arm) {
    const sweep *it = c->p->sweep;
    bool on = false;
    fputs("<path d=\"M", s->to);
    for (int32_t i = 0; i < it->count; ++i) {
        const view_row *row = row_at(&it->point[i], arm);
        if (row != NULL)
            fprintf(s->to, "%s%.1f %.1f",
                    on      ? "L"
                    : i > 0 ? " M"
                            : "",
                    axis_at(c->x, it->point[i].size), axis_at(c->y, row->derived.time.median));
        on = row != NULL;
    }
    fprintf(s->to, "\" class=\"%s-line\"/>\n", graph_role(c->arms, arm));
}

static void put_marks(const curve *c, const svg *s, const bench_row *arm) {
    const sweep *it = c->p->sweep;
    for (int32_t i = 0; i < it->count; ++i) {
        const view_row *row = row_at(&it->point[i], arm);
        char tip[256], median[FORMAT_NUMBER];
        if (row == NULL)
            continue;
        snprintf(tip, sizeof tip, "%.60s, %.120s: %s \u00b5s", view_name(arm),
                 it->point[i].group->label, format_short(row->derived.time.median, median));
        graph_mark(s, c->arms, arm, axis_at(c->x, it->point[i].size),
                   axis_at(c->y, row->derived.time.median), tip);
    }
}

/* ---- names ---- */

typedef struct end {
    const bench_row *arm;
    double x, y, text; /* the line's end; the height of its name */
} end;

static int by_height(const void *a, const void *b) {
    const double x = ((const end *)a)->y, y = ((const end *)b)->y;
    return (x > y) - (x < y);
}

static int32_t find_ends(const curve *c, end *ends) {
    const sweep *it = c->p->sweep;
    int32_t count = 0;
    for (int32_t a = 0; a < c->arms->count; ++a) {
        for (int32_t i = it->count - 1; i >= 0; --i) {
            const view_row *row = row_at(&it->point[i], c->arms->arm[a]);
            if (row == NULL)
                continue;
            const double y = axis_at(c->y, row->derived.time.median);
            ends[count++] = (end){c->arms->arm[a], axis_at(c->x, it->point[i].size), y, y};
            break;
        }
    }
    qsort(ends, (size_t)count, sizeof *ends, by_height);
    return count;
}

/* Down where they would cover one another, then up from the frame's foot. */
static void spread(end *ends, int32_t count, double foot) {
    for (int32_t i = 1; i < count; ++i)
        ends[i].text = fmax(ends[i].text, ends[i - 1].text + APART);
    for (int32_t i = count - 1; i >= 0; --i) {
        const double most = i == count - 1 ? foot : ends[i + 1].text - APART;
        ends[i].text = fmin(ends[i].text, most);
    }
}

static void put_names(const curve *c, const svg *s) {
    end ends[GRAPH_ARMS];
    char name[SVG_FITTED];
    const int32_t count = find_ends(c, ends);
    spread(ends, count, c->y->from);
    for (int32_t i = 0; i < count; ++i) {
        svg_line(s, ends[i].x + 5, ends[i].y, c->x->to + 12, ends[i].text, "leader");
        svg_text(s, c->x->to + 14, ends[i].text + 4, SVG_START, ends[i].arm->ours ? "our-name" : "",
                 svg_fit(view_name(ends[i].arm), NAMES, name));
    }
}

/* ---- the whole ---- */

static axis time_axis(const sweep *it) {
    double low = INFINITY, high = 0;
    for (int32_t i = 0; i < it->count; ++i) {
        for (int64_t r = 0; r < it->point[i].group->count; ++r) {
            const view_row *row = &it->point[i].group->row[r];
            if (view_timed(row)) {
                low = fmin(low, row->derived.time.p10);
                high = fmax(high, row->derived.time.p90);
            }
        }
    }
    return axis_logarithmic(low, high, GRAPH_TOP + GRAPH_HEIGHT, GRAPH_TOP);
}

/* A tick at each size, as far as their labels have room. */
static axis size_axis(const sweep *it) {
    const double low = it->point[0].size, high = it->point[it->count - 1].size;
    axis a = {.low = low, .high = high, .from = GRAPH_LEFT + 8, .log = true};
    a.to = SVG_WIDTH - NAMES - 16;
    if (it->count <= AXIS_TICKS && !it->by_bytes)
        a.n_own = it->count;
    for (int32_t i = 0; i < a.n_own; ++i)
        a.own[i] = it->point[i].size;
    return a;
}

void plot_sweep(const plot *p, const svg *s) {
    const sweep *it = p->sweep;
    const graph_arms arms = graph_arms_of(p->v, it->section);
    const axis x = size_axis(it), y = time_axis(it);
    const curve c = {p, &arms, &x, &y};
    graph_frame(s, &x, &y, it->axis, "\u00b5s");
    for (int32_t a = arms.count - 1; a >= 0; --a)
        put_band(&c, s, arms.arm[a]);
    put_names(&c, s);
    for (int32_t a = arms.count - 1; a >= 0; --a) {
        put_line(&c, s, arms.arm[a]);
        put_marks(&c, s, arms.arm[a]);
    }
}
