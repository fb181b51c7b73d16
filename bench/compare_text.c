#include "bench/compare.h"
#include "bench/report/escape.h"
#include "bench/report/format.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static double median_of(const bench_row *row) {
    return row != NULL ? bench_median(row->sample, row->n_samples) : (double)NAN;
}

/* The status of a row of which one side alone has times. */
static void put_fate(FILE *to, const bench_change *change) {
    if (change->after == NULL)
        fputs("gone", to);
    else if (change->after->status != BENCH_OK)
        fputs(bench_status_name(change->after->status), to);
    else
        fputs("new", to);
    if (change->after != NULL && change->after->reason[0] != '\0') {
        fputs(": ", to);
        escape_terminal(to, change->after->reason);
    }
}

static void put_ratio(FILE *to, const bench_ratio *ratio, bool regression, bool color) {
    char interval[FORMAT_NUMBER];
    snprintf(interval, sizeof interval, "[%.3f, %.3f]", ratio->low, ratio->high);
    fprintf(to, "%6.3fx %-17s %s%s%s", ratio->ratio, interval,
            color && regression                       ? "\033[31m"
            : color && ratio->verdict == BENCH_FASTER ? "\033[32m"
                                                      : "",
            bench_verdict_name(ratio->verdict), color ? "\033[0m" : "");
}

static void put_change(FILE *to, const bench_change *change, int arm, bool color) {
    const bench_row *row = change->after != NULL ? change->after : change->before;
    const double before = median_of(change->before), after = median_of(change->after);
    const int decimals = format_decimals(fmin(before, after)); /* fmin passes NaN over */
    char was[FORMAT_NUMBER], is[FORMAT_NUMBER];
    const int fill = arm - (int)strlen(row->arm);
    fputs(change->regression ? "!  " : "   ", to);
    escape_terminal(to, row->arm);
    fprintf(to, "%*s  %-17s %-5s %10s  %10s  ", fill, "", bench_stage_name(row->stage),
            bench_cache_name(row->cache), format_fixed(before, decimals, was),
            format_fixed(after, decimals, is));
    if (isnan(change->ratio.ratio))
        put_fate(to, change);
    else
        put_ratio(to, &change->ratio, change->regression, color);
    putc('\n', to);
}

static const bench_row *row_of(const bench_change *change) {
    return change->after != NULL ? change->after : change->before;
}

static bool same_case(const bench_row *a, const bench_row *b) {
    return strcmp(a->case_text, b->case_text) == 0 && strcmp(a->experiment, b->experiment) == 0;
}

/* All rows of the case of the change at `first`, unless an earlier change was of it already. */
static void put_case(FILE *to, const bench_comparison *c, int64_t first, int arm, bool color) {
    const bench_row *row = row_of(&c->change[first]);
    for (int64_t i = 0; i < first; ++i)
        if (same_case(row_of(&c->change[i]), row))
            return;
    escape_terminal(to, row->experiment);
    fputs(row->experiment[0] != '\0' ? ": " : "", to);
    escape_terminal(to, row->case_text);
    putc('\n', to);
    for (int64_t i = first; i < c->count; ++i)
        if (same_case(row_of(&c->change[i]), row))
            put_change(to, &c->change[i], arm, color);
}

static int widest_arm(const bench_comparison *c) {
    int widest = 0;
    for (int64_t i = 0; i < c->count; ++i) {
        const int width = (int)strlen(row_of(&c->change[i])->arm);
        widest = width > widest ? width : widest;
    }
    return widest;
}

void bench_comparison_text(FILE *to, const bench_comparison *c, bool color) {
    const int arm = widest_arm(c);
    fputs("before and now on ", to);
    escape_terminal(to, c->device);
    fprintf(to, ", median microseconds; before / now, 95 %% interval\n");
    if (c->simulated)
        fprintf(to, "%s\n", format_simulated);
    for (int64_t i = 0; i < c->count; ++i)
        put_case(to, c, i, arm, color);
    fprintf(to, "%" PRId64 " regression%s (marked !) beyond %.3g %%", c->regressions,
            c->regressions == 1 ? "" : "s", 100 * c->margin);
    if (c->left_out > 0)
        fprintf(to, "; %" PRId64 " earlier row%s of cases that this run did not time", c->left_out,
                c->left_out == 1 ? "" : "s");
    putc('\n', to);
}
