#include "tests/evidence/spread.h"
#include "engine/check.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *const spread_names[SPREAD_SERIES] = {"ratio",      "exact",   "alarm",
                                                 "mistrusted", "skipped", "seconds"};

/* The rows of one variant: from `row` on, `n` of them. */
static int32_t rows_of_one(const assay_report *report, int32_t row) {
    int32_t n = 1;
    while (row + n < report->n_rows &&
           strcmp(report->rows[row + n].variant, report->rows[row].variant) == 0)
        ++n;
    return n;
}

/* The first of a result. */
static void print_alarm(const assay_row *row) {
    fprintf(stderr, "alarm: %s %s: %s\n  %s\n", row->variant, row->tensor, row->reason, row->repro);
}

static void add_result(const assay_case *c, const assay_row *row, int32_t n, histogram *page) {
    assay_verdict verdict = row->verdict;
    double ratio = -1;
    bool told = false;
    for (int32_t i = 0; i < n; ++i) {
        verdict = assay_verdict_merge(verdict, row[i].verdict);
        if (row[i].verdict >= ASSAY_FAIL && !told)
            print_alarm(&row[i]);
        told = told || row[i].verdict >= ASSAY_FAIL;
        if (row[i].cmp.count > 0)
            ratio = fmax(ratio, isnan(row[i].cmp.ratio) ? INFINITY : row[i].cmp.ratio);
    }
    const bool exact = c->fill == ASSAY_FILL_EXACT;
    if (ratio >= 0 && !exact)
        histogram_add(&page[SPREAD_RATIO], ratio);
    histogram_add(&page[SPREAD_EXACT], exact);
    histogram_add(&page[SPREAD_ALARM], verdict >= ASSAY_FAIL);
    histogram_add(&page[SPREAD_MISTRUSTED], verdict == ASSAY_MISTRUSTED);
    histogram_add(&page[SPREAD_SKIPPED], verdict == ASSAY_SKIP);
}

assay_status spread_examine(const assay_case *c, const assay_device *device, const char *variant,
                            histogram *page) {
    assay_report report;
    const assay_status status = assay_check(c, device, &variant, variant ? 1 : 0, &report);
    if (status != ASSAY_OK)
        return status;
    for (int32_t row = 0, n; row < report.n_rows; row += n) {
        n = rows_of_one(&report, row);
        add_result(c, &report.rows[row], n, page);
    }
    histogram_add(&page[SPREAD_SECONDS], report.seconds);
    assay_report_clear(&report);
    return ASSAY_OK;
}

int64_t spread_alarms(const ledger *l) {
    int64_t alarms = 0;
    for (int32_t i = 0; i < l->modes->count; ++i)
        alarms += histogram_positive(ledger_at(l, i, SPREAD_ALARM));
    return alarms;
}

static void table_line(const mode *m, const histogram *page, FILE *to) {
    const histogram *ratio = &page[SPREAD_RATIO];
    fprintf(to, "| `%s` | %s%s | %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64,
            m->op->name, assay_dtype_name(m->dtype), m->math == ASSAY_TF32 ? ", tf32" : "",
            page[SPREAD_SECONDS].count,
            page[SPREAD_ALARM].count - histogram_positive(&page[SPREAD_SKIPPED]),
            histogram_positive(&page[SPREAD_EXACT]), histogram_positive(&page[SPREAD_MISTRUSTED]),
            histogram_positive(&page[SPREAD_ALARM]));
    if (ratio->count == 0)
        fprintf(to, " | | | | |\n");
    else
        fprintf(to, " | %.2g | %.2g | %.2g | %.3g |\n", histogram_quantile(ratio, 0.5),
                histogram_quantile(ratio, 0.99), histogram_quantile(ratio, 0.999), ratio->largest);
}

void spread_table(const ledger *l, FILE *to) {
    fprintf(to,
            "| operator | mode | cases | results | exact | mistrusted | false alarms | median | "
            "p99 | p99.9 | max |\n");
    fprintf(to, "|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int32_t i = 0; i < l->modes->count; ++i)
        if (ledger_at(l, i, SPREAD_SECONDS)->count > 0)
            table_line(&l->modes->mode[i], ledger_at(l, i, 0), to);
}
