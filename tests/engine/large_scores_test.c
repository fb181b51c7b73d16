/*
 * One dominant key at every size of scores: bounds of attention's gradients stay those of a
 * rounding or so, right kernels keep them, and backward in one fma, as v3 once had it, does not.
 */
#include "engine/check.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SQ = 9, SK = 17, D = 8, LARGEST = 100 };

static const assay_variant *v1;

static const float *row(const assay_tensor *t, int64_t i) {
    return (const float *)t->data + i * assay_tensor_row_stride(t);
}

/* dv by exp2(s c - lse log2 e): the subtracted term has been rounded once more than s c. */
static assay_status in_one_fma(const assay_call *call) {
    const assay_tensor *q = &call->in[0], *k = &call->in[1], *lse = &call->in[4],
                       *dy = &call->in[5];
    const assay_tensor *dv = &call->out[2];
    const float log2_e = 0x1.715476p0f, scale = 1 / sqrtf((float)D) * log2_e;
    assay_status status = v1->backward(call);
    float sum[SK][D] = {{0}};
    for (int64_t i = 0; i < SQ; ++i) {
        const float base = row(lse, 0)[i] * log2_e;
        for (int64_t j = 0; j < SK; ++j) {
            float s = 0;
            for (int64_t x = 0; x < D; ++x)
                s = fmaf(row(q, i)[x], row(k, j)[x], s);
            const float p = exp2f(fmaf(s, scale, -base));
            for (int64_t x = 0; x < D; ++x)
                sum[j][x] = fmaf(p, row(dy, i)[x], sum[j][x]);
        }
    }
    for (int64_t j = 0; j < SK; ++j)
        memcpy((float *)dv->data + j * assay_tensor_row_stride(dv), sum[j], sizeof sum[j]);
    return status;
}

static assay_report check_at(int exponent, const assay_device *device, const char *const *names,
                             int32_t n) {
    char text[ASSAY_CASE_TEXT];
    assay_case c;
    assay_report report;
    snprintf(text, sizeof text, "attention b=1 h=1 sq=9 sk=17 d=8 dtype=f32 exponent=%d", exponent);
    REQUIRE_OK(assay_case_parse(text, &c));
    REQUIRE_OK(assay_check_numbers(&c, device, names, n, &report));
    return report;
}

ASSAY_TEST(large_scores, bounds_stay_tight_at_every_size, "unit smoke attention") {
    const assay_device *sim;
    REQUIRE_OK(assay_device_open("sim", &sim));
    for (int exponent = 1; exponent <= LARGEST; ++exponent) {
        assay_report report = check_at(exponent, sim, NULL, 0);
        for (int32_t i = 0; i < report.n_rows; ++i) {
            const assay_row *r = &report.rows[i];
            const bool by_p = strcmp(r->tensor, "dv") == 0 || strcmp(r->tensor, "o") == 0;
            CHECK_MSG(r->verdict != ASSAY_FAIL && r->verdict != ASSAY_ERROR, "2^%d: %s %s: %s",
                      exponent, r->variant, r->tensor, r->reason);
            CHECK_MSG(!by_p || r->cmp.count == 0 || r->cmp.resolution < 0.25,
                      "2^%d: the bound of %s is %g of it", exponent, r->tensor, r->cmp.resolution);
        }
        assay_report_clear(&report);
    }
}

ASSAY_TEST(large_scores, a_rounded_base_is_found, "unit smoke attention") {
    const assay_device *sim;
    REQUIRE_OK(assay_device_open("sim", &sim));
    for (int32_t i = 0; i < sim->n_variants; ++i)
        if (strcmp(sim->variants[i]->op, "attention") == 0 &&
            strcmp(sim->variants[i]->name, "v1") == 0)
            v1 = sim->variants[i];
    assay_variant model = *v1;
    model.name = "model";
    model.backward = in_one_fma;
    const assay_variant *const list[] = {v1, &model};
    assay_device device = *sim;
    device.variants = list;
    device.n_variants = 2;
    const char *name = "model";
    for (int exponent = 0; exponent <= LARGEST; exponent += 4) {
        assay_report report = check_at(exponent, &device, &name, 1);
        if (exponent == 0 || exponent >= 16)
            CHECK_MSG((report.verdict == ASSAY_FAIL) == (exponent > 0), "2^%d: %s", exponent,
                      assay_verdict_name(report.verdict));
        assay_report_clear(&report);
    }
}
