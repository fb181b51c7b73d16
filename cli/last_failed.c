/*
 * One line for each variant and case, as check takes them: OP/VARIANT key=value... seed=N. A case
 * that no variant could begin has OP alone.
 */
#include "cli/last_failed.h"
#include "cli/text_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST = 64 << 20 };

static bool path_of(char path[PATH_MAX], bool make) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    const bool given = state != NULL && *state != '\0';
    if (!given && (home == NULL || *home == '\0'))
        return false;
    const int length = snprintf(path, PATH_MAX, "%s%s/assay/last-failed", given ? state : home,
                                given ? "" : "/.local/state");
    if (length >= PATH_MAX)
        return false;
    for (char *slash = path + 1; make && (slash = strchr(slash, '/')) != NULL; ++slash) {
        *slash = '\0';
        const bool there = mkdir(path, 0777) == 0 || errno == EEXIST;
        *slash = '/';
        if (!there)
            return false;
    }
    return true;
}

/* ---- reading ---- */

static bool wanted(const assay_cli_args *args, const assay_op *op, const char *variant) {
    for (int32_t i = 0; i < args->n_targets; ++i)
        if (args->target[i].op == op &&
            (args->target[i].variant == NULL || strcmp(args->target[i].variant, variant) == 0))
            return true;
    return args->n_targets == 0;
}

/* The variant's name lies in the line, which `cases` keeps. */
static cli_selection *select_variant(cli_cases *cases, const assay_op *op, const char *variant) {
    for (int32_t i = 0; i < cases->n_selections; ++i) {
        cli_selection *s = &cases->selection[i];
        const char *name = s->n_variants > 0 ? s->variant[0] : "";
        if (s->op == op && strcmp(name, variant) == 0)
            return s;
    }
    cli_selection *s = &cases->selection[cases->n_selections];
    *s = (cli_selection){.op = op, .variant = calloc(1, sizeof *s->variant)};
    if (s->variant == NULL)
        return NULL;
    ++cases->n_selections;
    if (*variant != '\0')
        s->variant[s->n_variants++] = variant;
    return s;
}

/* "OP/VARIANT words". A line that means nothing to this version is left out. */
static assay_status take_line(const assay_cli_args *args, char *line, cli_cases *cases) {
    char *words = strchr(line, ' '), *slash = strchr(line, '/'), text[2 * ASSAY_CASE_TEXT];
    if (words == NULL || slash == NULL || slash > words || strlen(words) >= ASSAY_CASE_TEXT)
        return ASSAY_OK;
    *words = *slash = '\0';
    const assay_op *op = assay_op_find(line, strlen(line));
    const char *variant = slash + 1;
    if (op == NULL || !wanted(args, op, variant))
        return ASSAY_OK;
    assay_case c;
    snprintf(text, sizeof text, "%s %s", op->name, words + 1);
    if (assay_case_parse(text, &c) != ASSAY_OK)
        return ASSAY_OK;
    cli_selection *s = select_variant(cases, op, variant);
    char *kept = s != NULL ? strdup(text) : NULL;
    if (kept == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the cases; ask for fewer");
    cases->job[cases->n_jobs++] = (cli_job){.selection = s, .text = kept};
    return ASSAY_OK;
}

static int64_t count_lines(const char *text) {
    int64_t count = 1;
    for (; *text != '\0'; ++text)
        count += *text == '\n';
    return count;
}

assay_status last_failed_gather(const assay_cli_args *args, cli_cases *cases) {
    char path[PATH_MAX], *rest = NULL;
    size_t size;
    *cases = (cli_cases){0};
    if (!path_of(path, false))
        return assay_fail(ASSAY_ERR_USAGE,
                          "--last-failed: HOME is not set, so there is no list; set HOME or "
                          "XDG_STATE_HOME");
    assay_status status = text_file_read(path, "list of failed cases", MOST, &cases->text, &size);
    if (status == ASSAY_OK && cases->text != NULL) {
        const size_t lines = (size_t)count_lines(cases->text);
        cases->selection = calloc(lines, sizeof *cases->selection);
        cases->job = calloc(lines, sizeof *cases->job);
        if (cases->selection == NULL || cases->job == NULL)
            return assay_fail(ASSAY_ERR_MEMORY, "no memory for the cases; ask for fewer");
        for (char *line = strtok_r(cases->text, "\n", &rest); status == ASSAY_OK && line != NULL;
             line = strtok_r(NULL, "\n", &rest))
            status = take_line(args, line, cases);
    }
    if (status == ASSAY_OK && cases->n_jobs == 0)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "--last-failed: no such case failed in the last "
                          "check (%.300s)",
                          path);
    return status;
}

/* ---- writing ---- */

static void put_report(FILE *to, const cli_results *results, const assay_report *report) {
    const char *words = report->case_text + strlen(report->c.op->name);
    for (cli_part part = {0}; report_next_part(report, &part);)
        if (part_failed(results, &part))
            fprintf(to, "%s/%s%s\n", report->c.op->name,
                    strcmp(part.rows->variant, "-") == 0 ? "" : part.rows->variant, words);
}

void last_failed_write(const assay_cli_args *args, const cli_cases *cases,
                       const cli_results *results) {
    char path[PATH_MAX], *text = NULL;
    size_t size = 0;
    FILE *to = path_of(path, true) ? open_memstream(&text, &size) : NULL;
    if (to == NULL)
        return;
    for (int64_t i = 0; i < results->count; ++i)
        put_report(to, results, &results->report[i]);
    for (int64_t i = results->count; args->last_failed && i < cases->n_jobs; ++i) {
        const cli_job *job = &cases->job[i];
        const cli_selection *s = job->selection;
        fprintf(to, "%s/%s%s\n", s->op->name, s->n_variants > 0 ? s->variant[0] : "",
                job->text + strlen(s->op->name));
    }
    const bool whole = fclose(to) == 0;
    if (whole && text_file_write(path, text, size) != ASSAY_OK)
        assay_cli_progress("%s", "");
    free(text);
}
