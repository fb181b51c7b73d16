/*
 * A NaN or an Inf in v at a key that a query does not see. Attention as it is written multiplies it
 * by the weight 0; tiles that are skipped leave it out. Both are right, for the elements that this
 * reaches, and for no other.
 */
#include "engine/check.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <string.h>

enum { SQ = 18, SK = 35, D = 16, KEY = 20, AT = 3, HIDDEN = 3 }; /* as the case has it */

static const assay_variant *v1;

typedef enum kind { LEAVES_OUT, MULTIPLIES, SPREADS, HIDES, REACHES_DV, KINDS } kind;

static kind current;

static float *element(const assay_tensor *t, int64_t row, int64_t column) {
    return (float *)t->data + row * assay_tensor_row_stride(t) + column;
}

static assay_status forward(const assay_call *call) {
    const assay_status status = v1->forward(call);
    for (int64_t i = 0; i < HIDDEN; ++i) {
        if (current == MULTIPLIES || current == SPREADS)
            *element(&call->out[0], i, AT) = NAN;
        if (current == SPREADS)
            *element(&call->out[0], i, AT + 1) = NAN;
    }
    if (current == HIDES)
        *element(&call->out[0], HIDDEN, AT) = 0;
    return status;
}

static assay_status backward(const assay_call *call) {
    const assay_status status = v1->backward(call);
    for (int64_t i = 0; current == MULTIPLIES && i < HIDDEN; ++i)
        for (int64_t x = 0; x < D; ++x)
            *element(&call->out[0], i, x) = NAN;
    if (current == REACHES_DV)
        *element(&call->out[2], 0, 0) = NAN;
    return status;
}

static assay_verdict verdict_of(const char *text, kind of) {
    const assay_device *sim;
    assay_case c;
    assay_report report;
    REQUIRE_OK(assay_device_open("sim", &sim));
    REQUIRE_OK(assay_case_parse(text, &c));
    for (int32_t i = 0; i < sim->n_variants; ++i)
        if (strcmp(sim->variants[i]->op, "attention") == 0 &&
            strcmp(sim->variants[i]->name, "v1") == 0)
            v1 = sim->variants[i];
    assay_variant model = *v1;
    model.name = "model";
    model.forward = forward;
    model.backward = backward;
    current = of;
    const assay_variant *const list[] = {v1, &model};
    assay_device device = *sim;
    device.variants = list;
    device.n_variants = 2;
    const char *name = "model";
    REQUIRE_OK(assay_check_numbers(&c, &device, &name, 1, &report));
    const assay_verdict verdict = report.verdict;
    assay_report_clear(&report);
    return verdict;
}

ASSAY_TEST(hidden_key, both_answers_are_right_and_no_other, "unit smoke attention") {
    static const char *const texts[] = {
        "attention b=1 h=1 sq=18 sk=35 d=16 causal=1 fill=nan seed=20674",
        "attention b=1 h=1 sq=18 sk=35 d=16 causal=1 fill=inf seed=20674"};
    for (int t = 0; t < 2; ++t)
        for (kind of = LEAVES_OUT; of < KINDS; ++of)
            CHECK_MSG((verdict_of(texts[t], of) == ASSAY_FAIL) == (of >= SPREADS), "%s: kernel %d",
                      texts[t], (int)of);
}
