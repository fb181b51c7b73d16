/* The tables of the page: all that its pictures show, in numbers. */
#include "bench/report/escape.h"
#include "bench/report/format.h"
#include "bench/report/html.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void put_number(FILE *to, const char *class, double value, int decimals) {
    char text[FORMAT_NUMBER];
    fprintf(to, "<td class=\"%s\">%s</td>", class, format_fixed(value, decimals, text));
}

static void put_short(FILE *to, double value) {
    char text[FORMAT_NUMBER];
    fprintf(to, "<td class=\"n\">%s</td>", format_short(value, text));
}

/* ---- summary ---- */

static void put_mean(FILE *to, const view *v, const view_section *section, bench_stage stage) {
    int64_t tally[BENCH_UNCLEAR + 1] = {0}, cases;
    double least = INFINITY, most = 0;
    bench_ratio ratio;
    const double mean = view_mean(v, section, stage, &cases);
    if (cases == 0)
        return;
    for (int64_t g = 0; g < section->count; ++g) {
        const view_group *group = &section->group[g];
        if (group->stage != stage || group->cache != v->cache || !view_ratio(group, &ratio))
            continue;
        ++tally[ratio.verdict];
        least = fmin(least, ratio.ratio);
        most = fmax(most, ratio.ratio);
    }
    fputs("<tr><th scope=\"row\">", to);
    escape_markup(to, section->name);
    fprintf(to, "</th><td>%s</td>", bench_stage_name(stage));
    fprintf(to,
            "<td class=\"n\"><strong>%.2f\u00d7</strong></td><td class=\"n\">%.2f\u00d7</td>"
            "<td class=\"n\">%.2f\u00d7</td><td class=\"n\">%" PRId64 "</td>",
            mean, least, most, cases);
    for (int verdict = BENCH_FASTER; verdict <= BENCH_UNCLEAR; ++verdict)
        fprintf(to, "<td class=\"n\">%" PRId64 "</td>", tally[verdict]);
    fputs("</tr>\n", to);
}

void html_means(FILE *to, const view *v) {
    static const char *const columns[] = {"experiment", "stage",   ">mean", ">least",  ">most",
                                          ">cases",     ">faster", ">same", ">slower", ">unclear"};
    html_table_open(to, "means", "Best peer's median / ours: geometric mean, least and most");
    html_columns(to, columns, 10);
    fputs("<tbody>\n", to);
    for (int64_t s = 0; s < v->n_sections; ++s)
        for (int stage = BENCH_FORWARD; stage <= BENCH_BOTH; ++stage)
            put_mean(to, v, &v->section[s], (bench_stage)stage);
    fputs("</tbody>\n", to);
    html_table_close(to);
}

static void put_best(FILE *to, const view_row *row, int decimals) {
    fputs("<td>", to);
    escape_markup(to, row != NULL ? view_name(row->row) : "none was timed");
    fputs("</td>", to);
    put_number(to, "n", row != NULL ? row->derived.time.median : (double)NAN, decimals);
}

static void put_case(FILE *to, const view_section *section, const view_group *group) {
    const double least = fmin(group->ours != NULL ? group->ours->derived.time.median : INFINITY,
                              group->peer != NULL ? group->peer->derived.time.median : INFINITY);
    bench_ratio ratio = {NAN, NAN, NAN, BENCH_UNCLEAR};
    view_ratio(group, &ratio);
    fputs("<tr><th scope=\"row\">", to);
    escape_markup(to, section->name);
    putc(' ', to);
    escape_markup(to, group->label);
    fprintf(to, "</th><td>%s</td>", bench_stage_name(group->stage));
    html_verdict(to, &ratio);
    put_best(to, group->ours, format_decimals(least));
    put_best(to, group->peer, format_decimals(least));
    fputs("</tr>\n", to);
}

static int64_t count_cases(const view *v) {
    int64_t count = 0;
    for (int64_t g = 0; g < v->n_groups; ++g)
        count += v->group[g].cache == v->cache;
    return count;
}

void html_cases(FILE *to, const view *v) {
    static const char *const columns[] = {"case",
                                          "stage",
                                          ">peer / ours",
                                          ">95 % interval",
                                          "ours is",
                                          "our best",
                                          ">median, \u00b5s",
                                          "best peer",
                                          ">median, \u00b5s"};
    char caption[128];
    html_fold_open(to, count_cases(v), "Each case");
    snprintf(caption, sizeof caption, "Best peer's median / ours, %s, each case and stage",
             bench_cache_name(v->cache));
    html_table_open(to, "cases", caption);
    html_columns(to, columns, 9);
    fputs("<tbody>\n", to);
    for (int64_t s = 0; s < v->n_sections; ++s)
        for (int64_t g = 0; g < v->section[s].count; ++g)
            if (v->section[s].group[g].cache == v->cache)
                put_case(to, &v->section[s], &v->section[s].group[g]);
    fputs("</tbody>\n", to);
    html_table_close(to);
    html_fold_close(to);
}

