/*
 * Judging the engine: variants of weighted_sum written as host functions on the simulated device's
 * memory, one right and the others each wrong in one way. Every one of them must get its verdict.
 */
#include "engine/check.h"
#include "engine/relations.h"
#include "engine/variant_run.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { X, W, Y, DY }; /* backward's arguments; forward has the first two */

static float *row(const assay_tensor *t, int64_t r) {
    return (float *)t->data + r * assay_tensor_row_stride(t);
}

/* y and dy: their rows are the last leading axis. */
static float *element(const assay_tensor *t, int64_t r) {
    const int64_t length = assay_tensor_row_length(t);
    return row(t, r / length) + r % length;
}

static assay_status right_forward(const assay_call *call) {
    const assay_tensor *x = &call->in[X], *w = &call->in[W];
    for (int64_t r = 0; r < assay_tensor_rows(x); ++r) {
        float sum = 0;
        for (int64_t j = 0; j < assay_tensor_row_length(x); ++j)
            sum = fmaf(row(x, r)[j], row(w, 0)[j], sum);
        *element(&call->out[0], r) = sum;
    }
    return ASSAY_OK;
}

static assay_status right_backward(const assay_call *call) {
    const assay_tensor *x = &call->in[X], *w = &call->in[W], *dy = &call->in[DY];
    float *dw = row(&call->out[1], 0);
    for (int64_t j = 0; j < assay_tensor_row_length(x); ++j) {
        float sum = 0;
        for (int64_t r = 0; r < assay_tensor_rows(x); ++r) {
            sum = fmaf(*element(dy, r), row(x, r)[j], sum);
            row(&call->out[0], r)[j] = *element(dy, r) * row(w, 0)[j];
        }
        dw[j] = sum;
    }
    return ASSAY_OK;
}

/* ---- one fault each ---- */

static assay_status zeros(const assay_call *call) {
    for (int64_t r = 0; r < assay_tensor_rows(&call->in[X]); ++r)
        *element(&call->out[0], r) = 0;
    return ASSAY_OK;
}

/* Leaves the last element unwritten. */
static assay_status no_tail(const assay_call *call) {
    const int64_t last = assay_tensor_rows(&call->in[X]) - 1;
    const float before = *element(&call->out[0], last);
    (void)right_forward(call);
    *element(&call->out[0], last) = before;
    return ASSAY_OK;
}

/* 8 units in the last place, in one element. */
static assay_status eight_u(const assay_call *call) {
    (void)right_forward(call);
    *element(&call->out[0], 2) *= 1 + 8 * 0x1p-24f;
    return ASSAY_OK;
}

static assay_status one_element_three_percent(const assay_call *call) {
    (void)right_forward(call);
    *element(&call->out[0], 2) *= 1.03f;
    return ASSAY_OK;
}

