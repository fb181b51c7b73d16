/*
 * Each operand through the range of its dtype: a sample of what nightly does with all. Right
 * kernels are right there, or the definition has ended and the row says so.
 */
#include "engine/check.h"
#include "tests/shim/assay_test.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LARGEST_EXPONENT = 1100 };

typedef struct sweep {
    const assay_device *sim;
    int seen, judged;
    uint64_t operands[ASSAY_DTYPES][2]; /* bits: made smaller, made larger */
    uint64_t all;
    bool at[ASSAY_DTYPES][2 * LARGEST_EXPONENT + 1]; /* exponents, from the least on */
} sweep;

static void note_operand(sweep *s, const assay_case *c) {
    assay_signature sig;
    REQUIRE_OK(assay_case_signature(c, &sig));
    s->all |= ((uint64_t)1 << assay_problem_operands(&sig)) - 1;
    s->operands[c->params.dtype][c->exponent > 0] |= (uint64_t)1 << c->operand;
    s->at[c->params.dtype][c->exponent + LARGEST_EXPONENT] = true;
    assay_signature_clear(&sig);
}

/* The conversions that UndefinedBehaviorSanitizer stops at need fewer cases. */
#if defined(ASSAY_INSTRUMENTED) && !defined(ASSAY_RECORDED)
enum { EVERY = 37 };
#else
enum { EVERY = 11 };
#endif

static assay_status judge_some(const assay_case *c, void *context) {
    sweep *s = context;
    char text[ASSAY_CASE_TEXT];
    assay_report report;
    if (c->exponent == 0)
        return ASSAY_OK;
    note_operand(s, c);
    if (s->seen++ % EVERY != 0)
        return ASSAY_OK;
    REQUIRE_OK(assay_check_numbers(c, s->sim, NULL, 0, &report));
    assay_case_format(c, text);
    for (int32_t i = 0; i < report.n_rows; ++i)
        CHECK_MSG(report.rows[i].verdict != ASSAY_FAIL && report.rows[i].verdict != ASSAY_ERROR,
                  "%s: %s %s: %s", text, report.rows[i].variant, report.rows[i].tensor,
                  report.rows[i].reason);
    ++s->judged;
    assay_report_clear(&report);
    return ASSAY_OK;
}

static bool reaches(const bool *at, double from, double to) {
    for (int e = -LARGEST_EXPONENT; e <= LARGEST_EXPONENT; ++e)
        if (at[e + LARGEST_EXPONENT] && e >= from && e <= to)
            return true;
    return false;
}

/* Not at the edge: elements differ in size, and a sum of powers is larger than one. */
static bool reaches_middle(const bool *at, double from, double to) {
    return reaches(at, from + (to - from) / 4, to - (to - from) / 4);
}

/* Powers of an element that are subnormal, that are normal while their rounding errors are not, and
 * that overflow, in what the dtype is computed in. */
static void check_powers(const char *op, assay_dtype dtype, const bool *at) {
    const assay_dtype accumulator = dtype == ASSAY_F64 ? ASSAY_F64 : ASSAY_F32;
    const double bits = assay_dtype_significand(accumulator),
                 least = log2(assay_dtype_denorm_min(accumulator)), normal = least + bits - 1,
                 largest = log2(assay_dtype_max(accumulator));
    if (dtype == ASSAY_F16) /* no power of its numbers leaves fp32 but those of the subnormal */
        return;
    for (int power = 1; power <= 4; ++power) {
        CHECK_MSG(reaches_middle(at, least / power, normal / power) &&
                      reaches_middle(at, normal / power, (normal + bits) / power) &&
                      reaches(at, (largest - 1) / power, (largest + bits) / power),
                  "%s, %s: elements whose power %d is lost, or overflows, are left out", op,
                  assay_dtype_name(dtype), power);
    }
}

static void sweep_operands(void *context) {
    const assay_op *op = context;
    sweep s = {0};
    REQUIRE_OK(assay_device_open("sim", &s.sim));
    REQUIRE_OK(assay_op_visit_set(op, ASSAY_NIGHTLY, judge_some, &s));
    CHECK_MSG(s.judged > 0, "%s has no such case", op->name);
    for (int d = 0; d < ASSAY_DTYPES; ++d) {
        if ((op->dtypes & ASSAY_DTYPE_BIT(d)) == 0)
            continue;
        CHECK_MSG(
            s.operands[d][0] == s.all && s.operands[d][1] == s.all,
            "%s, %s: of operands %" PRIx64 ", %" PRIx64 " are made smaller and %" PRIx64 " larger",
            op->name, assay_dtype_name((assay_dtype)d), s.all, s.operands[d][0], s.operands[d][1]);
        check_powers(op->name, (assay_dtype)d, s.at[d]);
    }
}

/* A transformer's operands are those of its parts. */
__attribute__((constructor)) static void register_sweeps(void) {
    for (int32_t o = 0; o < assay_op_count(); ++o) {
        const assay_op *op = assay_op_at(o);
        char name[128], labels[64];
        if (strcmp(op->name, "transformer") == 0)
            continue;
        snprintf(name, sizeof name, "every size of %s", op->name);
        snprintf(labels, sizeof labels, "unit %s", op->name);
        assay_test_register("operand_range", name, labels, sweep_operands, (void *)(uintptr_t)op);
    }
}
