/*
 * One page that holds everything and asks the network for nothing. It is well-formed as XML too, so
 * that a test can parse it.
 */
#include "bench/report/html.h"

#include "bench/report/environment.h"
#include "bench/report/escape.h"
#include "bench/report/format.h"
#include "bench/report/style.h"

#include <inttypes.h>
#include <math.h>

enum { TALL = 700 /* of a picture: folded away */ };

/* ---- pictures ---- */

static void put_figure(FILE *to, const plot *p, const char *table) {
    const svg inside = {to, false};
    fputs("<figure><figcaption>", to);
    escape_markup(to, p->title);
    fputs(" <small>", to);
    escape_markup(to, p->note);
    fprintf(to, " <a href=\"#%s\">Numbers</a></small></figcaption>\n", table);
    plot_draw(p, &inside);
    fputs("</figure>\n", to);
}

static bool wanted(const plot *p, const view_section *section, plot_kind kind) {
    return p->section == section && (section != NULL || p->kind == kind);
}

/* Those that are very tall, which are folded away, or all others side by side. */
static void put_some(FILE *to, const report *r, const view_section *section, plot_kind kind,
                     const char *table, bool tall) {
    int32_t count = 0;
    for (int32_t i = 0; i < r->plots.count; ++i) {
        const plot *p = &r->plots.item[i];
        if (!wanted(p, section, kind) || (plot_height(p) > TALL) != tall)
            continue;
        if (count++ == 0)
            fprintf(to, "%s<div class=\"figures\">\n",
                    tall ? "<details><summary>Bars for each case and peer</summary>\n" : "");
        put_figure(to, p, table);
    }
    if (count > 0)
        fprintf(to, "</div>\n%s", tall ? "</details>\n" : "");
}

/* A section's pictures; where that is NULL, those of a kind. */
static void put_figures(FILE *to, const report *r, const view_section *section, plot_kind kind,
                        const char *table) {
    put_some(to, r, section, kind, table, false);
    put_some(to, r, section, kind, table, true);
}

/* ---- head ---- */

static void put_head(FILE *to, const view *v) {
    const bench_environment *e = &v->results->environment;
    const char *device = e->device[0] != '\0' ? e->device : "an unnamed device";
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>assay bench",
          to);
    fputs(e->simulated ? ", simulated: " : ": ", to);
    escape_markup(to, device);
    fprintf(to, "</title>\n<style>\n%s%s%s</style>\n</head>\n<body>\n", style_colours_of_pages,
            style_page, style_pictures);
    fputs("<a class=\"skip\" href=\"#summary\">Skip to the summary</a>\n<header>\n"
          "<h1>assay bench</h1>\n<p>",
          to);
    escape_markup(to, device);
    fputs(" <span class=\"quiet\">", to);
    escape_markup(to, e->date);
    fputs(e->version[0] != '\0' ? " assay " : "", to);
    escape_markup(to, e->version);
    fputs("</span></p>\n", to);
    if (e->simulated)
        html_element(to, "p", "note", format_simulated);
}

static void put_contents(FILE *to, const view *v) {
    fputs("\n<nav aria-label=\"Contents\"><ul><li><a href=\"#summary\">Summary</a></li>\n", to);
    for (int64_t s = 0; s < v->n_sections; ++s) {
        fprintf(to, "<li><a href=\"#section-%" PRId64 "\">", s);
        escape_markup(to, v->section[s].name);
        fputs("</a></li>\n", to);
    }
    fputs("<li><a href=\"#correctness\">Correctness</a></li>\n"
          "<li><a href=\"#not-timed\">Not timed</a></li>\n"
          "<li><a href=\"#environment\">Environment</a></li>\n"
          "<li><a href=\"#again\">Reproduce</a></li></ul></nav>\n</header>\n<main>\n",
          to);
}

/* ---- summary ---- */

static void put_fact(FILE *to, const char *class, const char *name, const char *value,
                     const char *note) {
    fprintf(to, "<div%s%s%s>", class[0] != '\0' ? " class=\"" : "", class,
            class[0] != '\0' ? "\"" : "");
    html_element(to, "dt", "", name);
    fputs("<dd>", to);
    escape_markup(to, value);
    html_element(to, "small", "", note);
    fputs("</dd></div>\n", to);
}

