/* For people at a terminal of 100 columns. */
#include "bench/report/escape.h"
#include "bench/report/format.h"
#include "bench/report/report.h"
#include "bench/report/writers.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 100, NARROWEST = 8, WIDEST = 28 /* columns of an arm's name */, SECTION = 24 };

typedef struct terminal {
    FILE *stream;
    bool color;
    int arm; /* columns for names of arms */
} terminal;

/* ---- words ---- */

static void put_colored(const terminal *t, const char *color, const char *word, int width) {
    const int fill = width - (int)strlen(word);
    fprintf(t->stream, "%s%s%s%*s", t->color ? color : "", word, t->color ? "\033[0m" : "",
            fill > 0 ? fill : 0, "");
}

static void put_verdict(const terminal *t, bench_verdict verdict, int width) {
    static const char *const colors[] = {
        [BENCH_FASTER] = "\033[32m",
        [BENCH_SAME] = "\033[36m",
        [BENCH_SLOWER] = "\033[31m",
        [BENCH_UNCLEAR] = "\033[33m",
    };
    put_colored(t, colors[verdict], bench_verdict_name(verdict), width);
}

static void put_status(const terminal *t, bench_status status) {
    put_colored(t, status == BENCH_UNAVAILABLE || status == BENCH_OK ? "\033[36m" : "\033[31m",
                bench_status_name(status), 11);
}

/* Text that breaks at blanks, each line after the first indented. Takes the first to stand there
 * already. */
static void put_wrapped(FILE *to, int indent, const char *text) {
    int column = indent;
    while (*text != '\0') {
        const int word = (int)strcspn(text, " ");
        char piece[WIDTH + 1];
        if (column > indent && column + 1 + word > WIDTH) {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            putc(' ', to);
            ++column;
        }
        for (int at = 0; at < word; at += WIDTH) {
            snprintf(piece, sizeof piece, "%.*s", word - at < WIDTH ? word - at : WIDTH, text + at);
            escape_terminal(to, piece);
        }
        column += word;
        text += word + (text[word] == ' ');
    }
    putc('\n', to);
}

/* ---- a group ---- */

static double least_time(const view_group *group) {
    double least = INFINITY;
    for (int64_t r = 0; r < group->count; ++r)
        if (view_timed(&group->row[r]))
            least = fmin(least, group->row[r].derived.time.median);
    return least;
}

static int64_t count_timed(const view_group *group) {
    int64_t count = 0;
    for (int64_t r = 0; r < group->count; ++r)
        count += view_timed(&group->row[r]);
    return count;
}

/* Columns are bytes here: a name's letters beyond ASCII cost alignment, no more. */
static void put_name(const terminal *t, const view_row *row) {
    char name[WIDEST + 1];
    snprintf(name, sizeof name, "%.*s", t->arm, view_name(row->row));
    fputs("    ", t->stream);
    escape_terminal(t->stream, name);
    fprintf(t->stream, "%*s", t->arm - (int)strlen(name), "");
}

/* The columns of a table of times, behind the arm's name. */
typedef enum time_column {
    MEDIAN,
    P10,
    P90,
    SPEEDUP,
    INTERVAL,
    VERDICT,
    OF_BOUND,
    FLOOR,
    TIME_COLUMNS,
} time_column;

static const char *const time_heads[TIME_COLUMNS] = {"median",        "p10", "p90",      "speedup",
                                                     "95 % interval", "",    "of bound", "floor"};

typedef struct time_cells {
    char text[TIME_COLUMNS][FORMAT_NUMBER];
} time_cells;

static void format_cells(const view_row *row, int decimals, time_cells *cells) {
    const bench_summary *time = &row->derived.time;
    const double share = row->derived.share;
    *cells = (time_cells){0};
    format_fixed(time->median, decimals, cells->text[MEDIAN]);
    format_fixed(time->p10, decimals, cells->text[P10]);
    format_fixed(time->p90, decimals, cells->text[P90]);
    if (!isnan(row->versus.ratio)) {
        snprintf(cells->text[SPEEDUP], FORMAT_NUMBER, "%.2fx", row->versus.ratio);
        format_interval(&row->versus, " - ", cells->text[INTERVAL]);
        snprintf(cells->text[VERDICT], FORMAT_NUMBER, "%s",
                 bench_verdict_name(row->versus.verdict));
    }
    format_ratio(row->row->ratio, cells->text[OF_BOUND]);
    snprintf(cells->text[FLOOR], FORMAT_NUMBER, isnan(share) ? "-" : "%.0f %%", 100 * share);
}

/* Each column's widest cell, its head included. */
static void measure_times(const view_group *group, int decimals, int width[TIME_COLUMNS]) {
    for (int c = 0; c < TIME_COLUMNS; ++c)
        width[c] = (int)strlen(time_heads[c]);
    for (int64_t r = 0; r < group->count; ++r) {
        time_cells cells;
        if (!view_timed(&group->row[r]))
            continue;
        format_cells(&group->row[r], decimals, &cells);
        for (int c = 0; c < TIME_COLUMNS; ++c) {
            const int own = (int)strlen(cells.text[c]);
            width[c] = own > width[c] ? own : width[c];
        }
    }
}

static void put_cell(const terminal *t, const view_row *row, int column, const char *text,
                     int width) {
    fputs("  ", t->stream);
    if (column == VERDICT && row != NULL && text[0] != '\0')
        put_verdict(t, row->versus.verdict, width);
    else if (column == INTERVAL || column == VERDICT)
        fprintf(t->stream, "%-*s", width, text);
    else
        fprintf(t->stream, "%*s", width, text);
}

