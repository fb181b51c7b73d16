/*
 * What the checks of conv3d_groupnorm_mean find: host variants, one right and the others each wrong
 * in one way, against the bounds and against the relations.
 */
#include "engine/relations.h"
#include "tests/kernels/conv3d_host.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <string.h>

static assay_status right_forward(const assay_call *call) {
    return conv_host_forward(call, conv_host_two_passes);
}

static assay_status right_backward(const assay_call *call) {
    return conv_host_backward(call, conv_host_two_passes);
}

/* ---- wrong statistics ---- */

/* mean c² - mean² in fp32, without a shift. */
static void careless(const double *c, int64_t count, double eps, double *mean, double *inverse) {
    float sum = 0, squares = 0;
    for (int64_t e = 0; e < count; ++e) {
        sum += (float)c[e];
        squares = fmaf((float)c[e], (float)c[e], squares);
    }
    const float m = sum / (float)count;
    *mean = m;
    *inverse = 1 / sqrt(fmax(squares / (float)count - m * m, 0) + eps);
}

static void of_a_sample(const double *c, int64_t count, double eps, double *mean, double *inverse) {
    conv_host_two_passes(c, count, eps, mean, inverse);
    const double variance = (1 / (*inverse * *inverse) - eps) * (double)count;
    *inverse = 1 / sqrt(variance / ((double)count - 1) + eps);
}

static void eps_outside_the_root(const double *c, int64_t count, double eps, double *mean,
                                 double *inverse) {
    conv_host_two_passes(c, count, 0, mean, inverse);
    *inverse = 1 / (1 / *inverse + eps);
}

static void eps_of_its_own(const double *c, int64_t count, double eps, double *mean,
                           double *inverse) {
    (void)eps;
    conv_host_two_passes(c, count, 0.125, mean, inverse);
}

static void no_mean(const double *c, int64_t count, double eps, double *mean, double *inverse) {
    conv_host_two_passes(c, count, eps, mean, inverse);
    *mean = 0;
}

#define WITH_MOMENTS(name)                                                                         \
    static assay_status name##_forward(const assay_call *call) {                                   \
        return conv_host_forward(call, name);                                                      \
    }                                                                                              \
    static assay_status name##_backward(const assay_call *call) {                                  \
        return conv_host_backward(call, name);                                                     \
    }
WITH_MOMENTS(careless)
WITH_MOMENTS(of_a_sample)
WITH_MOMENTS(eps_outside_the_root)
WITH_MOMENTS(eps_of_its_own)
WITH_MOMENTS(no_mean)

/* ---- wrong results ---- */

static void add_to_y(const assay_call *call, int64_t n, double v) {
    conv_host_put(&call->out[0], n, conv_host_get(&call->out[0], n) + v);
}

static assay_status uneven_batch(const assay_call *call) {
    const assay_status status = right_forward(call);
    add_to_y(call, 0, 0.01);
    return status;
}

static assay_status uneven_channels(const assay_call *call) {
    const assay_status status = right_forward(call);
    for (int64_t n = 0; n < assay_tensor_count(&call->out[0]); ++n)
        add_to_y(call, n, 0.01 * conv_host_get(&call->in[CONV_IN_GAMMA], 0));
    return status;
}

static assay_status affine(const assay_call *call) {
    const assay_status status = right_forward(call);
    for (int64_t n = 0; n < assay_tensor_count(&call->out[0]); ++n)
        add_to_y(call, n, 0.01);
    return status;
}

static assay_status grows_with_channels_of_x(const assay_call *call) {
    const assay_status status = right_forward(call);
    for (int64_t n = 0; n < assay_tensor_count(&call->out[0]); ++n)
        add_to_y(call, n, 0.01 * (double)call->in[CONV_IN_X].shape[1]);
    return status;
}

/* Leaves the last tap out of dx at the last element. */
static assay_status no_border(const assay_call *call) {
    const assay_status status = right_backward(call);
    conv_host_put(&call->out[0], assay_tensor_count(&call->out[0]) - 1, 0);
    return status;
}

/* ---- against the bounds ---- */

#define PLAIN "conv3d_groupnorm_mean n=2 ci=3 co=8 s=6x7x8 k=3 g=2 dtype=f32"
#define FAR   "conv3d_groupnorm_mean n=2 ci=3 co=8 s=5x6x7 k=3 g=2 dtype=f32 fill=huge"
#define EPS   "conv3d_groupnorm_mean n=1 ci=1 co=4 s=5x3x7 k=1 g=1 eps=0.25 dtype=f32"