/* ---- a section's rows ---- */

enum { COLUMNS = 14 };

static void put_row(FILE *to, const view_row *row, int decimals) {
    const bench_derived *d = &row->derived;
    char text[FORMAT_NUMBER];
    fprintf(to, "<tr%s><th scope=\"row\">", row->row->ours ? " class=\"ours\"" : "");
    escape_markup(to, view_name(row->row));
    fputs("</th>", to);
    if (!view_timed(row)) {
        html_status(to, row->row->status);
        fprintf(to, "<td class=\"wrap\" colspan=\"%d\">", COLUMNS - 2);
        escape_markup(to, row->row->reason);
        fputs("</td></tr>\n", to);
        return;
    }
    put_number(to, "n time", d->time.median, decimals);
    put_number(to, "n", d->time.p10, decimals);
    put_number(to, "n", d->time.p90, decimals);
    put_number(to, "n", d->time.mean, decimals);
    put_number(to, "n", d->time.deviation, decimals);
    html_verdict(to, &row->versus);
    put_short(to, d->gbps);
    put_short(to, d->tflops);
    if (isnan(d->share))
        fputs("<td class=\"n\">-</td>", to);
    else
        fprintf(to, "<td class=\"n\">%.0f %%</td>", 100 * d->share);
    fprintf(to, "<td class=\"n\">%s</td>", format_ratio(row->row->ratio, text));
    fprintf(to, "<td class=\"n\">%s</td></tr>\n",
            row->row->peak_bytes > 0 ? format_bytes((double)row->row->peak_bytes, text) : "-");
}

static void put_group(FILE *to, const view_group *group) {
    double least = INFINITY;
    for (int64_t r = 0; r < group->count; ++r)
        if (view_timed(&group->row[r]))
            least = fmin(least, group->row[r].derived.time.median);
    fprintf(to, "<tbody>\n<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"%d\">", COLUMNS);
    escape_markup(to, group->label);
    fprintf(to, "%s%s, %s</th></tr>\n", group->label[0] != '\0' ? " \u00b7 " : "",
            bench_stage_name(group->stage), bench_cache_name(group->cache));
    for (int64_t r = 0; r < group->count; ++r)
        put_row(to, &group->row[r], format_decimals(least));
    fputs("</tbody>\n", to);
}

void html_rows(FILE *to, const view_section *section, int64_t number) {
    static const char *const columns[COLUMNS] = {
        "arm",      ">median, \u00b5s", ">p10",           ">p90",        ">mean",
        ">std",     ">speed-up",        ">95 % interval", "ours is",     ">GB/s",
        ">TFLOP/s", ">of floor",        ">error / bound", ">peak memory"};
    char id[32], caption[BENCH_NAME + 64];
    int64_t rows = 0;
    for (int64_t g = 0; g < section->count; ++g)
        rows += section->group[g].count;
    snprintf(id, sizeof id, "rows-%" PRId64, number);
    snprintf(caption, sizeof caption, "All rows of %s; times are microseconds of one call",
             section->name);
    html_fold_open(to, rows, "All rows");
    html_table_open(to, id, caption);
    html_columns(to, columns, COLUMNS);
    for (int64_t g = 0; g < section->count; ++g)
        put_group(to, &section->group[g]);
    html_table_close(to);
    html_fold_close(to);
}

/* ---- correctness ---- */

/* The worst timed row of an arm in a section; NULL: none. */
static const bench_row *worst_row(const view_section *section, const bench_row *arm,
                                  int64_t *rows) {
    const bench_row *worst = NULL;
    *rows = 0;
    for (int64_t g = 0; g < section->count; ++g) {
        for (int64_t r = 0; r < section->group[g].count; ++r) {
            const view_row *row = &section->group[g].row[r];
            if (!view_timed(row) || !view_is_arm(row->row, arm))
                continue;
            ++*rows;
            if (worst == NULL || isnan(worst->ratio) || row->row->ratio > worst->ratio)
                worst = row->row;
        }
    }
    return worst;
}

static void put_worst(FILE *to, const view_section *section, const bench_row *arm) {
    int64_t rows;
    const bench_row *worst = worst_row(section, arm, &rows);
    char text[FORMAT_NUMBER];
    if (worst == NULL)
        return;
    fputs("<tr><th scope=\"row\">", to);
    escape_markup(to, section->name);
    fputs("</th><td>", to);
    escape_markup(to, view_name(arm));
    fprintf(to, "</td><td class=\"n\">%" PRId64 "</td><td class=\"n\">%s</td><td>", rows,
            format_ratio(worst->ratio, text));
    escape_markup(to, worst->worst_tensor);
    fputs("</td><td>", to);
    escape_markup(to, worst->case_text);
    fputs("</td></tr>\n", to);
}

