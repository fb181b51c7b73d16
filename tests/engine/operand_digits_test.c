/*
 * An operand of fewer digits than fp32 has is found, in every operator and whichever operand it is:
 * v1, given one input or cotangent whose numbers are cut to two digits in bf16, as a product on
 * tensor cores may take them. That moves a number by 2^-17 of itself at most.
 */
#include "engine/check.h"
#include "tests/shim/assay_test.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TENSORS = 16 };

static const assay_variant *v1;
static assay_stage stage_of_cut; /* in which it is cut */
static int32_t operand;          /* which of the call's inputs is */
static int32_t operands;         /* that a call of this stage has */
static bool matters;             /* a result has changed */

static float two_digits(float v) {
    const double high = assay_dtype_round(ASSAY_BF16, v);
    return (float)(high + assay_dtype_round(ASSAY_BF16, v - high));
}

static float *row_of(const assay_tensor *t, int64_t row) {
    return (float *)t->data + row * assay_tensor_row_stride(t);
}

/* A copy, laid out as the tensor is; cut if `digits`. */
static assay_tensor copy_of(const assay_tensor *t, bool digits) {
    assay_tensor copy = *t;
    copy.data = calloc((size_t)(assay_tensor_rows(t) * assay_tensor_row_stride(t) + 1),
                       assay_dtype_size(t->dtype));
    REQUIRE(copy.data != NULL);
    for (int64_t r = 0; r < assay_tensor_rows(t); ++r)
        for (int64_t e = 0; e < assay_tensor_row_length(t); ++e) {
            const float v = row_of(t, r)[e];
            row_of(&copy, r)[e] = digits ? two_digits(v) : v;
        }
    return copy;
}

static bool same_rows(const assay_tensor *a, const assay_tensor *b) {
    const size_t bytes = (size_t)assay_tensor_row_length(a) * sizeof(float);
    for (int64_t r = 0; r < assay_tensor_rows(a); ++r)
        if (memcmp(row_of(a, r), row_of(b, r), bytes) != 0)
            return false;
    return true;
}

static assay_status run(const assay_call *call, assay_stage stage) {
    assay_status (*of_v1)(const assay_call *) = stage == ASSAY_FORWARD ? v1->forward : v1->backward;
    assay_tensor in[MOST_TENSORS], whole[MOST_TENSORS];
    assay_status status = of_v1(call);
    operands = stage == stage_of_cut ? call->n_in : operands;
    if (status != ASSAY_OK || stage != stage_of_cut || operand >= call->n_in ||
        call->in[operand].dtype != ASSAY_F32)
        return status;
    REQUIRE(call->n_in <= MOST_TENSORS && call->n_out <= MOST_TENSORS);
    for (int32_t o = 0; o < call->n_out; ++o)
        whole[o] = call->out[o].data ? copy_of(&call->out[o], false) : call->out[o];
    memcpy(in, call->in, (size_t)call->n_in * sizeof *in);
    in[operand] = copy_of(&call->in[operand], true);
    assay_call cut = *call;
    cut.in = in;
    status = of_v1(&cut);
    free(in[operand].data);
    for (int32_t o = 0; o < call->n_out; ++o)
        if (whole[o].data) {
            matters = matters || !same_rows(&whole[o], &call->out[o]);
            free(whole[o].data);
        }
    return status;
}

static assay_status forward(const assay_call *call) {
    return run(call, ASSAY_FORWARD);
}

static assay_status backward(const assay_call *call) {
    return run(call, ASSAY_BACKWARD);
}

/* ---- judging ---- */

static assay_device device;
static bool found;

static assay_status judge(const assay_case *c, void *context) {
    const char *name = "model";
    assay_report report;
    (void)context;
    if (found || c->params.dtype != ASSAY_F32 || c->params.math != ASSAY_STRICT)
        return ASSAY_OK;
    const assay_status status = assay_check_numbers(c, &device, &name, 1, &report);
    if (status == ASSAY_OK) {
        found = report.verdict == ASSAY_FAIL;
        assay_report_clear(&report);
    }
    return status;
}

/* One that changes nothing in smoke, as an output that backward does not read, is no operand. */
static void search(const assay_op *op) {
    found = matters = false;
    REQUIRE_OK(assay_op_visit_set(op, ASSAY_SMOKE, judge, NULL));
    if (matters)
        REQUIRE_OK(assay_op_visit_set(op, ASSAY_CI, judge, NULL));
    CHECK_MSG(found || !matters, "%s: input %d of %s has two digits, and no case tells", op->name,
              (int)operand, assay_stage_name(stage_of_cut));
}

ASSAY_TEST(operand_digits, two_digits_of_bf16_are_found, "unit") {
    const assay_device *sim;
    REQUIRE_OK(assay_device_open("sim", &sim));
    for (int32_t i = 0; i < sim->n_variants; ++i) {
        v1 = sim->variants[i];
        const assay_op *op = assay_op_find(v1->op, strlen(v1->op));
        if (strcmp(v1->name, "v1") != 0 || strcmp(op->name, "transformer") == 0)
            continue; /* a composition's kernels are those of its parts */
        assay_variant model = *v1;
        model.name = "model";
        model.forward = forward;
        model.backward = v1->backward ? backward : NULL;
        const assay_variant *const list[] = {v1, &model};
        device = *sim;
        device.variants = list;
        device.n_variants = 2;
        for (int s = 0; s < 2; ++s) {
            stage_of_cut = s == 0 ? ASSAY_FORWARD : ASSAY_BACKWARD;
            operands = 1;
            for (operand = 0; operand < operands; ++operand)
                search(op);
        }
    }
}