static void put_times(const terminal *t, const view_group *group) {
    const int decimals = format_decimals(least_time(group));
    int width[TIME_COLUMNS];
    measure_times(group, decimals, width);
    fprintf(t->stream, "    %-*s", t->arm, "time, us");
    for (int c = 0; c < TIME_COLUMNS; ++c)
        put_cell(t, NULL, c, time_heads[c], width[c]);
    putc('\n', t->stream);
    for (int64_t r = 0; r < group->count; ++r) {
        time_cells cells;
        if (!view_timed(&group->row[r]))
            continue;
        format_cells(&group->row[r], decimals, &cells);
        put_name(t, &group->row[r]);
        for (int c = 0; c < TIME_COLUMNS; ++c)
            put_cell(t, &group->row[r], c, cells.text[c], width[c]);
        putc('\n', t->stream);
    }
}

/* Why there is no time, or what was not compared. */
static void put_reason(const terminal *t, const view_row *row) {
    put_name(t, row);
    putc(' ', t->stream);
    put_status(t, row->row->status);
    putc(' ', t->stream);
    put_wrapped(t->stream, 4 + t->arm + 1 + 12,
                row->row->reason[0] != '\0' ? row->row->reason : "without a reason");
}

static void put_group(const terminal *t, const view_group *group) {
    fputs("\n  ", t->stream);
    escape_terminal(t->stream, group->label);
    fprintf(t->stream, "%s%s, %s\n", group->label[0] != '\0' ? "  " : "",
            bench_stage_name(group->stage), bench_cache_name(group->cache));
    if (count_timed(group) > 0)
        put_times(t, group);
    for (int64_t r = 0; r < group->count; ++r)
        if (!view_timed(&group->row[r]) || group->row[r].row->reason[0] != '\0')
            put_reason(t, &group->row[r]);
}

/* ---- the whole ---- */

static void put_section(const terminal *t, const view_section *section) {
    escape_terminal(t->stream, section->name);
    if (strcmp(section->name, section->op) != 0) {
        fputs(": ", t->stream);
        escape_terminal(t->stream, section->op);
    }
    fputs(section->common[0] != '\0' ? "  " : "", t->stream);
    escape_terminal(t->stream, section->common);
    putc('\n', t->stream);
    for (int64_t g = 0; g < section->count; ++g)
        put_group(t, &section->group[g]);
    putc('\n', t->stream);
}

static void put_mean(FILE *to, const char *name, bench_stage stage, double mean, int64_t count) {
    const int fill = SECTION - (int)strlen(name);
    fputs("  ", to);
    escape_terminal(to, name);
    fprintf(to, "%*s %-17s %8.2fx  over %" PRId64 " case%s\n", fill > 0 ? fill : 0, "",
            bench_stage_name(stage), mean, count, count == 1 ? "" : "s");
}

static void put_means(const terminal *t, const view *v, const view_section *section) {
    for (int s = BENCH_FORWARD; s <= BENCH_BOTH; ++s) {
        int64_t count;
        const double mean = view_mean(v, section, (bench_stage)s, &count);
        if (count > 0)
            put_mean(t->stream, section->name, (bench_stage)s, mean, count);
    }
}

static void put_summary(const terminal *t, const view *v) {
    FILE *to = t->stream;
    if (!isnan(v->mean)) {
        fprintf(to, "best peer / our best, %s, geometric means\n", bench_cache_name(v->cache));
        for (int64_t s = 0; s < v->n_sections; ++s)
            put_means(t, v, &v->section[s]);
        fprintf(to, "  %-*s %-17s %8.2fx\n\n", SECTION, "all", "", v->mean);
    }
    for (int verdict = BENCH_FASTER; verdict <= BENCH_UNCLEAR; ++verdict)
        fprintf(to, "%s%" PRId64 " %s", verdict > 0 ? ", " : "", v->verdicts[verdict],
                bench_verdict_name((bench_verdict)verdict));
    fprintf(to, ", %" PRId64 " without a counterpart; rows:", v->alone);
    for (int s = 0; s < BENCH_STATUSES; ++s)
        if (v->statuses[s] > 0 || s == BENCH_OK)
            fprintf(to, "%s %" PRId64 " %s", s > 0 ? "," : "", v->statuses[s],
                    bench_status_name((bench_status)s));
    fprintf(to, "; %.1f s\n", v->results->seconds);
    if (v->results->environment.simulated)
        fprintf(to, "%s\n", format_simulated);
}

static int name_width(const view *v) {
    int widest = NARROWEST;
    for (int64_t i = 0; i < v->n_rows; ++i) {
        const int width = (int)strlen(view_name(v->row[i].row));
        widest = width > widest ? width : widest;
    }
    return widest < WIDEST ? widest : WIDEST;
}

static void put_device(FILE *to, const bench_environment *e) {
    fputs("on ", to);
    escape_terminal(to, e->device[0] != '\0' ? e->device : "an unnamed device");
    if (e->simulated)
        fprintf(to, "\n%s", format_simulated);
    fputs("\nspeedup: ours against the best peer; in a peer's line, our best against that peer."
          "\nof bound: the worst error of the timed calls' outputs, as a multiple of its bound."
          "\nfloor: the least time that the device could take, as a share of the median.\n\n",
          to);
}

void report_text(FILE *to, const view *v, bool color) {
    const terminal t = {to, color, name_width(v)};
    put_device(to, &v->results->environment);
    for (int64_t s = 0; s < v->n_sections; ++s)
        put_section(&t, &v->section[s]);
    put_summary(&t, v);
}

void bench_report_text(FILE *to, const bench_results *results, bool color) {
    view v;
    if (view_init(&v, results) != ASSAY_OK) {
        fprintf(to, "no table: %s\n", assay_error());
        return;
    }
    report_text(to, &v, color);
    view_clear(&v);
}