/* fp32 operands cut to TF32, as tensor cores do. */
static float tf32(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits &= 0xFFFFE000u;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static assay_status silent_tf32(const assay_call *call) {
    const assay_tensor *x = &call->in[X], *w = &call->in[W];
    for (int64_t r = 0; r < assay_tensor_rows(x); ++r) {
        float sum = 0;
        for (int64_t j = 0; j < assay_tensor_row_length(x); ++j)
            sum = fmaf(tf32(row(x, r)[j]), tf32(row(w, 0)[j]), sum);
        *element(&call->out[0], r) = sum;
    }
    return ASSAY_OK;
}

static assay_status drops_last_term(const assay_call *call) {
    const assay_tensor *x = &call->in[X], *w = &call->in[W];
    (void)right_forward(call);
    const int64_t j = assay_tensor_row_length(x) - 1;
    for (int64_t r = 0; r < assay_tensor_rows(x); ++r)
        *element(&call->out[0], r) -= row(x, r)[j] * row(w, 0)[j];
    return ASSAY_OK;
}

static assay_status ignores_dy(const assay_call *call) {
    const assay_tensor *x = &call->in[X], *w = &call->in[W];
    (void)right_backward(call);
    for (int64_t r = 0; r < assay_tensor_rows(x); ++r)
        memcpy(row(&call->out[0], r), row(w, 0),
               (size_t)assay_tensor_row_length(x) * sizeof(float));
    return ASSAY_OK;
}

/* Wrong accesses are tested here, so no sanitizer may stop them. */
__attribute__((no_sanitize("address"))) static assay_status writes_before(const assay_call *call) {
    (void)right_forward(call);
    ((volatile float *)call->out[0].data)[-1] = 0;
    return ASSAY_OK;
}

__attribute__((no_sanitize("address"))) static assay_status writes_behind(const assay_call *call) {
    (void)right_forward(call);
    ((volatile float *)element(&call->out[0], assay_tensor_rows(&call->in[X]) - 1))[1] = 0;
    return ASSAY_OK;
}

/* Into the padding between rows of dx. */
__attribute__((no_sanitize("address"))) static assay_status writes_padding(const assay_call *call) {
    (void)right_backward(call);
    ((volatile float *)call->out[0].data)[assay_tensor_row_length(&call->out[0])] = 0;
    return ASSAY_OK;
}

/* Writes dx with its rows `stride` apart, all of it `back` bytes too early. */
__attribute__((no_sanitize("address"))) static void write_dx(const assay_call *call, int64_t stride,
                                                             uintptr_t back) {
    const assay_tensor *w = &call->in[W], *dx = &call->out[0];
    volatile float *const first = (float *)((uintptr_t)dx->data - back);
    for (int64_t r = 0; r < assay_tensor_rows(dx); ++r)
        for (int64_t j = 0; j < assay_tensor_row_length(dx); ++j)
            first[r * stride + j] = *element(&call->in[DY], r) * row(w, 0)[j];
}

/* As if the rows of dx lay as far apart as those of x. */
static assay_status takes_the_stride_of_x(const assay_call *call) {
    (void)right_backward(call);
    write_dx(call, assay_tensor_row_stride(&call->in[X]), 0);
    return ASSAY_OK;
}

/* Writes dx in packs where x is aligned for them; the low bits of their address are lost. */
static assay_status takes_the_alignment_of_x(const assay_call *call) {
    enum { PACK = 16 };
    (void)right_backward(call);
    const bool packs = (uintptr_t)call->in[X].data % PACK == 0;
    write_dx(call, assay_tensor_row_stride(&call->out[0]),
             packs ? (uintptr_t)call->out[0].data % PACK : 0);
    return ASSAY_OK;
}

static assay_status changes_input(const assay_call *call) {
    (void)right_forward(call);
    row(&call->in[W], 0)[0] = -row(&call->in[W], 0)[0];
    return ASSAY_OK;
}

static assay_status refuses(const assay_call *call) {
    (void)call;
    return assay_fail(ASSAY_ERR_DEVICE, "the launch failed");
}

static assay_status does_nothing(const assay_call *call) {
    (void)call;
    return ASSAY_OK;
}

/* Adds the index of the call, which no other run has. */
static assay_status changes_its_mind(const assay_call *call) {
    static float calls;
    (void)right_forward(call);
    *element(&call->out[0], 0) += 1e-6f * calls++;
    return ASSAY_OK;
}

static assay_status unsupported(assay_stage stage, const assay_call *call) {
    (void)call;
    return stage == ASSAY_BACKWARD ? assay_fail(ASSAY_ERR_UNSUPPORTED, "has no backward")
                                   : ASSAY_OK;
}

/* ---- judging one of them ---- */

static assay_device with_variant(const assay_variant *const *variant) {
    const assay_device *sim;
    REQUIRE_OK(assay_device_open("sim", &sim));
    assay_device device = *sim;
    device.variants = variant;
    device.n_variants = 1;
    return device;
}

static assay_case parse(const char *text) {
    assay_case c;
    REQUIRE_OK(assay_case_parse(text, &c));
    return c;
}

static assay_variant variant_of(assay_status (*forward)(const assay_call *),
                                assay_status (*backward)(const assay_call *)) {
    return (assay_variant){.op = "weighted_sum",
                           .name = "test",
                           .device = "sim",
                           .summary = "a test's own",
                           .forward = forward,
                           .backward = backward};
}

static void expect(const char *text, assay_variant v, assay_verdict verdict, const char *tensor,
                   const char *reason) {
    const assay_variant *const list[] = {&v};
    const assay_device device = with_variant(list);
    const assay_case c = parse(text);
    assay_report report;
    REQUIRE_OK(assay_check(&c, &device, NULL, 0, &report));
    CHECK_MSG(report.verdict == verdict, "%s: %s", assay_verdict_name(report.verdict),
              report.n_rows > 0 ? report.rows[0].reason : "no rows");
    bool found = false;
    for (int32_t i = 0; i < report.n_rows; ++i)
        found = found ||
                (report.rows[i].verdict == verdict && strcmp(report.rows[i].tensor, tensor) == 0 &&
                 strstr(report.rows[i].reason, reason));
    CHECK_MSG(found, "no %s row for '%s' with '%s'", assay_verdict_name(verdict), tensor, reason);
    assay_report_clear(&report);
}

#define ROUNDED "weighted_sum n=3x5 d=40 pad=2 misalign=1 dtype=f32"
#define EXACT   "weighted_sum n=3x5 d=40 pad=2 misalign=1 dtype=f32 fill=exact"

ASSAY_TEST(engine, right_kernel_passes, "unit smoke") {
    expect(ROUNDED, variant_of(right_forward, right_backward), ASSAY_PASS, "y", "");
    expect(EXACT, variant_of(right_forward, right_backward), ASSAY_PASS, "dw", "");
}

ASSAY_TEST(engine, wrong_numbers_fail, "unit smoke") {
    expect(ROUNDED, variant_of(zeros, right_backward), ASSAY_FAIL, "y", "15 of 15");
    expect(ROUNDED, variant_of(no_tail, right_backward), ASSAY_FAIL, "y", "worst at (2, 4)");
    expect(ROUNDED, variant_of(does_nothing, right_backward), ASSAY_FAIL, "y", "15 of 15");
    expect(ROUNDED, variant_of(drops_last_term, right_backward), ASSAY_FAIL, "y", "beyond");
    expect(ROUNDED, variant_of(one_element_three_percent, right_backward), ASSAY_FAIL, "y",
           "1 of 15 elements beyond their bound, worst at (0, 2)");
    expect(ROUNDED, variant_of(silent_tf32, right_backward), ASSAY_FAIL, "y", "beyond");
    expect(ROUNDED, variant_of(right_forward, ignores_dy), ASSAY_FAIL, "dx", "beyond");
    expect(ROUNDED, variant_of(right_forward, does_nothing), ASSAY_FAIL, "dw", "40 of 40");
}

ASSAY_TEST(engine, exact_tier_sees_eight_u_and_tf32, "unit smoke") {
    expect(EXACT, variant_of(eight_u, right_backward), ASSAY_FAIL, "y", "1 of 15");
    expect(EXACT, variant_of(silent_tf32, right_backward), ASSAY_FAIL, "y", "beyond");
}

ASSAY_TEST(engine, writes_outside_are_errors, "unit smoke") {
    expect(ROUNDED, variant_of(writes_before, right_backward), ASSAY_ERROR, "", "wrote outside y");
    expect(ROUNDED, variant_of(writes_behind, right_backward), ASSAY_ERROR, "", "wrote outside y");
    expect(ROUNDED, variant_of(right_forward, writes_padding), ASSAY_ERROR, "",
           "backward: wrote outside dx");
    expect(ROUNDED, variant_of(changes_input, right_backward), ASSAY_ERROR, "",
           "forward: changed its input w");
}

ASSAY_TEST(engine, tensors_do_not_lie_alike, "unit smoke") {
    const assay_variant stride = variant_of(right_forward, takes_the_stride_of_x),
                        alignment = variant_of(right_forward, takes_the_alignment_of_x);
    expect("weighted_sum n=15 d=40 dtype=f32", stride, ASSAY_PASS, "dx", "");
    expect("weighted_sum n=15 d=40 pad=8 dtype=f32", stride, ASSAY_ERROR, "", "wrote outside dx");
    expect("weighted_sum n=15 d=40 misalign=1 dtype=f32", alignment, ASSAY_PASS, "dx", "");
    expect("weighted_sum n=15 d=40 misalign=8 dtype=f32", alignment, ASSAY_PASS, "dx", "");
    expect("weighted_sum n=15 d=40 misalign=12 dtype=f32", alignment, ASSAY_ERROR, "",
           "wrote outside dx");
}

ASSAY_TEST(engine, what_cannot_run_is_said, "unit smoke") {
    expect(ROUNDED, variant_of(refuses, right_backward), ASSAY_ERROR, "", "the launch failed");
    assay_variant v = variant_of(right_forward, right_backward);
    v.supports = unsupported;
    expect(ROUNDED, v, ASSAY_SKIP, "", "backward: has no backward");
    v.lacks = "no tensor cores here";
    expect(ROUNDED, v, ASSAY_SKIP, "", "weighted_sum/test: no tensor cores here");
}

ASSAY_TEST(engine, empty_case_is_mistrusted, "unit smoke") {
    expect("weighted_sum n=0 d=5 dtype=f32", variant_of(right_forward, right_backward),
           ASSAY_MISTRUSTED, "y", "nothing to compare");
}

ASSAY_TEST(engine, unknown_variant_is_named, "unit smoke") {
    const assay_device *sim;
    assay_report report;
    const assay_case c = parse(ROUNDED);
    const char *name = "v9";
    REQUIRE_OK(assay_device_open("sim", &sim));
    CHECK_FAILS(assay_check(&c, sim, &name, 1, &report), ASSAY_ERR_USAGE,
                "no variant 'v9' on sim; it has v1 v2 v3");
}

ASSAY_TEST(engine, too_large_a_case_is_refused, "unit smoke") {
    const assay_device *sim;
    assay_report report;
    const assay_case c = parse("weighted_sum n=1024 d=1024 dtype=f32");
    REQUIRE_OK(assay_device_open("sim", &sim));
    REQUIRE(setenv("ASSAY_HOST_MEMORY_GIB", "0.01", 1) == 0);
    CHECK_FAILS(assay_check(&c, sim, NULL, 0, &report), ASSAY_ERR_MEMORY,
                "GiB of host memory and 0.0 GiB are available; choose a smaller case");
    REQUIRE(setenv("ASSAY_HOST_MEMORY_GIB", "1", 1) == 0);
    REQUIRE_OK(assay_check(&c, sim, NULL, 0, &report));
    CHECK(report.verdict == ASSAY_PASS);
    assay_report_clear(&report);
}

/* ---- relations ---- */

static assay_relation_report relate(const char *name, assay_variant v) {
    const assay_variant *const list[] = {&v};
    const assay_device device = with_variant(list);
    const assay_case c = parse(ROUNDED);
    assay_relation_report report = {.verdict = ASSAY_ERROR, .reason = "no such relation"};
    for (int32_t i = 0; i < c.op->n_relations; ++i)
        if (strcmp(c.op->relations[i].name, name) == 0)
            REQUIRE_OK(assay_check_relation(&c.op->relations[i], &c, &device, &v, &report));
    return report;
}

static assay_status adds_a_thousandth(const assay_call *call) {
    (void)right_forward(call);
    for (int64_t r = 0; r < assay_tensor_rows(&call->in[X]); ++r)
        *element(&call->out[0], r) += 1e-3f;
    return ASSAY_OK;
}

static assay_status doubles_first_row(const assay_call *call) {
    (void)right_forward(call);
    *element(&call->out[0], 0) *= 2;
    return ASSAY_OK;
}

static assay_status adds_width(const assay_call *call) {
    (void)right_forward(call);
    for (int64_t r = 0; r < assay_tensor_rows(&call->in[X]); ++r)
        *element(&call->out[0], r) *= 1 + 1e-3f * (float)assay_tensor_row_length(&call->in[X]);
    return ASSAY_OK;
}

ASSAY_TEST(engine, relations_hold_for_a_right_kernel, "unit smoke") {
    static const char *const names[] = {"linearity", "power_of_two_scaling", "row_permutation",
                                        "identity", "zero_padding"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        const assay_relation_report r = relate(names[i], variant_of(right_forward, right_backward));
        CHECK_MSG(r.verdict == ASSAY_PASS, "%s: %s", names[i], r.reason);
    }
}

ASSAY_TEST(engine, relations_find_what_breaks_them, "unit smoke") {
    const assay_variant affine = variant_of(adds_a_thousandth, right_backward);
    CHECK(relate("linearity", affine).verdict == ASSAY_FAIL);
    CHECK(relate("power_of_two_scaling", affine).verdict == ASSAY_FAIL);
    CHECK(relate("identity", affine).verdict == ASSAY_FAIL);
    const assay_variant uneven = variant_of(doubles_first_row, right_backward);
    CHECK(relate("row_permutation", uneven).verdict == ASSAY_FAIL);
    const assay_variant by_width = variant_of(adds_width, right_backward);
    CHECK(relate("zero_padding", by_width).verdict == ASSAY_FAIL);
}

static void plan_as_itself(int32_t multiprocessors) {
    const assay_device *sim;
    (void)multiprocessors;
    if (assay_device_open("sim", &sim) == ASSAY_OK)
        sim->plan_for(0);
}

/* attention/v3 takes tiles for few blocks where there are many multiprocessors. */
ASSAY_TEST(engine, bits_are_compared_under_one_plan, "unit smoke") {
    const assay_case c = parse("attention b=2 h=1 sq=70 sk=130 d=64 dtype=f32");
    const assay_device *sim;
    assay_relation_report report;
    REQUIRE_OK(assay_device_open("sim", &sim));
    const assay_variant *v3 = variant_find(sim, "attention", "v3");
    REQUIRE(v3 != NULL);
    assay_device large = *sim, stubborn = *sim;
    large.multiprocessors = stubborn.multiprocessors = 132;
    stubborn.plan_for = plan_as_itself;
    REQUIRE_OK(assay_check_same_bits(&c, sim, v3, &large, v3, &report));
    CHECK_MSG(report.verdict == ASSAY_PASS, "%s", report.reason);
    REQUIRE_OK(assay_check_same_bits(&c, sim, v3, &stubborn, v3, &report));
    CHECK(report.verdict == ASSAY_FAIL);
}

ASSAY_TEST(engine, determinism_finds_a_changing_result, "unit smoke") {
    assay_variant right = variant_of(right_forward, right_backward);
    assay_variant moody = variant_of(changes_its_mind, right_backward);
    const assay_case c = parse(ROUNDED);
    const assay_device *sim;
    assay_relation_report report;
    REQUIRE_OK(assay_device_open("sim", &sim));
    REQUIRE_OK(assay_check_determinism(&c, sim, &right, &report));
    CHECK_MSG(report.verdict == ASSAY_PASS, "%s", report.reason);
    REQUIRE_OK(assay_check_determinism(&c, sim, &moody, &report));
    CHECK(report.verdict == ASSAY_FAIL);
    REQUIRE_OK(assay_check_same_bits(&c, sim, &right, sim, &moody, &report));
    CHECK(report.verdict == ASSAY_FAIL);
}
