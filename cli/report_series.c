/* The course of a series: a table of the values of the oracle and of each variant along it. */
#include "cli/report.h"

#include <inttypes.h>
#include <string.h>

enum { LINES = 11 };

static void put_line(FILE *to, const assay_report *report, const assay_row *first, int64_t at) {
    fprintf(to, "    %-6" PRId64 " %19.9g", at, unsigned_nan(first->want[at]));
    for (cli_part part = {0}; report_next_part(report, &part);) {
        const assay_row *row = report_find_row(&part, first->tensor);
        if (row != NULL)
            fprintf(to, " %19.9g", unsigned_nan(row->got[at]));
        else
            fprintf(to, " %19s", "-");
    }
    putc('\n', to);
}

/* Evenly spaced, the first and the last among them. */
static void put_series(FILE *to, const assay_report *report, const assay_row *first) {
    const int64_t last = first->cmp.count - 1, lines = last < LINES - 1 ? last : LINES - 1;
    fprintf(to, "  %s\n    %-6s %19s", first->tensor, "at", "oracle");
    for (cli_part part = {0}; report_next_part(report, &part);)
        fprintf(to, " %19s", part.rows->variant);
    putc('\n', to);
    for (int64_t i = 0; i <= lines; ++i)
        put_line(to, report, first, lines > 0 ? i * last / lines : 0);
}

static bool is_first(const assay_report *report, const assay_row *row) {
    for (const assay_row *before = report->rows; before < row; ++before)
        if (before->want != NULL && strcmp(before->tensor, row->tensor) == 0)
            return false;
    return true;
}

void report_text_series(FILE *to, const assay_report *report) {
    for (int32_t r = 0; r < report->n_rows; ++r) {
        const assay_row *row = &report->rows[r];
        if (row->want != NULL && row->cmp.count > 0 && is_first(report, row))
            put_series(to, report, row);
    }
}
