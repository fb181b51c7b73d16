#include "bench/report/single.h"

#include "bench/report/writers.h"

static assay_status put(FILE *to, const bench_results *results,
                        void (*writer)(FILE *to, const report *r)) {
    report r;
    const assay_status status = report_init(&r, results);
    if (status != ASSAY_OK)
        return status;
    writer(to, &r);
    report_clear(&r);
    return ASSAY_OK;
}

assay_status bench_report_csv(FILE *to, const bench_results *results) {
    return put(to, results, report_csv);
}

assay_status bench_report_markdown(FILE *to, const bench_results *results) {
    return put(to, results, report_markdown);
}
