#include "cli/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

assay_status results_add(cli_results *results, const assay_report *report) {
    if (results->count == results->room) {
        const int64_t room = 2 * results->room + 16;
        assay_report *grown = realloc(results->report, (size_t)room * sizeof *grown);
        if (grown == NULL)
            return assay_fail(ASSAY_ERR_MEMORY, "no memory for the results; ask for fewer cases");
        results->report = grown;
        results->room = room;
    }
    results->report[results->count++] = *report;
    return ASSAY_OK;
}

void results_clear(cli_results *results) {
    for (int64_t i = 0; i < results->count; ++i)
        assay_report_clear(&results->report[i]);
    free(results->report);
    *results = (cli_results){0};
}

assay_status report_of_failure(assay_report *report, const assay_case *c, const char *device,
                               assay_verdict verdict, const char *reason) {
    *report = (assay_report){.c = *c, .device = device, .n_rows = 1, .verdict = verdict};
    report->rows = calloc(1, sizeof *report->rows);
    if (report->rows == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the results; ask for fewer cases");
    assay_case_format(c, report->case_text);
    assay_row *row = report->rows;
    row->variant = "-";
    row->verdict = verdict;
    snprintf(row->reason, sizeof row->reason, "%s", reason);
    snprintf(row->repro, sizeof row->repro, "assay check %s%s --device %s", report->case_text,
             scope_flags((check_scope){.forward = c->forward_only}), device);
    return ASSAY_OK;
}

/* NaN is worse than any number. */
static bool weighs_more(const assay_row *a, const assay_row *b) {
    if (a->verdict != b->verdict)
        return assay_verdict_merge(a->verdict, b->verdict) == a->verdict;
    if (isnan(b->cmp.ratio))
        return false;
    return isnan(a->cmp.ratio) || a->cmp.ratio > b->cmp.ratio;
}

bool report_next_part(const assay_report *report, cli_part *part) {
    if (report->n_rows == 0)
        return false;
    const assay_row *row = part->rows != NULL ? part->rows + part->n_rows : report->rows;
    const assay_row *const end = report->rows + report->n_rows;
    if (row == end)
        return false;
    *part = (cli_part){.rows = row, .n_rows = 1, .verdict = row->verdict, .worst = row};
    for (++row; row < end && strcmp(row->variant, part->rows->variant) == 0; ++row) {
        part->verdict = assay_verdict_merge(part->verdict, row->verdict);
        if (weighs_more(row, part->worst))
            part->worst = row;
        ++part->n_rows;
    }
    return true;
}

const assay_row *report_find_row(const cli_part *part, const char *tensor) {
    for (int32_t r = 0; r < part->n_rows; ++r)
        if (strcmp(part->rows[r].tensor, tensor) == 0)
            return &part->rows[r];
    return NULL;
}

bool part_failed(const cli_results *results, const cli_part *part) {
    if (results->edge)
        return part->verdict != ASSAY_MISTRUSTED && part->verdict != ASSAY_SKIP;
    return part->verdict != ASSAY_PASS && part->verdict != ASSAY_SKIP;
}

bool report_failed(const cli_results *results, int64_t i) {
    const bool sized = results->report[i].c.exponent != 0; /* may prove nothing, see check.c */
    for (cli_part part = {0}; report_next_part(&results->report[i], &part);)
        if (part_failed(results, &part) && !(sized && part.verdict == ASSAY_MISTRUSTED))
            return true;
    return results->report[i].n_rows == 0;
}

cli_tally results_tally(const cli_results *results) {
    cli_tally tally = {0};
    for (int64_t i = 0; i < results->count; ++i) {
        cli_part part = {0};
        while (report_next_part(&results->report[i], &part)) {
            ++tally.verdicts[part.verdict];
            ++tally.total;
            tally.of_sizes +=
                part.verdict == ASSAY_MISTRUSTED && results->report[i].c.exponent != 0;
        }
        if (part.rows == NULL) { /* a report that says nothing */
            ++tally.verdicts[ASSAY_ERROR];
            ++tally.total;
        }
    }
    return tally;
}

assay_exit tally_exit(const cli_tally *tally) {
    if (tally->verdicts[ASSAY_ERROR] > 0)
        return ASSAY_EXIT_ERROR;
    if (tally->verdicts[ASSAY_FAIL] > 0 || tally->verdicts[ASSAY_MISTRUSTED] > 0)
        return ASSAY_EXIT_FAILED;
    return tally->verdicts[ASSAY_PASS] > 0 ? ASSAY_EXIT_PASSED : ASSAY_EXIT_NOTHING;
}
