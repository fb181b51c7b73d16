/*
 * What the families of data are for: kernels, each wrong in one way that normal data do not show,
 * and the family that does. Host functions on the simulated device's memory, in f32, on tensors
 * without padding.
 */
#include "engine/check.h"
#include "tests/shim/assay_test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

typedef assay_status kernel(const assay_call *);

static float *data_of(const assay_tensor *t) {
    return t->data;
}

/* ---- judging ---- */

static assay_verdict verdict_on(const char *text, kernel *forward, kernel *backward) {
    assay_case c;
    const assay_device *sim;
    assay_report report;
    REQUIRE_OK(assay_case_parse(text, &c));
    REQUIRE_OK(assay_device_open("sim", &sim));
    const assay_variant variant = {.op = c.op->name,
                                   .name = "wrong",
                                   .device = "sim",
                                   .summary = "a test's own",
                                   .forward = forward,
                                   .backward = backward};
    const assay_variant *const list[] = {&variant};
    assay_device device = *sim;
    device.variants = list;
    device.n_variants = 1;
    REQUIRE_OK(assay_check(&c, &device, NULL, 0, &report));
    const assay_verdict verdict = report.verdict;
    if (verdict != ASSAY_FAIL)
        for (int32_t i = 0; i < report.n_rows; ++i)
            if (report.rows[i].verdict != ASSAY_PASS)
                assay_test_fail(__FILE__, __LINE__, "%s: %s", text, report.rows[i].reason);
    assay_report_clear(&report);
    return verdict;
}

static void expect(const char *words, const char *family, kernel *forward, kernel *backward) {
    char text[ASSAY_CASE_TEXT];
    snprintf(text, sizeof text, "%s dtype=f32", words);
    CHECK(verdict_on(text, forward, backward) == ASSAY_PASS);
    snprintf(text, sizeof text, "%s dtype=f32 fill=%s", words, family);
    CHECK_MSG(verdict_on(text, forward, backward) == ASSAY_FAIL, "%s was not found by %s", words,
              family);
}

/* ---- weighted_sum, whose terms pass through a function ---- */

static float plain(float v) {
    return v;
}

/* As a kernel does that was compiled with -ftz. */
static float flushed(float v) {
    return fabsf(v) < FLT_MIN ? copysignf(0, v) : v;
}

/* Factor and product, so that the sum is scaled down by 2^64. */
static float scaled_up(float v) {
    return v * 0x1p32f;
}

/* Sums in fixed point are the same in any order, and have an end. */
static float fixed_point(float v) {
    return (float)(rint((double)v * 0x1p38) * 0x1p-38);
}

static float finite_only(float v) {
    return isfinite(v) ? v : 0;
}

static void sum_rows(const assay_call *call, float (*of_term)(float), float unscale) {
    const float *x = data_of(&call->in[0]), *w = data_of(&call->in[1]);
    const int64_t d = assay_tensor_count(&call->in[1]);
    for (int64_t r = 0; r < assay_tensor_count(&call->out[0]); ++r) {
        float sum = 0;
        for (int64_t j = 0; j < d; ++j)
            sum += of_term(of_term(x[r * d + j]) * w[j]);
        data_of(&call->out[0])[r] = sum * unscale;
    }
}

static void sum_gradients(const assay_call *call, float (*of_dx)(float)) {
    const float *x = data_of(&call->in[0]), *w = data_of(&call->in[1]), *dy = data_of(&call->in[3]);
    const int64_t d = assay_tensor_count(&call->in[1]), rows = assay_tensor_count(&call->in[3]);
    for (int64_t j = 0; j < d; ++j) {
        float sum = 0;
        for (int64_t r = 0; r < rows; ++r) {
            sum = fmaf(dy[r], x[r * d + j], sum);
            data_of(&call->out[0])[r * d + j] = of_dx(dy[r] * w[j]);
        }
        data_of(&call->out[1])[j] = sum;
    }
}

static assay_status sum_plain(const assay_call *call) {
    sum_rows(call, plain, 1);
    return ASSAY_OK;
}

