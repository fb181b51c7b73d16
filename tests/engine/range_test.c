/*
 * Operands through the range of their dtype: bounds at all sizes, the line where a definition ends,
 * and kernels that were wrong at such a size. operand_range_test.c judges kernels at a sample of
 * sizes.
 */
#include "engine/check.h"
#include "tests/shim/assay_test.h"
#include "tests/suite/suite.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static assay_report check_text(const char *text, const char *const *names, int32_t n) {
    const assay_device *sim;
    assay_case c;
    assay_report report;
    REQUIRE_OK(assay_device_open("sim", &sim));
    REQUIRE_OK(assay_case_parse(text, &c));
    REQUIRE_OK(assay_check_numbers(&c, sim, names, n, &report));
    return report;
}

/* ---- bounds alone, at more sizes than kernels run at ---- */

enum { MOST_TENSORS = 32 };

typedef struct bounds_sweep {
    char group[ASSAY_CASE_TEXT]; /* the last case of the set, at another size */
    int64_t step;
    int swept;
    assay_case c;
    double largest[2 * MOST_TENSORS]; /* bound of each output and gradient, at the size before */
} bounds_sweep;

/* A bound of products of four factors moves by their 4th power at most, and 3 more where another
 * part of it leads, or signs are drawn otherwise. */
static bool is_smooth(const bounds_sweep *s, double before, double now) {
    const double clipped = log2(assay_dtype_max(s->c.params.dtype)) - 3;
    if (!(before > 0 && now > 0) || isinf(before) || isinf(now) || (double)s->c.exponent > clipped)
        return true;
    return fabs(log2(now) - log2(before)) <= 4 * (double)s->step + 3;
}

static void check_bounds(bounds_sweep *s, const char *prefix, const assay_tensor_spec *spec,
                         const assay_arrays *want, const assay_bounds *bounds, double *before) {
    char text[ASSAY_CASE_TEXT];
    assay_case_format(&s->c, text);
    for (int32_t i = 0; i < want->count; ++i) {
        double largest = 0;
        int64_t bad = -1;
        const bool inside = want->data[i] && bounds->outside[i][0] == '\0';
        for (int64_t e = 0; inside && e < want->size[i]; ++e) {
            const double bound = bounds->element.data[i][e];
            if (isfinite(want->data[i][e]) && !(bound >= 0 && isfinite(bound)))
                bad = e;
            largest = fmax(largest, bound);
        }
        CHECK_MSG(bad < 0, "%s: %s%s: the bound of element %" PRId64 " is %g, its value %g", text,
                  prefix, spec[i].name, bad, bounds->element.data[i][bad], want->data[i][bad]);
        CHECK_MSG(is_smooth(s, before[i], largest),
                  "%s: %s%s: the largest bound is %g, and at 2^%" PRId64 " before it %g", text,
                  prefix, spec[i].name, largest, s->step, before[i]);
        before[i] = largest;
    }
}

static void bound_at(bounds_sweep *s) {
    assay_problem p;
    assay_reference r;
    REQUIRE_OK(assay_problem_init(&p, &s->c));
    REQUIRE_OK(assay_reference_init(&r, &p));
    REQUIRE(p.sig.n_in <= MOST_TENSORS && p.sig.n_out <= MOST_TENSORS);
    check_bounds(s, "", p.sig.out, &r.want.out, &r.out_bound, s->largest);
    check_bounds(s, "d", p.sig.in, &r.want.grad, &r.grad_bound, s->largest + MOST_TENSORS);
    assay_reference_clear(&r);
    assay_problem_clear(&p);
}

enum { BESIDE = 24 }; /* binades below the dtype's least and above its largest number */
/* Of a case: a larger one has no other bounds. */
static double most_flops(void) {
    return getenv("ASSAY_CI_ALL") != NULL ? 1 << 24 : 1 << 21;
}

/* Each case of the set that differs from the one before by more than its exponent. */
static assay_status bound_at_any_size(const assay_case *c, void *context) {
    bounds_sweep *s = context;
    char group[ASSAY_CASE_TEXT];
    s->c = *c;
    s->c.exponent = 1;
    assay_case_format(&s->c, group);
    assay_work work;
    REQUIRE_OK(assay_op_work(c->op, &c->params, ASSAY_FORWARD, &work));
    if (c->exponent == 0 || strcmp(group, s->group) == 0 || work.flops > most_flops())
        return ASSAY_OK;
    memcpy(s->group, group, sizeof group);
    memset(s->largest, 0, sizeof s->largest);
    const double least = log2(assay_dtype_denorm_min(c->params.dtype)),
                 largest = log2(assay_dtype_max(c->params.dtype));
    for (s->c.exponent = (int64_t)least - BESIDE; s->c.exponent <= (int64_t)largest + BESIDE;
         s->c.exponent += s->step) {
        s->c.fill = s->c.fill == ASSAY_FILL_NORMAL ? ASSAY_FILL_POSITIVE : ASSAY_FILL_NORMAL;
        bound_at(s);
        ++s->swept;
    }
    return ASSAY_OK;
}

static void sweep_bounds(void *context) {
    const assay_op *op = context;
    bounds_sweep s = {.step = getenv("ASSAY_CI_ALL") != NULL ? 1 : 11};
    REQUIRE_OK(assay_op_visit_set(op, ASSAY_NIGHTLY, bound_at_any_size, &s));
    CHECK_MSG(s.swept > 0 || strcmp(op->name, "transformer") == 0, "%s: none", op->name);
}

