/* RFC 4180: lines end in CR LF; a field with a comma, a quote or a line end is quoted. */
#include "cli/report.h"

#include <inttypes.h>
#include <string.h>

static void put_text(FILE *to, const char *text) {
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text, to);
    } else {
        putc('"', to);
        for (; *text != '\0'; ++text) {
            if (*text == '"')
                putc('"', to);
            putc(*text, to);
        }
        putc('"', to);
    }
}

static void put_field(FILE *to, const char *text) {
    putc(',', to);
    put_text(to, text);
}

/* Empty where nothing was compared. */
static void put_number(FILE *to, const assay_row *row, double value) {
    putc(',', to);
    if (row->cmp.count > 0)
        fprintf(to, "%.17g", unsigned_nan(value));
}

static void put_row(FILE *to, const assay_report *report, const assay_row *row) {
    const assay_comparison *cmp = &row->cmp;
    char index[128];
    put_text(to, report->c.op->name);
    put_field(to, row->variant);
    put_field(to, report->device);
    put_field(to, report->case_text);
    put_field(to, row->tensor[0] != '\0' ? assay_stage_name(row->stage) : "");
    put_field(to, row->tensor);
    put_field(to, assay_verdict_name(row->verdict));
    put_number(to, row, cmp->ratio);
    put_number(to, row, cmp->max_abs);
    put_number(to, row, cmp->rel_l2);
    put_number(to, row, cmp->norm_got);
    put_field(to, cmp->count > 0 ? assay_index_text(row->rank, row->shape, cmp->worst, index) : "");
    put_number(to, row, cmp->want);
    put_number(to, row, cmp->got);
    put_number(to, row, cmp->bound);
    fprintf(to, ",%" PRId64 ",%" PRId64, cmp->count, cmp->wrong);
    put_field(to, row->why);
    put_field(to, row->reason);
    put_field(to, row->repro);
    fputs("\r\n", to);
}

void cli_report_csv(FILE *to, const cli_results *results) {
    fputs("op,variant,device,case,stage,tensor,verdict,ratio,max_abs,rel_l2,norm,worst,want,got,"
          "bound,count,wrong,why,reason,repro\r\n",
          to);
    for (int64_t i = 0; i < results->count; ++i)
        for (int32_t r = 0; r < results->report[i].n_rows; ++r)
            put_row(to, &results->report[i], &results->report[i].rows[r]);
}