static assay_status sum_flushed(const assay_call *call) {
    sum_rows(call, flushed, 1);
    return ASSAY_OK;
}

static assay_status sum_scaled(const assay_call *call) {
    sum_rows(call, scaled_up, 0x1p-64f);
    return ASSAY_OK;
}

static assay_status sum_finite(const assay_call *call) {
    sum_rows(call, finite_only, 1);
    return ASSAY_OK;
}

/* Rounded toward zero, as tensor cores do. */
static float cut(double v) {
    const float nearest = (float)v;
    return fabs((double)nearest) > fabs(v) ? nextafterf(nearest, 0) : nearest;
}

static assay_status sum_cut(const assay_call *call) {
    const float *x = data_of(&call->in[0]), *w = data_of(&call->in[1]);
    const int64_t d = assay_tensor_count(&call->in[1]);
    for (int64_t r = 0; r < assay_tensor_count(&call->out[0]); ++r) {
        float sum = 0;
        for (int64_t j = 0; j < d; ++j)
            sum = cut((double)sum + (double)x[r * d + j] * (double)w[j]);
        data_of(&call->out[0])[r] = sum;
    }
    return ASSAY_OK;
}

static assay_status gradients_plain(const assay_call *call) {
    sum_gradients(call, plain);
    return ASSAY_OK;
}

static assay_status gradients_in_fixed_point(const assay_call *call) {
    sum_gradients(call, fixed_point);
    return ASSAY_OK;
}

#define SUMS "weighted_sum n=7 d=23"

ASSAY_TEST(families, denormal_sees_flush_to_zero, "unit smoke") {
    expect(SUMS, "denormal", sum_flushed, gradients_plain);
    expect(SUMS, "mixed", sum_flushed, gradients_plain);
}

ASSAY_TEST(families, positive_sees_sums_that_are_cut, "unit smoke") {
    expect("weighted_sum n=7 d=300", "positive", sum_cut, gradients_plain);
}

ASSAY_TEST(families, huge_sees_an_overflow_on_the_way, "unit smoke") {
    expect(SUMS, "huge", sum_scaled, gradients_plain);
}

ASSAY_TEST(families, wide_sees_fixed_point, "unit smoke") {
    expect(SUMS, "wide", sum_plain, gradients_in_fixed_point);
}

ASSAY_TEST(families, nan_and_inf_see_what_is_swallowed, "unit smoke") {
    expect(SUMS, "nan", sum_finite, gradients_plain);
    expect(SUMS, "inf", sum_finite, gradients_plain);
}

/* ---- swiglu: db from the stored y, by a quotient ---- */

static double sigma(double a) {
    return 1 / (1 + exp(-a));
}

static assay_status gate(const assay_call *call) {
    const float *a = data_of(&call->in[0]), *b = data_of(&call->in[1]);
    for (int64_t e = 0; e < assay_tensor_count(&call->out[0]); ++e)
        data_of(&call->out[0])[e] = (float)((double)a[e] * sigma((double)a[e]) * (double)b[e]);
    return ASSAY_OK;
}

static assay_status gate_by_quotient(const assay_call *call) {
    const float *a = data_of(&call->in[0]), *b = data_of(&call->in[1]);
    const float *y = data_of(&call->in[2]), *dy = data_of(&call->in[3]);
    for (int64_t e = 0; e < assay_tensor_count(&call->out[0]); ++e) {
        const double at = (double)a[e], s = sigma(at);
        data_of(&call->out[0])[e] = (float)((double)dy[e] * (double)b[e] * s * (1 + at * (1 - s)));
        data_of(&call->out[1])[e] = dy[e] * (y[e] / b[e]);
    }
    return ASSAY_OK;
}

ASSAY_TEST(families, zeros_see_a_quotient, "unit smoke") {
    expect("swiglu n=7 d=23", "zeros", gate, gate_by_quotient);
}

/* ---- adamw: an update of 11 bits, as from TF32 or fp16, behind a parameter of ordinary size ----
 */

static float to_11_bits(float v) {
    int exponent;
    const float fraction = frexpf(v, &exponent);
    return ldexpf(rintf(ldexpf(fraction, 11)), exponent - 11);
}

