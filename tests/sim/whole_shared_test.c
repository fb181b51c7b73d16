/*
 * Recorded kernels with all of the shared memory that a block has. Elsewhere they plan with 8 KB
 * (sim/runtime.h), so kernels that keep more there than that are recorded here alone. Of the
 * operators whose plans ask for that budget.
 */
#include "engine/check.h"
#include "engine/runner.h"
#include "engine/variant_run.h"
#include "sim/sim.h"
#include "tests/shim/assay_test.h"
#include "tests/suite/suite.h"

#include <string.h>

static void run(void *context) {
    const suite_item *item = context;
    const char *variant = item->variant;
    assay_report report;
    sim_plan_with_all_shared_memory(true);
    const assay_status status = assay_check(&item->c, suite_device(item), &variant, 1, &report);
    sim_plan_with_all_shared_memory(false);
    REQUIRE_OK(status);
    for (int32_t i = 0; i < report.n_rows; ++i) {
        const assay_row *row = &report.rows[i];
        if (row->verdict != ASSAY_PASS && row->verdict != ASSAY_SKIP)
            assay_test_fail(__FILE__, __LINE__, "%s %s: %s\n  why: %s\n  %s",
                            assay_verdict_name(row->verdict), row->tensor, row->reason, row->why,
                            row->repro);
    }
    assay_report_clear(&report);
}

/* A mode that has no room beside two results fits no tile. Its kernels do not plan with shared
 * memory, and a recording with 8 KB shows what any budget shows. */
static bool modes_fit(const assay_params *params) {
    enum { SHARED = 232448, RESULTS = 2 }; /* bytes: all that a block has */
    static const char *const extents[] = {"f", "q"};
    const int64_t most = SHARED / (int64_t)assay_dtype_size(params->dtype) - RESULTS;
    for (size_t k = 0; k < sizeof extents / sizeof *extents; ++k) {
        const assay_param *mode = assay_params_find(params, extents[k]);
        for (int32_t i = 0; mode != NULL && i < mode->count; ++i)
            if (mode->value[i] > most)
                return false;
    }
    return true;
}

/* Small, or a single row, as large as it is. */
static bool is_recorded(const assay_case *c) {
    enum { MOST = 1 << 15 }; /* elements */
    const assay_param *rows = assay_params_find(&c->params, "b");
    return modes_fit(&c->params) &&
           (suite_elements(c) <= MOST || (rows != NULL && rows->value[0] == 1));
}

/* Whether the variant refuses the case. Then there is nothing to record, but the oracle would still
 * take seconds. */
static bool is_refused(const suite_item *item) {
    const assay_device *device = suite_device(item);
    const assay_variant *variant = variant_find(device, item->c.op->name, item->variant);
    assay_problem shapes = {.c = item->c};
    if (!variant || item->c.op->signature(&item->c.params, &shapes.sig) != ASSAY_OK)
        return false;
    const assay_status status = assay_supports(variant, device, &shapes);
    assay_signature_clear(&shapes.sig);
    return status == ASSAY_ERR_UNSUPPORTED;
}

static void add(const suite_item *item) {
    const char *op = item->c.op->name;
    const bool plans = strcmp(op, "kronecker") == 0 || strcmp(op, "cross_entropy") == 0;
    if (plans && item->simulated && strcmp(item->variant, "v3") == 0 && is_recorded(&item->c) &&
        !is_refused(item))
        suite_register("whole_shared", "", "check", item, run);
}

__attribute__((constructor)) static void register_cases(void) {
    suite_visit("whole_shared", ASSAY_SMOKE, ASSAY_CI, add);
}