/* No kernel runs: in a build that instruments accesses it would be the same numbers again. */
__attribute__((constructor)) static void register_sweeps(void) {
    for (int32_t o = 0; o < assay_op_count() && !SUITE_INSTRUMENTED; ++o) {
        const assay_op *op = assay_op_at(o);
        char name[128], labels[64];
        snprintf(name, sizeof name, "bounds_are_finite_and_smooth_at_any_size of %s", op->name);
        snprintf(labels, sizeof labels, "unit %s", op->name);
        assay_test_register("range", name, labels, sweep_bounds, (void *)(uintptr_t)op);
    }
}

/* s^3 underflowed, and the second term of dx was lost. */
ASSAY_TEST(range, cubes_that_underflow, "unit smoke") {
    static const char *const texts[] = {
        "rmsnorm n=5 d=33 dtype=f32 exponent=50", "rmsnorm n=5 d=33 dtype=bf16 exponent=55",
        "rmsnorm n=5 d=33 dtype=f64 exponent=490",
        "conv3d_groupnorm_mean n=2 ci=2 co=4 g=2 s=4x5x6 k=3 dtype=f32 exponent=50"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; ++t) {
        assay_report report = check_text(texts[t], NULL, 0);
        for (int32_t i = 0; i < report.n_rows; ++i)
            CHECK_MSG(report.rows[i].verdict == ASSAY_PASS, "%s: %s %s: %s", texts[t],
                      report.rows[i].variant, report.rows[i].tensor, report.rows[i].reason);
        assay_report_clear(&report);
    }
}

#define SMALL_MODEL "transformer size=tiny b=2 t=3 vocab=9 d=8 ff=8 layers=2 heads=2 "

/* Inside of the model fp32 overflowed, or the copy of a parameter in bf16 was subnormal. */
ASSAY_TEST(range, a_right_model_is_not_wrong_at_any_size, "unit smoke") {
    static const char *const texts[] = {
        "transformer size=tiny b=1 t=1 dtype=f32 exponent=64 operand=14",
        "transformer size=tiny b=2 t=2 dtype=f32 exponent=32 operand=3",
        "transformer size=tiny b=1 t=1 dtype=bf16 exponent=8 operand=15 seed=2",
        SMALL_MODEL "dtype=f32 exponent=124 operand=21",
        SMALL_MODEL "dtype=bf16 exponent=128 operand=0",
        SMALL_MODEL "steps=2 dtype=f32 exponent=64 operand=14",
        SMALL_MODEL "steps=2 dtype=bf16 exponent=66 operand=20",
        SMALL_MODEL "dtype=bf16 exponent=-133",
        SMALL_MODEL "dtype=bf16 exponent=-133 operand=20"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; ++t) {
        const char *const names[] = {"v1"};
        assay_report report = check_text(texts[t], names, 1);
        for (int32_t i = 0; i < report.n_rows; ++i)
            CHECK_MSG(report.rows[i].verdict != ASSAY_FAIL && report.rows[i].verdict != ASSAY_ERROR,
                      "%s: %s: %s", texts[t], report.rows[i].tensor, report.rows[i].reason);
        assay_report_clear(&report);
    }
}

ASSAY_TEST(range, where_a_definition_ends_is_said, "unit smoke") {
    assay_report report = check_text("rmsnorm n=5 d=33 dtype=f32 exponent=75", NULL, 0);
    for (int32_t i = 0; i < report.n_rows; ++i)
        CHECK_MSG(
            report.rows[i].verdict == ASSAY_MISTRUSTED &&
                strstr(report.rows[i].reason, "outside of the definition: the sum of squares"),
            "%s: %s", report.rows[i].tensor, report.rows[i].reason);
    assay_report_clear(&report);
    report = check_text("weighted_sum n=5 d=33 dtype=f32 exponent=127", NULL, 0);
    for (int32_t i = 0; i < report.n_rows; ++i) {
        const bool is_dx = strcmp(report.rows[i].tensor, "dx") == 0;
        CHECK(report.rows[i].verdict == (is_dx ? ASSAY_PASS : ASSAY_MISTRUSTED));
    }
    assay_report_clear(&report);
}

/* A bounder that gives no bound is an error, with a line that names the place. */
static assay_status unbounded(const assay_oracle_args *args, const assay_rounding *rounding,
                              const assay_arrays *want, assay_bounds *bounds) {
    (void)args;
    (void)rounding;
    for (int64_t e = 0; e < want->size[0]; ++e)
        bounds->element.data[0][e] = e == 2 ? 1.0 / 0.0 : 1;
    return ASSAY_OK;
}

ASSAY_TEST(range, a_bound_that_is_not_finite_is_an_error_of_ours, "unit smoke") {
    const assay_device *sim;
    assay_case c;
    assay_report report;
    const char *name = "v1";
    REQUIRE_OK(assay_device_open("sim", &sim));
    REQUIRE_OK(assay_case_parse("weighted_sum n=5 d=33 dtype=f32", &c));
    assay_op op = *c.op;
    op.forward_bound = unbounded;
    c.op = &op;
    REQUIRE_OK(assay_check_numbers(&c, sim, &name, 1, &report));
    CHECK(report.verdict == ASSAY_ERROR && report.rows[0].verdict == ASSAY_ERROR);
    CHECK_MSG(strstr(report.rows[0].reason, "weighted_sum y: the bound of 1 of 5 elements is not "
                                            "finite, first at (2): it is inf"),
              "%s", report.rows[0].reason);
    assay_report_clear(&report);
}