static assay_status short_update(const assay_call *call) {
    const float *p = data_of(&call->in[0]), *g = data_of(&call->in[1]);
    const float *m = data_of(&call->in[2]), *v = data_of(&call->in[3]);
    const double lr = assay_params_find(call->params, "lr")->real;
    for (int64_t e = 0; e < assay_tensor_count(&call->out[0]); ++e) {
        const double grad = (double)g[e], new_m = 0.9 * (double)m[e] + (1 - 0.9) * grad;
        const double new_v = 0.999 * (double)v[e] + (1 - 0.999) * grad * grad;
        const double update = lr * (new_m / (1 - 0.9)) / (sqrt(new_v / (1 - 0.999)) + 1e-8);
        data_of(&call->out[0])[e] = p[e] - to_11_bits((float)update);
        data_of(&call->out[1])[e] = (float)new_m;
        data_of(&call->out[2])[e] = (float)new_v;
    }
    return ASSAY_OK;
}

ASSAY_TEST(families, cancel_sees_a_short_update, "unit smoke") {
    expect("adamw n=41 step=1 lr=1e-6 beta1=0.9 beta2=0.999 eps=1e-8 wd=0", "cancel", short_update,
           NULL);
}

/* ---- cross_entropy: what is taken off before exp ---- */

typedef double shift_of(const float *logits, int64_t row, int64_t v);

static double largest(const float *x, int64_t count, double start) {
    for (int64_t j = 0; j < count; ++j)
        start = fmax(start, (double)x[j]);
    return start;
}

static double from_zero(const float *logits, int64_t row, int64_t v) {
    return largest(logits + row * v, v, 0);
}

/* One maximum for two rows, as if of a tile. */
static double of_two_rows(const float *logits, int64_t row, int64_t v) {
    return largest(logits + row / 2 * 2 * v, 2 * v, -INFINITY);
}

static void entropy(const assay_call *call, shift_of *shift) {
    const float *x = data_of(&call->in[0]);
    const int32_t *target = call->in[1].data;
    const int64_t t = assay_tensor_count(&call->in[1]), v = assay_tensor_row_length(&call->in[0]);
    double loss = 0;
    for (int64_t i = 0; i < t; ++i) {
        const double top = shift(x, i, v);
        float sum = 0;
        for (int64_t j = 0; j < v; ++j)
            sum += (float)exp((double)x[i * v + j] - top);
        const double lse = top + (double)logf(sum);
        data_of(&call->out[1])[i] = (float)lse;
        loss += (lse - (double)x[i * v + target[i]]) / (double)t;
    }
    data_of(&call->out[0])[0] = (float)loss;
}

static assay_status entropy_from_zero(const assay_call *call) {
    entropy(call, from_zero);
    return ASSAY_OK;
}

static assay_status entropy_of_two_rows(const assay_call *call) {
    entropy(call, of_two_rows);
    return ASSAY_OK;
}

static assay_status entropy_gradient(const assay_call *call) {
    const float *x = data_of(&call->in[0]), *lse = data_of(&call->in[3]);
    const int32_t *target = call->in[1].data;
    const int64_t t = assay_tensor_count(&call->in[1]), v = assay_tensor_row_length(&call->in[0]);
    const double scale = (double)data_of(&call->in[4])[0] / (double)t;
    for (int64_t e = 0; e < t * v; ++e) {
        const double p = exp((double)x[e] - (double)lse[e / v]);
        data_of(&call->out[0])[e] = (float)(scale * (p - (e % v == target[e / v])));
    }
    return ASSAY_OK;
}

ASSAY_TEST(families, negative_sees_a_maximum_from_zero, "unit smoke") {
    expect("cross_entropy t=6 v=21", "negative", entropy_from_zero, entropy_gradient);
}

ASSAY_TEST(families, mixed_sees_a_maximum_of_two_rows, "unit smoke") {
    expect("cross_entropy t=6 v=21", "mixed", entropy_of_two_rows, entropy_gradient);
}
