/* The baseline tier: a kernel that is less accurate than v1 everywhere fails, though each element
 * is within its bound. */
#include "engine/baseline.h"
#include "engine/check.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdlib.h>
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
    CHECK(baseline_compare(ASSAY_BF16, got, v1, want, bound, NULL, COUNT, MANY, 16).kept);
    for (int e = 0; e < COUNT; ++e)
        got[e] = want[e] * (1 + 2.1 * u);
    CHECK(!baseline_compare(ASSAY_BF16, got, v1, want, bound, NULL, COUNT, MANY, 16).kept);
    CHECK(baseline_compare(ASSAY_BF16, got, v1, want, bound, NULL, COUNT, FEW, 16).kept);
    for (int e = 0; e < COUNT; ++e)
        bound[e] *= 2;
    CHECK(baseline_compare(ASSAY_BF16, got, v1, want, bound, NULL, COUNT, MANY, 16).kept);
    got[3] = NAN;
    CHECK(!baseline_compare(ASSAY_BF16, got, v1, want, bound, NULL, COUNT, MANY, 16).kept);
    want[3] = INFINITY;
    CHECK(baseline_compare(ASSAY_BF16, got, v1, want, bound, NULL, COUNT, MANY, 16).kept);
}

ASSAY_TEST(baseline, what_v1_has_exactly_right, "unit smoke") {
    enum { MANY = 1000, FEW = 4 };
    const double want = 0, v1 = 0, bound = 1, got = 0.15, eighth = 0.125;
    CHECK(!baseline_compare(ASSAY_BF16, &got, &v1, &want, &bound, NULL, 1, MANY, 16).kept);
    CHECK(baseline_compare(ASSAY_BF16, &eighth, &v1, &want, &bound, NULL, 1, MANY, 16).kept);
    CHECK(baseline_compare(ASSAY_BF16, &got, &v1, &want, &bound, NULL, 1, FEW, 16).kept);
    for (double usual = 0.4; usual < 1; usual += 0.2) { /* of the bound, 1: more than half jumps */
        double *jump = baseline_jumps(&bound, &usual, 1);
        CHECK(baseline_compare(ASSAY_BF16, &got, &v1, &want, &bound, jump, 1, MANY, 16).kept ==
              (usual > 0.5));
        free(jump);
    }
}

ASSAY_TEST(baseline, what_says_nothing_is_kept, "unit smoke") {
    const double want = 0, v1 = 0, got = 0x1p-140, bound = 0x1p-139, none = INFINITY;
    CHECK(baseline_compare(ASSAY_F32, &got, &v1, &want, &bound, NULL, 1, 1000, 64).kept);
    double *jump = baseline_jumps(&bound, &none, 1);
    CHECK(jump != NULL && jump[0] == 0);
    free(jump);
}

/* ---- in the engine ---- */

/* Seeds draw which tensors are constant, and which have one row alone or each row twice. */
ASSAY_TEST(baseline, copies_of_a_row_have_one_error, "unit smoke") {
    static const struct {
        const char *text;
        double least, most;
    } cases[] = {{"linear m=40 n=50 k=33 dtype=f32", 33, 40},
                 {"linear m=40 n=50 k=33 dtype=f32 fill=repeat", 33, 40},
                 {"linear m=40 n=50 k=33 dtype=f32 fill=constant seed=1", 1, 1},
                 {"linear m=40 n=50 k=33 dtype=f32 fill=rows seed=1", 1, 1},
                 {"linear m=40 n=50 k=33 dtype=f32 fill=rows seed=2", 1, 20}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assay_case c;
        assay_problem p;
        assay_reference ref;
        REQUIRE_OK(assay_case_parse(cases[i].text, &c));
        REQUIRE_OK(assay_problem_init(&p, &c));
        REQUIRE_OK(assay_reference_init(&ref, &p));
        const double rows = baseline_rows(&p, &ref);
        CHECK_MSG(rows >= cases[i].least && rows <= cases[i].most, "%s: %g rows", cases[i].text,
                  rows);
        assay_reference_clear(&ref);
        assay_problem_clear(&p);
    }
}

/* Three gradients of ffn.w3 have another sign than v1's, so near 0 are they: each moves its element
 * by twice the learning rate, and v1 has none of them. */
ASSAY_TEST(baseline, signs_of_gradients_near_0_may_turn, "unit sim transformer") {
    const assay_device *sim;
    assay_case c;
    assay_report report;
    const char *name = "v3";
    REQUIRE_OK(assay_device_open("sim", &sim));
    REQUIRE_OK(assay_case_parse("transformer size=tiny b=1 t=16 steps=1 d=16 ff=8 layers=1 heads=8 "
                                "dtype=bf16 fill=zeros seed=414",
                                &c));
    REQUIRE_OK(assay_check_numbers(&c, sim, &name, 1, &report));
    for (int32_t i = 0; i < report.n_rows; ++i)
        CHECK_MSG(report.rows[i].verdict == ASSAY_PASS, "%s: %s", report.rows[i].tensor,
                  report.rows[i].reason);
    assay_report_clear(&report);
}

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

/* ---- without a baseline ---- */

static assay_status decline(assay_stage stage, const assay_call *call) {
    (void)stage;
    (void)call;
    return assay_fail(ASSAY_ERR_UNSUPPORTED, "v1 has no room for this one");
}

ASSAY_TEST(baseline, where_v1_gives_no_numbers_is_said, "unit smoke") {
    const assay_device *sim;
    assay_case c;
    assay_report report;
    REQUIRE_OK(assay_device_open("sim", &sim));
    REQUIRE_OK(assay_case_parse("linear m=9 n=7 k=33 dtype=f32", &c));
    for (int32_t i = 0; i < sim->n_variants; ++i)
        if (strcmp(sim->variants[i]->op, "linear") == 0 &&
            strcmp(sim->variants[i]->name, "v1") == 0)
            right = sim->variants[i];
    assay_variant test = *right, v1 = *right;
    test.name = "test";
    v1.supports = decline;
    const assay_variant *const list[] = {&v1, &test};
    assay_device device = *sim;
    device.variants = list;
    device.n_variants = 2;
    const char *name = "test";
    REQUIRE_OK(assay_check(&c, &device, &name, 1, &report));
    CHECK(report.verdict == ASSAY_MISTRUSTED && report.n_rows == 3);
    for (int32_t i = 0; i < report.n_rows; ++i)
        CHECK_MSG(report.rows[i].verdict == ASSAY_MISTRUSTED &&
                      strstr(report.rows[i].reason, "v1, which gave no numbers") &&
                      strstr(report.rows[i].reason, "no room for this one"),
                  "%s: %s", report.rows[i].tensor, report.rows[i].reason);
    assay_report_clear(&report);
}
