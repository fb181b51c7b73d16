/* The baseline tier: a kernel that is less accurate than v1 everywhere fails, though each element
 * is within its bound. */
#include "engine/baseline.h"
#include "engine/check.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <string.h>

ASSAY_TEST(baseline, twice_v1_and_one_rounding, "unit smoke") {
    enum { COUNT = 64, MANY = 1000, FEW = 4 };
    double want[COUNT], v1[COUNT], got[COUNT], bound[COUNT];
    const double u = assay_dtype_unit(ASSAY_BF16);
    for (int e = 0; e < COUNT; ++e) {
        want[e] = 1 + e;
        v1[e] = want[e] * (1 + u / 2);
        got[e] = want[e] * (1 + 1.9 * u);
        bound[e] = want[e] * 10 * u;
    }
    CHECK(baseline_compare(ASSAY_BF16, got, v1, want, bound, COUNT, MANY).kept);
    for (int e = 0; e < COUNT; ++e)
        got[e] = want[e] * (1 + 2.1 * u);
    CHECK(!baseline_compare(ASSAY_BF16, got, v1, want, bound, COUNT, MANY).kept);
    CHECK(baseline_compare(ASSAY_BF16, got, v1, want, bound, COUNT, FEW).kept);
    for (int e = 0; e < COUNT; ++e)
        bound[e] *= 2;
    CHECK(baseline_compare(ASSAY_BF16, got, v1, want, bound, COUNT, MANY).kept);
    got[3] = NAN;
    CHECK(!baseline_compare(ASSAY_BF16, got, v1, want, bound, COUNT, MANY).kept);
    want[3] = INFINITY;
    CHECK(baseline_compare(ASSAY_BF16, got, v1, want, bound, COUNT, MANY).kept);
}

ASSAY_TEST(baseline, what_v1_has_exactly_right, "unit smoke") {
    enum { MANY = 1000, FEW = 4 };
    const double want = 0, v1 = 0, bound = 1, got = 0.15, eighth = 0.125;
    CHECK(!baseline_compare(ASSAY_BF16, &got, &v1, &want, &bound, 1, MANY).kept);
    CHECK(baseline_compare(ASSAY_BF16, &eighth, &v1, &want, &bound, 1, MANY).kept);
    CHECK(baseline_compare(ASSAY_BF16, &got, &v1, &want, &bound, 1, FEW).kept);
}

/* ---- in the engine ---- */

static const assay_variant *right;

/* v1's dk, each element moved by two of the steps between bf16 numbers. */
static assay_status blurred(const assay_call *call) {
    const assay_status status = right->backward(call);
    const assay_tensor *dk = &call->out[1];
    for (int64_t e = 0; e < assay_tensor_count(dk); ++e) {
        uint16_t *bits = (uint16_t *)dk->data + e;
        *bits = (uint16_t)(*bits + (e % 2 == 0 ? 2 : -2));
    }
    return status;
}

ASSAY_TEST(baseline, fails_a_kernel_that_is_off_everywhere, "unit smoke") {
    const assay_device *sim;
    assay_case c;
    REQUIRE_OK(assay_device_open("sim", &sim));
    REQUIRE_OK(assay_case_parse("attention b=1 h=2 sq=40 sk=90 d=32 dtype=bf16", &c));
    for (int32_t i = 0; i < sim->n_variants; ++i)
        if (strcmp(sim->variants[i]->op, "attention") == 0 &&
            strcmp(sim->variants[i]->name, "v1") == 0)
            right = sim->variants[i];
    assay_variant wrong = *right;
    wrong.name = "test";
    wrong.backward = blurred;
    const assay_variant *const list[] = {right, &wrong};
    assay_device device = *sim;
    device.variants = list;
    device.n_variants = 2;
    const char *name = "test";
    assay_report report;
    REQUIRE_OK(assay_check(&c, &device, &name, 1, &report));
    for (int32_t i = 0; i < report.n_rows; ++i) {
        const assay_row *row = &report.rows[i];
        const bool is_dk = strcmp(row->tensor, "dk") == 0;
        CHECK_MSG(row->verdict == (is_dk ? ASSAY_FAIL : ASSAY_PASS) && row->cmp.wrong == 0 &&
                      (!is_dk || strstr(row->reason, "as a whole off")),
                  "%s %s: %s, ratio %g", assay_verdict_name(row->verdict), row->tensor, row->reason,
                  row->cmp.ratio);
    }
    assay_report_clear(&report);
}