static void expect(const char *text, assay_status (*forward)(const assay_call *),
                   assay_status (*backward)(const assay_call *), assay_verdict verdict,
                   const char *tensor) {
    conv_host_device own;
    assay_case c;
    assay_report report;
    bool found = false;
    REQUIRE_OK(assay_case_parse(text, &c));
    conv_host_open(forward, backward, &own);
    REQUIRE_OK(assay_check(&c, &own.device, NULL, 0, &report));
    for (int32_t i = 0; i < report.n_rows; ++i)
        found = found ||
                (report.rows[i].verdict == verdict && strcmp(report.rows[i].tensor, tensor) == 0);
    CHECK_MSG(found && report.verdict == verdict, "%s: %s, wanted %s in %s", text,
              assay_verdict_name(report.verdict), assay_verdict_name(verdict), tensor);
    assay_report_clear(&report);
}

ASSAY_TEST(conv3d_faults, right_kernel_passes, "unit smoke") {
    expect(PLAIN, right_forward, right_backward, ASSAY_PASS, "y");
    expect(FAR, right_forward, right_backward, ASSAY_PASS, "dw");
    expect(EPS, right_forward, right_backward, ASSAY_PASS, "dgamma");
}

/* A large mean tells the careless variance from all others. */
ASSAY_TEST(conv3d_faults, careless_variance_is_found, "unit smoke") {
    expect(FAR, careless_forward, right_backward, ASSAY_FAIL, "y");
    expect(FAR, right_forward, careless_backward, ASSAY_FAIL, "dgamma");
    expect(FAR " math=tf32", careless_forward, right_backward, ASSAY_FAIL, "y");
}

ASSAY_TEST(conv3d_faults, wrong_statistics_are_found, "unit smoke") {
    expect(PLAIN, of_a_sample_forward, right_backward, ASSAY_FAIL, "y");
    expect(PLAIN, right_forward, of_a_sample_backward, ASSAY_FAIL, "dx");
    expect(EPS, eps_outside_the_root_forward, right_backward, ASSAY_FAIL, "y");
    expect(EPS, right_forward, eps_outside_the_root_backward, ASSAY_FAIL, "dw");
    expect(EPS, eps_of_its_own_forward, right_backward, ASSAY_FAIL, "y");
    expect(EPS, right_forward, eps_of_its_own_backward, ASSAY_FAIL, "db");
    expect(PLAIN, no_mean_forward, right_backward, ASSAY_FAIL, "y");
    expect(PLAIN, right_forward, no_mean_backward, ASSAY_FAIL, "dgamma");
    expect(PLAIN, right_forward, no_border, ASSAY_FAIL, "dx");
}

/* ---- against the relations ---- */

static assay_verdict relate(const char *name, assay_status (*forward)(const assay_call *),
                            assay_status (*backward)(const assay_call *)) {
    conv_host_device own;
    assay_case c;
    assay_relation_report report = {.verdict = ASSAY_ERROR};
    REQUIRE_OK(assay_case_parse(PLAIN, &c));
    conv_host_open(forward, backward, &own);
    for (int32_t i = 0; i < c.op->n_relations; ++i)
        if (strcmp(c.op->relations[i].name, name) == 0)
            REQUIRE_OK(
                assay_check_relation(&c.op->relations[i], &c, &own.device, &own.variant, &report));
    return report.verdict;
}

ASSAY_TEST(conv3d_faults, relations_find_what_breaks_them, "unit smoke") {
    static const struct {
        const char *name;
        assay_status (*forward)(const assay_call *), (*backward)(const assay_call *);
    } wrong[] = {
        {"power_of_two_scaling", eps_of_its_own_forward, right_backward},
        {"row_permutation", uneven_batch, right_backward},
        {"channel_permutation", uneven_channels, right_backward},
        {"reflection", right_forward, no_border},
        {"linearity", affine, right_backward},
        {"offset", no_mean_forward, right_backward},
        {"zero_padding", grows_with_channels_of_x, right_backward},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        CHECK_MSG(relate(wrong[i].name, right_forward, right_backward) == ASSAY_PASS,
                  "%s does not hold for a right kernel", wrong[i].name);
        CHECK_MSG(relate(wrong[i].name, wrong[i].forward, wrong[i].backward) == ASSAY_FAIL,
                  "%s holds for a wrong kernel", wrong[i].name);
    }
}