void html_bounds(FILE *to, const view *v) {
    static const char *const columns[] = {"experiment",           "arm",       ">rows",
                                          ">worst error / bound", "of tensor", "in case"};
    enum { MOST = 64 };
    const bench_row *arm[MOST];
    html_table_open(to, "worst", "Worst error / bound of each arm's timed outputs");
    html_columns(to, columns, 6);
    fputs("<tbody>\n", to);
    for (int64_t s = 0; s < v->n_sections; ++s) {
        const int32_t arms = view_arms(&v->section[s], arm, MOST);
        for (int32_t a = 0; a < arms; ++a)
            put_worst(to, &v->section[s], arm[a]);
    }
    fputs("</tbody>\n", to);
    html_table_close(to);
}

/* ---- what was not timed, and how to do it all again ---- */

static void put_missing(FILE *to, const missing *item) {
    fputs("<tr>", to);
    html_status(to, item->row->status);
    fputs("<th scope=\"row\">", to);
    escape_markup(to, view_name(item->row));
    fputs("</th><td>", to);
    escape_markup(to, item->section->name);
    fputs("</td>", to);
    html_element(to, "td", "wrap", item->cases);
    html_element(to, "td", "wrap", item->row->reason);
    fputs("</tr>\n", to);
}

void html_missing(FILE *to, const missing_list *list, const char *id, const char *caption) {
    static const char *const columns[] = {"status", "arm", "experiment", "cases", "reason"};
    html_table_open(to, id, caption);
    html_columns(to, columns, 5);
    fputs("<tbody>\n", to);
    for (int64_t i = 0; i < list->count; ++i)
        put_missing(to, &list->item[i]);
    fputs("</tbody>\n", to);
    html_table_close(to);
}

/* Whether an earlier row is of the same arm and versions. */
static bool versions_known(const view *v, int64_t i) {
    for (int64_t j = 0; j < i; ++j)
        if (view_is_arm(v->row[j].row, v->row[i].row) &&
            strcmp(v->row[j].row->versions, v->row[i].row->versions) == 0)
            return true;
    return false;
}

void html_versions(FILE *to, const view *v) {
    static const char *const columns[] = {"arm", "made of"};
    html_table_open(to, "versions", "Arms, their versions and switches");
    html_columns(to, columns, 2);
    fputs("<tbody>\n", to);
    for (int64_t i = 0; i < v->n_rows; ++i) {
        if (v->row[i].row->versions[0] == '\0' || versions_known(v, i))
            continue;
        fputs("<tr><th scope=\"row\">", to);
        escape_markup(to, view_name(v->row[i].row));
        fputs("</th>", to);
        html_element(to, "td", "wrap", v->row[i].row->versions);
        fputs("</tr>\n", to);
    }
    fputs("</tbody>\n", to);
    html_table_close(to);
}

/* Whether one of the few rows before, the same in another cache state, has the same command. */
static bool command_known(const view *v, int64_t i) {
    const bench_row *row = v->row[i].row;
    for (int64_t j = i - 1; j >= 0 && strcmp(v->row[j].row->case_text, row->case_text) == 0; --j)
        if (strcmp(v->row[j].row->repro, row->repro) == 0)
            return true;
    return false;
}

void html_commands(FILE *to, const view *v) {
    static const char *const columns[] = {"arm", "case", "stage", "command"};
    int64_t count = 0;
    for (int64_t i = 0; i < v->n_rows; ++i)
        count += v->row[i].row->repro[0] != '\0' && !command_known(v, i);
    if (count == 0)
        return;
    html_fold_open(to, count, "A command for each row");
    html_table_open(to, "commands", "Commands that make a row again, cold and warm");
    html_columns(to, columns, 4);
    fputs("<tbody>\n", to);
    for (int64_t i = 0; i < v->n_rows; ++i) {
        const bench_row *row = v->row[i].row;
        if (row->repro[0] == '\0' || command_known(v, i))
            continue;
        fputs("<tr><th scope=\"row\">", to);
        escape_markup(to, view_name(row));
        fputs("</th><td>", to);
        escape_markup(to, row->case_text);
        fprintf(to, "</td><td>%s</td><td><code>", bench_stage_name(row->stage));
        escape_markup(to, row->repro);
        fputs("</code></td></tr>\n", to);
    }
    fputs("</tbody>\n", to);
    html_table_close(to);
    html_fold_close(to);
}
