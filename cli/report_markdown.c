/* GitHub's Markdown: the verdicts as a table, then each that is not a pass with its command. */
#include "cli/report.h"
#include "core/utf8.h"

#include <inttypes.h>
#include <string.h>

/* Text in a table: nothing in it may end the cell, the row, or turn to markup. */
static void put_cell(FILE *to, const char *text) {
    for (uint32_t code = utf8_next(&text); code != 0; code = utf8_next(&text)) {
        if (code < 0x20 || code == 0x7F)
            putc(' ', to);
        else if (code == '<')
            fputs("&lt;", to);
        else if (code == '&')
            fputs("&amp;", to);
        else {
            if (strchr("\\`*_{}[]#|~", (int)(code < 0x80 ? code : 'a')) != NULL)
                putc('\\', to);
            utf8_put(to, code);
        }
    }
}

static void put_part(FILE *to, const assay_report *report, const cli_part *part) {
    const assay_row *worst = part->worst;
    fputs("| ", to);
    put_cell(to, assay_verdict_name(part->verdict));
    fputs(" | ", to);
    put_cell(to, report->c.op->name);
    putc('/', to);
    put_cell(to, part->rows->variant);
    fputs(" | ", to);
    put_cell(to, report->case_text);
    fputs(" | ", to);
    if (worst->cmp.count > 0)
        fprintf(to, "%.3g", worst->cmp.ratio);
    fputs(" | ", to);
    put_cell(to, worst->tensor);
    fputs(" | ", to);
    if (worst->cmp.count > 0)
        fprintf(to, "%.1e", worst->cmp.rel_l2);
    fputs(" | ", to);
    put_cell(to, worst->reason);
    fputs(" |\n", to);
}

/* A command as a line of an indented block, where nothing is markup. */
static void put_command(FILE *to, const char *text) {
    fputs("    ", to);
    for (uint32_t code = utf8_next(&text); code != 0; code = utf8_next(&text))
        utf8_put(to, code < 0x20 ? ' ' : code);
    putc('\n', to);
}

static void put_commands(FILE *to, const cli_results *results) {
    bool any = false;
    for (int64_t i = 0; i < results->count; ++i) {
        for (cli_part part = {0}; report_next_part(&results->report[i], &part);) {
            if (part.verdict == ASSAY_PASS)
                continue;
            fputs(any ? "" : "\nTo see the failures again:\n\n", to);
            put_command(to, part.worst->repro);
            any = true;
        }
    }
}

void cli_report_markdown(FILE *to, const cli_results *results) {
    const cli_tally tally = results_tally(results);
    cli_environment_item item;
    fputs("# assay check\n\n", to);
    for (int v = ASSAY_PASS; v <= ASSAY_ERROR; ++v)
        fprintf(to, "%s%" PRId64 " %s", v > 0 ? ", " : "", tally.verdicts[v],
                assay_verdict_name((assay_verdict)v));
    fprintf(to, " in %.2f s.\n\n", results->seconds);
    for (int i = 0; (item = environment_item(results->environment, i)).text != NULL; ++i) {
        fputs("- ", to);
        put_cell(to, item.name);
        fputs(": ", to);
        put_cell(to, item.text);
        putc('\n', to);
    }
    fputs("\n| verdict | variant | case | worst ratio | tensor | rel. L2 | reason |\n"
          "|---|---|---|---:|---|---:|---|\n",
          to);
    for (int64_t i = 0; i < results->count; ++i)
        for (cli_part part = {0}; report_next_part(&results->report[i], &part);)
            put_part(to, &results->report[i], &part);
    put_commands(to, results);
}
