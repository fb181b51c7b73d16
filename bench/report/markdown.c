/* GitHub's Markdown: the summary, a table for each section, then the arms without times. */
#include "bench/report/environment.h"
#include "bench/report/escape.h"
#include "bench/report/format.h"
#include "bench/report/writers.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *plural(int64_t count) {
    return count == 1 ? "" : "s";
}

static void put_cell(FILE *to, const char *text) {
    escape_markdown(to, text);
    fputs(" | ", to);
}

static void put_ratio(FILE *to, const bench_ratio *ratio) {
    char interval[FORMAT_NUMBER];
    if (isnan(ratio->ratio))
        fputs("- | | ", to);
    else
        fprintf(to, "%.2f [%s] | %s %s | ", ratio->ratio, format_interval(ratio, ", ", interval),
                format_verdict_sign(ratio->verdict), bench_verdict_name(ratio->verdict));
}

/* ---- summary ---- */

static void put_summary(FILE *to, const view *v) {
    int64_t count;
    if (v->results->environment.simulated)
        fprintf(to, "**%s**\n\n", format_simulated);
    if (isnan(v->mean)) {
        fputs("Nothing of ours was timed beside a peer.\n", to);
        return;
    }
    fprintf(to, "Best peer's median / ours, same run, %s: **%.2f** in the geometric mean; ",
            bench_cache_name(v->cache), v->mean);
    for (int verdict = BENCH_FASTER; verdict <= BENCH_UNCLEAR; ++verdict)
        fprintf(to, "%s%" PRId64 " %s", verdict > 0 ? ", " : "", v->verdicts[verdict],
                bench_verdict_name((bench_verdict)verdict));
    fputs(".\n\n| experiment | stage | cases | best peer / ours |\n|---|---|---:|---:|\n", to);
    for (int64_t s = 0; s < v->n_sections; ++s) {
        for (int stage = BENCH_FORWARD; stage <= BENCH_BOTH; ++stage) {
            const double mean = view_mean(v, &v->section[s], (bench_stage)stage, &count);
            if (isnan(mean))
                continue;
            fputs("| ", to);
            put_cell(to, v->section[s].name);
            fprintf(to, "%s | %" PRId64 " | %.2f |\n", bench_stage_name((bench_stage)stage), count,
                    mean);
        }
    }
}

static void put_environment(FILE *to, const bench_environment *e) {
    environment_item item;
    putc('\n', to);
    for (int i = 0; environment_line(e, i, &item); ++i) {
        fprintf(to, "- %s: ", item.name);
        escape_markdown(to, item.text);
        putc('\n', to);
    }
}

/* ---- sections ---- */

static void put_row(FILE *to, const view_group *group, const view_row *row) {
    char text[FORMAT_NUMBER];
    const bench_summary *time = &row->derived.time;
    const int decimals = format_decimals(time->median);
    fputs("| ", to);
    put_cell(to, group->label);
    fprintf(to, "%s, %s | ", bench_stage_name(group->stage), bench_cache_name(group->cache));
    put_cell(to, view_name(row->row));
    fprintf(to, "%s | ", format_fixed(time->median, decimals, text));
    fprintf(to, "%s | ", format_fixed(time->p10, decimals, text));
    fprintf(to, "%s | ", format_fixed(time->p90, decimals, text));
    put_ratio(to, &row->versus);
    fprintf(to, "%s | ", format_fixed(100 * row->derived.share, 0, text));
    fprintf(to, "%s |\n", format_ratio(row->row->ratio, text));
}

static void put_section(FILE *to, const view_section *section) {
    fputs("\n## ", to);
    escape_markdown(to, section->name);
    fputs("\n\n", to);
    if (section->common[0] != '\0') {
        escape_markdown(to, section->op);
        putc(' ', to);
        escape_markdown(to, section->common);
        fputs("\n\n", to);
    }
    fputs("| case | stage | arm | median \u00b5s | p10 | p90 | speedup | | % of floor | "
          "error / bound |\n"
          "|---|---|---|---:|---:|---:|---:|---|---:|---:|\n",
          to);
    for (int64_t g = 0; g < section->count; ++g)
        for (int64_t r = 0; r < section->group[g].count; ++r)
            if (view_timed(&section->group[g].row[r]))
                put_row(to, &section->group[g], &section->group[g].row[r]);
}

static void put_pictures(FILE *to, const plots *p, const view_section *section) {
    for (int32_t i = 0; i < p->count; ++i) {
        if (p->item[i].section != section)
            continue;
        fputs("\n![", to);
        escape_markdown(to, p->item[i].title);
        fprintf(to, "](%s.svg)\n", p->item[i].id);
    }
}

static void put_missing(FILE *to, const missing_list *list, const char *title) {
    if (list->count > 0)
        fprintf(to,
                "\n## %s\n\n| status | arm | experiment | cases | reason |\n"
                "|---|---|---|---|---|\n",
                title);
    for (int64_t i = 0; i < list->count; ++i) {
        const missing *item = &list->item[i];
        fprintf(to, "| %s | ", bench_status_name(item->row->status));
        put_cell(to, view_name(item->row));
        put_cell(to, item->section->name);
        put_cell(to, item->cases);
        escape_markdown(to, item->row->reason);
        fputs(" |\n", to);
    }
}

void report_markdown(FILE *to, const report *r) {
    const view *v = &r->v;
    fputs("# assay bench\n\n", to);
    put_summary(to, v);
    put_environment(to, &v->results->environment);
    fprintf(to,
            "\n%" PRId64
            " row%s, %.0f s. Times are microseconds of one call. speedup: ours against "
            "the best peer; in a peer's line, our best against that peer.\n",
            v->n_rows, plural(v->n_rows), v->results->seconds);
    put_pictures(to, &r->plots, NULL);
    for (int64_t s = 0; s < v->n_sections; ++s) {
        put_section(to, &v->section[s]);
        put_pictures(to, &r->plots, &v->section[s]);
    }
    put_missing(to, &r->uncompared, "Timed, but not compared in full");
    put_missing(to, &r->missing, "Not timed");
}
