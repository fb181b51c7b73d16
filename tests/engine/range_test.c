/*
 * Each operand through the range of its dtype: a sample of what nightly does with all. Right
 * kernels are right there, or the definition has ended and the row says so; and kernels that were
 * wrong at such a size stay right.
 */
#include "engine/check.h"
#include "tests/shim/assay_test.h"

#include <inttypes.h>
#include <stdio.h>
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

typedef struct sweep {
    int seen, judged;
    uint64_t operands[ASSAY_DTYPES][2]; /* bits: made smaller, made larger */
    uint64_t all;
} sweep;

static void note_operand(sweep *s, const assay_case *c) {
    assay_signature sig;
    REQUIRE_OK(assay_case_signature(c, &sig));
    s->all |= ((uint64_t)1 << assay_problem_operands(&sig)) - 1;
    s->operands[c->params.dtype][c->exponent > 0] |= (uint64_t)1 << c->operand;
    assay_signature_clear(&sig);
}

static assay_status judge_some(const assay_case *c, void *context) {
    enum { EVERY = 11 };
    sweep *s = context;
    char text[ASSAY_CASE_TEXT];
    if (c->exponent == 0)
        return ASSAY_OK;
    note_operand(s, c);
    if (s->seen++ % EVERY != 0)
        return ASSAY_OK;
    assay_report report = check_text(assay_case_format(c, text), NULL, 0);
    for (int32_t i = 0; i < report.n_rows; ++i)
        CHECK_MSG(report.rows[i].verdict != ASSAY_FAIL && report.rows[i].verdict != ASSAY_ERROR,
                  "%s: %s %s: %s", text, report.rows[i].variant, report.rows[i].tensor,
                  report.rows[i].reason);
    ++s->judged;
    assay_report_clear(&report);
    return ASSAY_OK;
}

ASSAY_TEST(range, operands_of_any_size, "unit") {
    const assay_device *sim;
    REQUIRE_OK(assay_device_open("sim", &sim));
    for (int32_t o = 0; o < assay_op_count(); ++o) {
        const assay_op *op = assay_op_at(o);
        sweep s = {0};
        REQUIRE_OK(assay_op_visit_set(op, ASSAY_NIGHTLY, judge_some, &s));
        if (strcmp(op->name, "transformer") == 0)
            continue; /* its operands are those of its parts, which are swept */
        CHECK_MSG(s.judged > 0, "%s has no such case", op->name);
        for (int d = 0; d < ASSAY_DTYPES; ++d)
            if (op->dtypes & ASSAY_DTYPE_BIT(d))
                CHECK_MSG(s.operands[d][0] == s.all && s.operands[d][1] == s.all,
                          "%s, %s: of operands %" PRIx64 ", %" PRIx64
                          " are made smaller and %" PRIx64 " larger",
                          op->name, assay_dtype_name((assay_dtype)d), s.all, s.operands[d][0],
                          s.operands[d][1]);
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
