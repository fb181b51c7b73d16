#include "cli/report.h"
#include "core/json.h"

#include <inttypes.h>

static void put_environment(FILE *to, const cli_environment *e) {
    cli_environment_item item;
    for (int i = 0; (item = environment_item(e, i)).text != NULL; ++i) {
        fputs(i > 0 ? ", " : "", to);
        json_string(to, item.name);
        fputs(": ", to);
        json_string(to, item.text);
    }
}

static void put_text(FILE *to, const char *key, const char *text) {
    fprintf(to, ", \"%s\": ", key);
    json_string(to, text);
}

/* null where nothing was compared: a 0 would read as a perfect result. */
static void put_number(FILE *to, const char *key, const assay_row *row, double value) {
    fprintf(to, ", \"%s\": ", key);
    if (row->cmp.count > 0)
        json_number(to, value);
    else
        fputs("null", to);
}

static void put_series(FILE *to, const char *key, const double *value, int64_t count) {
    fprintf(to, ", \"%s\": [", key);
    for (int64_t i = 0; i < count; ++i) {
        fputs(i > 0 ? ", " : "", to);
        json_number(to, value[i]);
    }
    putc(']', to);
}

static void put_row(FILE *to, const cli_results *results, const assay_report *report,
                    const assay_row *row) {
    const assay_comparison *cmp = &row->cmp;
    char index[128];
    fputs("{\"op\": ", to);
    json_string(to, report->c.op->name);
    put_text(to, "variant", row->variant);
    put_text(to, "device", report->device);
    put_text(to, "case", report->case_text);
    put_text(to, "stage", row->tensor[0] != '\0' ? assay_stage_name(row->stage) : NULL);
    put_text(to, "tensor", row->tensor[0] != '\0' ? row->tensor : NULL);
    put_text(to, "verdict", assay_verdict_name(row->verdict));
    put_number(to, "ratio", row, cmp->ratio);
    put_number(to, "max_abs", row, cmp->max_abs);
    put_number(to, "rel_l1", row, cmp->rel_l1);
    put_number(to, "rel_l2", row, cmp->rel_l2);
    put_number(to, "rel_linf", row, cmp->rel_linf);
    put_number(to, "norm", row, cmp->norm_got);
    put_number(to, "norm_want", row, cmp->norm_want);
    put_number(to, "resolution", row, cmp->resolution);
    put_text(to, "worst",
             cmp->count > 0 ? assay_index_text(row->rank, row->shape, cmp->worst, index) : NULL);
    put_number(to, "want", row, cmp->want);
    put_number(to, "got", row, cmp->got);
    put_number(to, "bound", row, cmp->bound);
    fprintf(to, ", \"count\": %" PRId64 ", \"wrong\": %" PRId64, cmp->count, cmp->wrong);
    if (row->want != NULL) {
        put_series(to, "series", row->got, cmp->count);
        put_series(to, "series_want", row->want, cmp->count);
    }
    put_text(to, "why", row->why);
    put_text(to, "reason", row->reason);
    put_text(to, "repro", row->repro);
    put_text(to, "stages", results->scope.forward ? "forward" : "forward+backward");
    put_text(to, "layout", results->scope.packed ? "packed" : "strict");
    putc('}', to);
}

void cli_report_json(FILE *to, const cli_results *results) {
    const char *separator = "\n";
    fputs("{\"assay\": ", to);
    json_string(to, ASSAY_VERSION);
    fputs(",\n\"environment\": {", to);
    put_environment(to, results->environment);
    fputs("},\n\"seconds\": ", to);
    json_number(to, results->seconds);
    fputs(",\n\"results\": [", to);
    for (int64_t i = 0; i < results->count; ++i) {
        const assay_report *report = &results->report[i];
        for (int32_t r = 0; r < report->n_rows; ++r) {
            fputs(separator, to);
            put_row(to, results, report, &report->rows[r]);
            separator = ",\n";
        }
    }
    fputs("\n]}\n", to);
}