static void put_key_fact(FILE *to, const view *v) {
    char value[FORMAT_NUMBER] = "-", note[160];
    int64_t cases = 0;
    for (int verdict = BENCH_FASTER; verdict <= BENCH_UNCLEAR; ++verdict)
        cases += v->verdicts[verdict];
    if (cases > 0)
        snprintf(value, sizeof value, "%.2f\u00d7", v->mean);
    snprintf(note, sizeof note, "geometric mean over %" PRId64 " case%s and stages, %s", cases,
             cases == 1 ? "" : "s", bench_cache_name(v->cache));
    put_fact(to, "key", "Best same-run peer's time / ours", value, note);
}

static void put_verdict_fact(FILE *to, const view *v, bench_verdict verdict, const char *note) {
    char name[64], value[32];
    snprintf(name, sizeof name, "%s %s", format_verdict_sign(verdict), bench_verdict_name(verdict));
    snprintf(value, sizeof value, "%" PRId64, v->verdicts[verdict]);
    put_fact(to, "", name, value, note);
}

static void put_comparison_facts(FILE *to, const view *v) {
    char note[64];
    put_key_fact(to, v);
    snprintf(note, sizeof note, "than the best peer, by over %.0f %%", 100 * BENCH_MARGIN);
    put_verdict_fact(to, v, BENCH_FASTER, note);
    snprintf(note, sizeof note, "within %.0f %%", 100 * BENCH_MARGIN);
    put_verdict_fact(to, v, BENCH_SAME, note);
    snprintf(note, sizeof note, "by over %.0f %%", 100 * BENCH_MARGIN);
    put_verdict_fact(to, v, BENCH_SLOWER, note);
    put_verdict_fact(to, v, BENCH_UNCLEAR, "the interval does not say");
}

static void put_worst_fact(FILE *to, const view *v) {
    char value[FORMAT_NUMBER], note[3 * BENCH_NAME];
    if (v->worst == NULL)
        return;
    snprintf(note, sizeof note, "of its bound: %s, %s", view_name(v->worst),
             v->worst->worst_tensor);
    put_fact(to, "", "Worst error timed", format_ratio(v->worst->ratio, value), note);
}

static void put_rows_fact(FILE *to, const view *v) {
    char value[FORMAT_NUMBER], note[160], rows[FORMAT_NUMBER];
    size_t used =
        (size_t)snprintf(note, sizeof note, "of %s", format_fixed((double)v->n_rows, 0, rows));
    format_fixed((double)v->statuses[BENCH_OK], 0, value);
    for (int s = BENCH_REFUSED; s < BENCH_STATUSES; ++s)
        if (v->statuses[s] > 0)
            used += (size_t)snprintf(note + used, sizeof note - used, ", %" PRId64 " %s",
                                     v->statuses[s], bench_status_name((bench_status)s));
    put_fact(to, "", "Rows timed", value, note);
}

static void put_summary(FILE *to, const report *r) {
    const view *v = &r->v;
    fputs("<section aria-labelledby=\"summary\">\n<h2 id=\"summary\">Summary</h2>\n"
          "<dl class=\"facts\">\n",
          to);
    if (!isnan(v->mean))
        put_comparison_facts(to, v);
    put_worst_fact(to, v);
    put_rows_fact(to, v);
    fputs("</dl>\n", to);
    if (isnan(v->mean))
        fputs("<p>Nothing of ours was timed beside a peer.</p>\n", to);
    if (!isnan(v->mean)) {
        fputs("<div class=\"pair\">\n", to);
        put_figures(to, r, NULL, PLOT_SUMMARY, "means");
        html_means(to, v);
        fputs("</div>\n", to);
        html_cases(to, v);
    }
    fputs("</section>\n", to);
}

/* ---- sections ---- */

static void put_section(FILE *to, const report *r, int64_t number) {
    const view_section *section = &r->v.section[number];
    char table[32];
    snprintf(table, sizeof table, "rows-%" PRId64, number);
    fprintf(to,
            "<section aria-labelledby=\"section-%" PRId64 "\">\n<h2 id=\"section-%" PRId64 "\">",
            number, number);
    escape_markup(to, section->name);
    fputs("</h2>\n<p class=\"quiet\">", to);
    escape_markup(to, section->op);
    putc(' ', to);
    escape_markup(to, section->common);
    fputs("</p>\n", to);
    put_figures(to, r, section, PLOT_SPEEDUPS, table);
    html_rows(to, section, number);
    fputs("</section>\n", to);
}

