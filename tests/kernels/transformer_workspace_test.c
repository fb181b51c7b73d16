/*
 * The workspace of transformer's variants: how much they plan, that they refuse to run in less, and
 * that they ask the variants they are made of.
 */
#include "engine/buffer.h"
#include "engine/check.h"
#include "engine/variant_run.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const assay_device *sim(void) {
    const assay_device *device;
    REQUIRE_OK(assay_device_open("sim", &device));
    return device;
}

static const assay_variant *variant(const char *name) {
    const assay_variant *v = variant_find(sim(), "transformer", name);
    REQUIRE(v != NULL);
    return v;
}

/* ---- calls without data ---- */

typedef struct layout {
    assay_case c;
    assay_signature sig;
    assay_tensor *tensors;
    assay_call call;
} layout;

static int32_t add(layout *l, const assay_tensor_spec *specs, int32_t count, bool gradients,
                   int32_t at) {
    for (int32_t i = 0; i < count; ++i)
        if (!gradients || specs[i].differentiable) {
            l->tensors[at] = buffer_layout(&specs[i], buffer_spacing(&l->c, at));
            ++at;
        }
    return at;
}

static void layout_init(layout *l, assay_stage stage, const char *text) {
    REQUIRE_OK(assay_case_parse(text, &l->c));
    REQUIRE_OK(l->c.op->signature(&l->c.params, &l->sig));
    const assay_signature *sig = &l->sig;
    l->tensors = calloc(2 * (size_t)(sig->n_in + sig->n_out), sizeof *l->tensors);
    REQUIRE(l->tensors != NULL);
    int32_t n = add(l, sig->in, sig->n_in, false, 0);
    if (stage == ASSAY_BACKWARD) {
        n = add(l, sig->out, sig->n_out, false, n);
        n = add(l, sig->out, sig->n_out, true, n);
    }
    l->call = (assay_call){.params = &l->c.params, .in = l->tensors, .n_in = n};
    l->call.out = l->tensors + n;
    const bool forward = stage == ASSAY_FORWARD;
    l->call.n_out =
        (forward ? add(l, sig->out, sig->n_out, false, n) : add(l, sig->in, sig->n_in, true, n)) -
        n;
}

static void layout_clear(layout *l) {
    assay_signature_clear(&l->sig);
    free(l->tensors);
}

static long long planned(const char *name, assay_stage stage, const char *text) {
    layout l;
    layout_init(&l, stage, text);
    const size_t bytes = variant(name)->workspace(stage, &l.call);
    layout_clear(&l);
    return (long long)bytes;
}

/* Bytes that one more layer needs. No tensor of these has to be rounded up. */
static long long of_a_layer(const char *name, assay_stage stage, const char *words) {
    char two[128], three[128];
    snprintf(two, sizeof two, "transformer size=tiny d=64 ff=128 layers=2 %s", words);
    snprintf(three, sizeof three, "transformer size=tiny d=64 ff=128 layers=3 %s", words);
    return planned(name, stage, three) - planned(name, stage, two);
}

enum { BATCH = 4 * 32, D = 64, FF = 128, HEADS = 2 };
enum { LAYER_PARAMETERS = 4 * D * D + 3 * D * FF + 2 * D };

static long long activations(int element) {
    return BATCH * (9 * D + 3 * FF) * element + BATCH * HEADS * 4;
}

ASSAY_TEST(transformer_workspace, grows_by_what_backward_needs_of_a_layer, "unit transformer") {
    static const char *const names[] = {"v1", "v2", "v3", "v3_hopper"};
    for (int i = 0; i < 4; ++i) {
        CHECK(of_a_layer(names[i], ASSAY_BACKWARD, "dtype=bf16") ==
              activations(2) + 2 * LAYER_PARAMETERS);
        CHECK(of_a_layer(names[i], ASSAY_FORWARD, "steps=9 dtype=bf16") ==
              activations(2) + 10 * LAYER_PARAMETERS);
        if (i == 3)
            continue; /* bf16 alone */
        CHECK(of_a_layer(names[i], ASSAY_FORWARD, "dtype=f32") == 4 * LAYER_PARAMETERS);
        CHECK(of_a_layer(names[i], ASSAY_BACKWARD, "dtype=f32") ==
              activations(4) + 4 * LAYER_PARAMETERS);
        CHECK(of_a_layer(names[i], ASSAY_FORWARD, "steps=1 dtype=f32") ==
              activations(4) + 12 * LAYER_PARAMETERS);
    }
}

/* ---- less than planned ---- */

static const assay_variant *real;

static size_t one_byte_less(assay_stage stage, const assay_call *call) {
    return real->workspace(stage, call) - 1;
}

/* The line that a check of the variant ends with. */
static void check_in_less(const char *name, const char *text, char line[ASSAY_REASON]) {
    assay_case c;
    assay_report report;
    REQUIRE_OK(assay_case_parse(text, &c));
    real = variant(name);
    assay_variant less = *real;
    less.workspace = one_byte_less;
    const assay_variant *const list[] = {&less};
    assay_device device = *sim();
    device.variants = list;
    device.n_variants = 1;
    REQUIRE_OK(assay_check(&c, &device, NULL, 0, &report));
    CHECK(report.verdict == ASSAY_ERROR);
    snprintf(line, ASSAY_REASON, "%s", report.rows[0].reason);
    assay_report_clear(&report);
}

static void expect_refusal(const char *name, const char *text) {
    const long long needed = planned(name, ASSAY_FORWARD, text);
    char line[ASSAY_REASON], want[128];
    check_in_less(name, text, line);
    snprintf(want, sizeof want, "needs %lld bytes of workspace, %lld are available", needed,
             needed - 1);
    CHECK_MSG(strstr(line, want) != NULL, "%s: '%s', want '%s'", name, line, want);
}

ASSAY_TEST(transformer_workspace, one_byte_less_is_refused, "unit smoke transformer") {
    static const char *const small = "transformer size=tiny b=1 t=3 layers=1 dtype=f32";
    static const char *const trained = "transformer size=tiny b=1 t=3 layers=1 steps=1 dtype=bf16";
    expect_refusal("v1", small);
    expect_refusal("v2", trained);
    expect_refusal("v3", small);
    expect_refusal("v3", trained);
}

/* ---- parts ---- */

/* cuBLAS takes strides of 32 bits. */
ASSAY_TEST(transformer_workspace, what_a_part_refuses_the_model_refuses, "unit smoke transformer") {
    layout l;
    layout_init(&l, ASSAY_FORWARD, "transformer size=tiny dtype=f32 seed=0");
    CHECK(variant("v2")->supports(ASSAY_FORWARD, &l.call) == ASSAY_OK);
    l.tensors[l.sig.n_in].stride[1] = INT64_C(1) << 31; /* from one row of logits to the next */
    CHECK_FAILS(variant("v2")->supports(ASSAY_FORWARD, &l.call), ASSAY_ERR_UNSUPPORTED,
                "linear/v2: cuBLAS takes 32-bit extents and strides");
    CHECK(variant("v1")->supports(ASSAY_FORWARD, &l.call) == ASSAY_OK);
    CHECK(variant("v3")->supports(ASSAY_FORWARD, &l.call) == ASSAY_OK);
    layout_clear(&l);
}
