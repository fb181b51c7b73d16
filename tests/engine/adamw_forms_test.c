/* adamw: m + (1 - beta1)(g - m) is as good a form of m' as beta1 m + (1 - beta1) g; both pass. */
#include "engine/check.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const assay_variant *v1;

static assay_status by_a_step(const assay_call *call) {
    const assay_status status = v1->forward(call);
    const float *g = call->in[1].data, *m = call->in[2].data;
    float *new_m = call->out[1].data;
    const float rest = (float)(1 - assay_params_find(call->params, "beta1")->real);
    for (int64_t i = 0; i < assay_tensor_count(&call->out[1]); ++i)
        new_m[i] = m[i] + rest * (g[i] - m[i]);
    return status;
}

/* One element off by 2^-16 of what it is made of. */
static assay_status by_a_wrong_step(const assay_call *call) {
    const assay_status status = by_a_step(call);
    const float *g = call->in[1].data, *m = call->in[2].data;
    float *new_m = call->out[1].data;
    new_m[0] += 0x1p-16f * (fabsf(g[0]) + fabsf(m[0]));
    return status;
}

static assay_verdict verdict_of(const char *beta1, int seed,
                                assay_status (*forward)(const assay_call *)) {
    const assay_device *sim;
    char text[ASSAY_CASE_TEXT];
    assay_case c;
    assay_report report;
    REQUIRE_OK(assay_device_open("sim", &sim));
    snprintf(text, sizeof text, "adamw n=500 beta1=%s step=3 dtype=f32 seed=%d", beta1, seed);
    REQUIRE_OK(assay_case_parse(text, &c));
    for (int32_t i = 0; i < sim->n_variants; ++i)
        if (strcmp(sim->variants[i]->op, "adamw") == 0 && strcmp(sim->variants[i]->name, "v1") == 0)
            v1 = sim->variants[i];
    assay_variant model = *v1;
    model.name = "model";
    model.forward = forward;
    const assay_variant *const list[] = {v1, &model};
    assay_device device = *sim;
    device.variants = list;
    device.n_variants = 2;
    const char *name = "model";
    REQUIRE_OK(assay_check_numbers(&c, &device, &name, 1, &report));
    const assay_verdict verdict = report.verdict;
    if (verdict == ASSAY_FAIL && forward == by_a_step)
        for (int32_t i = 0; i < report.n_rows; ++i)
            if (report.rows[i].reason[0] != '\0')
                assay_test_fail(__FILE__, __LINE__, "%s: %s: %s", text, report.rows[i].tensor,
                                report.rows[i].reason);
    assay_report_clear(&report);
    return verdict;
}

ASSAY_TEST(adamw_forms, both_forms_of_the_mean_pass, "unit smoke adamw") {
    static const char *const betas[] = {"0.125", "0.5", "0.9", "0.999"};
    for (int b = 0; b < 4; ++b)
        for (int seed = 0; seed < 40; ++seed) {
            CHECK(verdict_of(betas[b], seed, by_a_step) == ASSAY_PASS);
            CHECK(verdict_of(betas[b], seed, by_a_wrong_step) == ASSAY_FAIL);
        }
}
