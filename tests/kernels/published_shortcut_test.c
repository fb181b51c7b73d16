/*
 * A published kernel for conv3d_groupnorm_mean returned the mean of beta, which is right wherever
 * gamma does not vary inside a group: on its own benchmark. It must get no pass for that, and must
 * fail wherever gamma does vary.
 */
#include "tests/kernels/conv3d_host.h"
#include "tests/shim/assay_test.h"

#include <string.h>

/* ---- the shortcut, and what differentiating it gives ---- */

static assay_status mean_of_beta(const assay_call *call) {
    const int64_t channels = assay_tensor_count(&call->in[CONV_IN_BETA]);
    double sum = 0;
    for (int64_t o = 0; o < channels; ++o)
        sum += conv_host_get(&call->in[CONV_IN_BETA], o);
    for (int64_t n = 0; n < assay_tensor_count(&call->out[0]); ++n)
        conv_host_put(&call->out[0], n, sum / (double)channels);
    return ASSAY_OK;
}

static assay_status gradient_of_shortcut(const assay_call *call) {
    const int64_t channels = assay_tensor_count(&call->in[CONV_IN_BETA]);
    double sum = 0;
    for (int64_t n = 0; n < assay_tensor_count(&call->in[CONV_IN_DY]); ++n)
        sum += conv_host_get(&call->in[CONV_IN_DY], n);
    for (int t = 0; t < CONV_INPUTS; ++t)
        for (int64_t i = 0; i < assay_tensor_count(&call->out[t]); ++i)
            conv_host_put(&call->out[t], i, t == CONV_IN_BETA ? sum / (double)channels : 0);
    return ASSAY_OK;
}

static assay_status right_gradients(const assay_call *call) {
    return conv_host_backward(call, conv_host_two_passes);
}

/* ---- checking ---- */

static void check_gradient(const assay_case *c, assay_status (*backward)(const assay_call *),
                           assay_report *report) {
    conv_host_device shortcut;
    conv_host_open(mean_of_beta, backward, &shortcut);
    REQUIRE_OK(assay_check(c, &shortcut.device, NULL, 0, report));
}

static assay_verdict verdict_on(const char *text, assay_status (*backward)(const assay_call *)) {
    assay_case c;
    assay_report report;
    REQUIRE_OK(assay_case_parse(text, &c));
    check_gradient(&c, backward, &report);
    const assay_verdict verdict = report.verdict;
    assay_report_clear(&report);
    return verdict;
}

static const assay_row *row_of(const assay_report *report, const char *tensor) {
    for (int32_t i = 0; i < report->n_rows; ++i)
        if (strcmp(report->rows[i].tensor, tensor) == 0)
            return &report->rows[i];
    return NULL;
}

#define INITIAL     "conv3d_groupnorm_mean n=2 ci=3 co=8 s=6x7x8 k=3 g=2 fill=initial"
#define ONE_CHANNEL "conv3d_groupnorm_mean n=2 ci=2 co=6 s=4x3x5 k=2 g=6"

ASSAY_TEST(published_shortcut, proves_nothing_where_gamma_is_constant, "unit smoke") {
    CHECK(verdict_on(INITIAL " dtype=f32", right_gradients) == ASSAY_MISTRUSTED);
    CHECK(verdict_on(INITIAL " dtype=f64", right_gradients) == ASSAY_MISTRUSTED);
    CHECK(verdict_on(INITIAL " dtype=f32 math=tf32", right_gradients) == ASSAY_MISTRUSTED);
    CHECK(verdict_on(ONE_CHANNEL " dtype=f32", right_gradients) == ASSAY_MISTRUSTED);
    CHECK(verdict_on(ONE_CHANNEL " dtype=f64", gradient_of_shortcut) == ASSAY_MISTRUSTED);
}

/* With gamma = 1 the derivative by gamma is not 0, although y does not depend on x, w and b. */
ASSAY_TEST(published_shortcut, its_own_gradient_is_wrong, "unit smoke") {
    assay_case c;
    assay_report report;
    REQUIRE_OK(assay_case_parse(INITIAL " dtype=f32", &c));
    check_gradient(&c, gradient_of_shortcut, &report);
    CHECK(report.verdict == ASSAY_FAIL);
    CHECK(row_of(&report, "y")->verdict == ASSAY_MISTRUSTED);
    CHECK(row_of(&report, "dgamma")->verdict == ASSAY_FAIL);
    assay_report_clear(&report);
}

static assay_status expect_fail(const assay_case *c, void *context) {
    int *cases = context;
    char text[ASSAY_CASE_TEXT];
    assay_report report;
    assay_case_format(c, text);
    check_gradient(c, right_gradients, &report);
    CHECK_MSG(row_of(&report, "y")->verdict == ASSAY_FAIL, "%s: y = mean(beta): %s", text,
              assay_verdict_name(row_of(&report, "y")->verdict));
    for (int32_t i = 1; i < report.n_rows; ++i) /* the gradients are a right kernel's */
        CHECK_MSG(report.rows[i].verdict == ASSAY_PASS, "%s: %s: %s", text, report.rows[i].tensor,
                  report.rows[i].reason);
    ++*cases;
    assay_report_clear(&report);
    return ASSAY_OK;
}

ASSAY_TEST(published_shortcut, fails_every_smoke_case, "unit smoke") {
    const char *const name = "conv3d_groupnorm_mean";
    const assay_op *op = assay_op_find(name, strlen(name));
    int cases = 0;
    REQUIRE(op != NULL);
    REQUIRE_OK(assay_op_visit_set(op, ASSAY_SMOKE, expect_fail, &cases));
    CHECK(cases >= 14);
}