static void put_uncompared(FILE *to, const report *r) {
    char rows[FORMAT_NUMBER];
    if (r->v.uncompared > 0)
        fprintf(to, "<p>Of %s timed row%s nothing was compared.</p>\n",
                format_fixed((double)r->v.uncompared, 0, rows), r->v.uncompared == 1 ? "" : "s");
    if (r->uncompared.count > 0)
        html_missing(to, &r->uncompared, "uncompared", "Timed, but not compared in full");
}

static void put_correctness(FILE *to, const report *r) {
    fputs(
        "<section aria-labelledby=\"correctness\">\n<h2 id=\"correctness\">Correctness</h2>\n"
        "<p>The outputs of timed calls were compared, every element, with an fp64 reference. Each "
        "element has a bound of its own, derived from the operation's rounding; an error above "
        "it refuses the row.</p>\n",
        to);
    put_uncompared(to, r);
    if (r->v.worst != NULL) {
        fputs("<div class=\"pair\">\n", to);
        put_figures(to, r, NULL, PLOT_BOUNDS, "worst");
        html_bounds(to, &r->v);
        fputs("</div>\n", to);
    }
    fputs("</section>\n", to);
}

static void put_missing(FILE *to, const report *r) {
    fputs("<section aria-labelledby=\"not-timed\">\n<h2 id=\"not-timed\">Not timed</h2>\n", to);
    if (r->missing.count == 0) {
        fputs("<p>Every row was timed.</p>\n</section>\n", to);
        return;
    }
    fputs("<p>Refused: not proven, or its answers were wrong. Out of memory, unavailable: the arm "
          "cannot do this here. Error: it broke, or reported an impossible time.</p>\n",
          to);
    html_missing(to, &r->missing, "missing", "Rows without a time, by arm and reason");
    fputs("</section>\n", to);
}

static void put_environment(FILE *to, const view *v) {
    environment_item item;
    fputs("<section aria-labelledby=\"environment\">\n<h2 id=\"environment\">Environment</h2>\n"
          "<dl class=\"list\">\n",
          to);
    for (int i = 0; environment_line(&v->results->environment, i, &item); ++i) {
        html_element(to, "dt", "", item.name);
        html_element(to, "dd", "", item.text);
        putc('\n', to);
    }
    fputs("</dl>\n<h3>How a number comes about</h3>\n"
          "<p>All arms of a case ran in one run, each in a process of its own, a round of samples "
          "each in turn, on the same inputs. Cold: the L2 cache is overwritten before each call. "
          "Warm: calls back to back. A ratio is that of two medians; its interval is a bootstrap's "
          "at 95 %, over pairs of samples. Faster and slower: the interval lies beyond 3 %. The "
          "floor is the least time in which the device could read and write what it must and do "
          "the operations that no way is known around.</p>\n",
          to);
    html_versions(to, v);
    fputs("</section>\n", to);
}

static void put_again(FILE *to, const view *v) {
    char seconds[FORMAT_NUMBER];
    fputs("<section aria-labelledby=\"again\">\n<h2 id=\"again\">Reproduce</h2>\n", to);
    if (v->results->environment.command[0] != '\0') {
        fputs("<p><code>", to);
        escape_markup(to, v->results->environment.command);
        fprintf(to, "</code>, %s s</p>\n", format_fixed(v->results->seconds, 0, seconds));
    }
    html_commands(to, v);
    fputs("</section>\n", to);
}

void report_html(FILE *to, const report *r) {
    put_head(to, &r->v);
    put_contents(to, &r->v);
    put_summary(to, r);
    for (int64_t s = 0; s < r->v.n_sections; ++s)
        put_section(to, r, s);
    put_correctness(to, r);
    put_missing(to, r);
    put_environment(to, &r->v);
    put_again(to, &r->v);
    fputs("</main>\n<footer><p>Raw samples: results.json. One line a row: results.csv.", to);
    if (r->v.results->environment.simulated)
        fprintf(to, " %s", format_simulated);
    fputs("</p></footer>\n</body>\n</html>\n", to);
}
