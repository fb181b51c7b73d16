#include "bench/transformer/gate.h"
#include "tests/engine/check.h"

#include <stdio.h>
#include <string.h>

typedef struct gate {
    const assay_device *device;
    const char *variant;
    assay_dtype dtype;
    int32_t passed;
} gate;

static const char *reason_of(const assay_report *report) {
    for (int32_t i = 0; i < report->n_rows; ++i)
        if (report->rows[i].verdict == report->verdict)
            return report->rows[i].reason;
    return "";
}

static assay_status prove(const assay_case *c, void *context) {
    gate *g = context;
    if (c->params.dtype != g->dtype)
        return ASSAY_OK;
    assay_report report;
    assay_status status = assay_check(c, g->device, &g->variant, 1, &report);
    if (status != ASSAY_OK)
        return status;
    if (report.verdict == ASSAY_PASS)
        ++g->passed;
    else
        status = assay_fail(ASSAY_ERR_KERNEL, "%s: %s: %s", report.case_text,
                            assay_verdict_name(report.verdict), reason_of(&report));
    assay_report_clear(&report);
    return status;
}

bool gate_passed(const assay_device *device, const char *variant, assay_dtype dtype,
                 int32_t *passed) {
    gate g = {.device = device, .variant = variant, .dtype = dtype};
    const assay_op *op = assay_op_find("transformer", strlen("transformer"));
    assay_status status = assay_op_visit_set(op, ASSAY_SMOKE, prove, &g);
    if (status == ASSAY_OK && g.passed == 0)
        status = assay_fail(ASSAY_ERR_UNSUPPORTED, "transformer has no smoke case in %s",
                            assay_dtype_name(dtype));
    *passed = g.passed;
    if (status != ASSAY_OK)
        fprintf(stderr, "transformer_sweep: refused, %s is not proven: %s\n", variant,
                assay_error());
    return status == ASSAY_OK;
}
