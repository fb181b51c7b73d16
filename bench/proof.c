#include "bench/proof.h"

#include "engine/check.h"

typedef struct proof {
    check_scope scope;
    const assay_dtype *dtype;
    const assay_device *device;
    const char *variant;
    int32_t passed;
} proof;

static const char *reason_of(const assay_report *report) {
    for (int32_t i = 0; i < report->n_rows; ++i)
        if (report->rows[i].verdict == report->verdict)
            return report->rows[i].reason;
    return "";
}

static assay_status prove(const assay_case *c, void *context) {
    proof *p = context;
    assay_report report;
    assay_case within = *c;
    if (p->dtype != NULL && c->params.dtype != *p->dtype)
        return ASSAY_OK;
    scope_apply(p->scope, &within);
    assay_status status = assay_check(&within, p->device, &p->variant, 1, &report);
    if (status != ASSAY_OK)
        return status;
    assay_report_excuse(&report);
    if (report.verdict == ASSAY_PASS)
        ++p->passed;
    else if (report.verdict != ASSAY_SKIP)
        status = assay_fail(ASSAY_ERR_KERNEL, "%s: %s: %s", report.case_text,
                            assay_verdict_name(report.verdict), reason_of(&report));
    assay_report_clear(&report);
    return status;
}

assay_status bench_prove(const assay_op *op, assay_set set, check_scope scope,
                         const assay_dtype *dtype, const assay_device *device, const char *variant,
                         int32_t *passed) {
    proof p = {.scope = scope, .dtype = dtype, .device = device, .variant = variant};
    const assay_status status = assay_op_visit_set(op, set, prove, &p);
    *passed = p.passed;
    return status;
}
