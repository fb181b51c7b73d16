/*
 * Where fp32 may overflow inside of the model, nothing is said of what depends on that, and the
 * rest is judged as ever. Kernels at such sizes: tests/engine/range_test.c.
 */
#include "assay/compare.h"
#include "oracles/transformer/transformer.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SMALL "transformer size=tiny b=2 t=3 vocab=9 d=8 ff=8 layers=2 heads=2 seed=0 "

enum { PARAMETERS = 21, HEAD = 20, LARGEST = 256 };

/* Parameters of which nothing is said are 0, the embedding, to `last`; none: -1. Operands are the
 * same numbers: 1 to 9 are the first layer's, 10 to 18 the second's. Operand 21 is dloss. */
typedef struct expected {
    const char *data, *line; /* what each line has in it */
    bool logits, loss;       /* whether nothing is said of them */
    int32_t last;
} expected;

static const expected passes[] = {
    {"dtype=f32 exponent=64 operand=14", "rmsnorm: outside", true, true, HEAD},
    {"dtype=bf16 exponent=64 operand=14", "rmsnorm: outside", true, true, HEAD},
    {"dtype=f32 exponent=64 operand=6", "swiglu: outside", true, true, HEAD},
    {"dtype=f32 exponent=70 operand=10", "attention: outside", true, true, HEAD},
    {"dtype=f32 exponent=124 operand=20", "linear: outside", true, true, HEAD},
    {"dtype=f32 exponent=123 operand=20", "", false, true, HEAD}, /* a sum of losses */
    /* backward alone; the head's gradient is computed before */
    {"dtype=f32 exponent=124 operand=21", "rmsnorm: outside", false, false, HEAD - 1},
    {"dtype=f32 exponent=128 operand=21", "cross_entropy: outside", false, false, HEAD},
    /* exp() of what scores of the first layer are off, which overflows: what comes by them */
    {"dtype=f32 exponent=32 operand=3", "rounding alone", false, false, 4},
    /* squares that do not overflow yet; gates that are 0 in fp32 and not in fp64 */
    {"dtype=f32 exponent=50 operand=14", "", false, false, -1},
    {"dtype=bf16 exponent=50 operand=14", "", false, false, -1},
    {"dtype=bf16 exponent=10 operand=15", "", false, false, -1},
    {"dtype=f32", "", false, false, -1},
    {"dtype=bf16", "", false, false, -1},
};

static const expected trainings[] = {
    {"steps=2 dtype=f32 exponent=64 operand=14", "rmsnorm: outside", false, true, HEAD},
    {"steps=2 dtype=bf16 exponent=64 operand=14", "rmsnorm: outside", false, true, HEAD},
    /* squares of gradients; not of the head's, which the next step's others are computed with */
    {"steps=2 lr=0 wd=0 dtype=f32 exponent=66 operand=20", "outside", false, true, HEAD},
    /* parameters of the first layer; from the next step on all depends on them */
    {"steps=1 dtype=f32 exponent=32 operand=3", "rounding alone", false, false, 4},
    {"steps=2 dtype=f32 exponent=32 operand=3", "rounding alone", false, true, HEAD},
    {"steps=2 dtype=f32", "", false, false, -1},
    {"steps=2 dtype=bf16", "", false, false, -1},
};

/* What the comparison says of the right result, but for one element. */
static assay_verdict verdict_of_wrong(const assay_arrays *want, const assay_bounds *bounds,
                                      int32_t i) {
    double got[LARGEST];
    REQUIRE(want->size[i] <= LARGEST);
    for (int64_t e = 0; e < want->size[i]; ++e)
        got[e] = want->data[i][e];
    got[0] = NAN;
    return assay_compare_bounded(ASSAY_F32, got, want, bounds, i).verdict;
}

static void check_tensor(const char *text, const expected *of, const assay_arrays *want,
                         const assay_bounds *bounds, int32_t i, bool ended) {
    const char *line = bounds->outside[i];
    CHECK_MSG((line[0] != '\0') == ended && (!ended || strstr(line, of->line) != NULL),
              "%s: tensor %d: \"%s\"", text, i, line);
    if (!isfinite(want->data[i][0]))
        return;
    const assay_verdict verdict = verdict_of_wrong(want, bounds, i);
    CHECK_MSG(verdict == (ended ? ASSAY_MISTRUSTED : ASSAY_FAIL), "%s: tensor %d: %s", text, i,
              assay_verdict_name(verdict));
}

static void check_tensors(const char *text, const expected *of, const assay_reference *r,
                          bool trains) {
    const assay_arrays *parameters = trains ? &r->want.out : &r->want.grad;
    const assay_bounds *bounds = trains ? &r->out_bound : &r->grad_bound;
    const int32_t first = trains ? (int32_t)TRANSFORMER_FIRST_NEW : (int32_t)TRANSFORMER_FIRST;
    if (!trains)
        check_tensor(text, of, &r->want.out, &r->out_bound, TRANSFORMER_LOGITS, of->logits);
    check_tensor(text, of, &r->want.out, &r->out_bound,
                 trains ? (int32_t)TRANSFORMER_LOSSES : (int32_t)TRANSFORMER_LOSS, of->loss);
    for (int32_t i = 0; i < PARAMETERS; ++i)
        check_tensor(text, of, parameters, bounds, first + i, i <= of->last);
}

static void check_bounds(const expected *list, size_t count, bool trains) {
    for (size_t i = 0; i < count; ++i) {
        char text[ASSAY_CASE_TEXT];
        assay_case c;
        assay_problem p;
        assay_reference r;
        snprintf(text, sizeof text, SMALL "%s", list[i].data);
        REQUIRE_OK(assay_case_parse(text, &c));
        REQUIRE_OK(assay_problem_init(&p, &c));
        REQUIRE_OK(assay_reference_init(&r, &p));
        check_tensors(text, &list[i], &r, trains);
        assay_reference_clear(&r);
        assay_problem_clear(&p);
    }
}

ASSAY_TEST(transformer_ends, only_what_depends_on_an_overflow_is_undefined, "unit") {
    check_bounds(passes, sizeof passes / sizeof *passes, false);
}

ASSAY_TEST(transformer_ends, a_training_is_undefined_from_an_overflow_on, "unit") {
    check_bounds(trainings, sizeof trainings / sizeof *trainings, true);
}
