/*
 * The bounds of transformer against kernels modelled on the host (transformer_host.h): right ones
 * stay within them, and a fault anywhere in the model, or in its training, is beyond one. So are
 * operands with fewer bits than the case asks for.
 */
#include "assay/compare.h"
#include "tests/oracles/transformer_host.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- judging one kernel ---- */

typedef struct judged {
    assay_case c;
    assay_problem p;
    assay_reference ref;
    assay_results got;
} judged;

static void judged_init(judged *j, const assay_case *c) {
    j->c = *c;
    REQUIRE_OK(assay_problem_init(&j->p, c));
    REQUIRE_OK(assay_reference_init(&j->ref, &j->p));
    REQUIRE_OK(assay_results_init(&j->got, &j->p.sig));
}

static void judged_clear(judged *j) {
    assay_results_clear(&j->got);
    assay_reference_clear(&j->ref);
    assay_problem_clear(&j->p);
}

static double worst_of(const assay_tensor_spec *specs, const assay_arrays *got,
                       const assay_arrays *want, const assay_arrays *bound) {
    double worst = 0;
    for (int32_t i = 0; i < want->count; ++i) {
        if (!want->data[i])
            continue;
        const assay_comparison cmp = assay_compare(specs[i].dtype, got->data[i], want->data[i],
                                                   bound->data[i], want->size[i]);
        worst = cmp.ratio <= worst ? worst : cmp.ratio; /* a NaN stays */
    }
    return worst;
}

/* The largest error / bound of all that the kernel gives. */
static double ratio_of(judged *j, const host_fault *fault, host_bits bits) {
    host_transformer(&j->p, fault, bits, &j->got);
    const double out =
        worst_of(j->p.sig.out, &j->got.out, &j->ref.want.out, &j->ref.out_bound.element);
    const double grad =
        worst_of(j->p.sig.in, &j->got.grad, &j->ref.want.grad, &j->ref.grad_bound.element);
    return out <= grad ? grad : out;
}

static host_bits bits_of(const assay_case *c) {
    return c->params.math == ASSAY_TF32 ? HOST_TF32 : HOST_ALL;
}

static const host_fault no_fault = {.name = "none"};

/* ---- right kernels ---- */

enum { RIGHT_CASES = 100, BUDGET = 30000 };

static void run_right(void *context) {
    const assay_dtype *dtype = context;
    const assay_op *op = assay_op_find("transformer", strlen("transformer"));
    static const assay_fill fills[] = {ASSAY_FILL_NORMAL, ASSAY_FILL_UNIFORM, ASSAY_FILL_POSITIVE};
    char text[ASSAY_CASE_TEXT];
    for (uint64_t index = 0; index < RIGHT_CASES; ++index) {
        assay_rng rng = {.seed = index, .stream = (uint64_t)*dtype};
        assay_case c = {.op = op, .fill = fills[index % 3], .seed = index};
        assay_params_init(op, &c.params);
        c.params.dtype = *dtype;
        op->draw(&rng, BUDGET, &c.params);
        judged j;
        judged_init(&j, &c);
        const double ratio = ratio_of(&j, &no_fault, bits_of(&c));
        CHECK_MSG(ratio <= 1, "%s: a right kernel is at %.3g of its bound",
                  assay_case_format(&c, text), ratio);
        judged_clear(&j);
    }
}

/* ---- wrong kernels ---- */

/* In the words of one case: which faults it is there to find. */
typedef struct trial {
    const char *words;
    bool training;
} trial;

static void find_faults(const trial *t, uint64_t seed) {
    char text[ASSAY_CASE_TEXT];
    assay_case c;
    snprintf(text, sizeof text, "transformer %s seed=%d", t->words, (int)seed);
    REQUIRE_OK(assay_case_parse(text, &c));
    judged j;
    judged_init(&j, &c);
    for (int32_t i = 0; i < host_n_faults; ++i) {
        const host_fault *fault = &host_faults[i];
        const bool shows = !fault->strict || c.params.dtype == ASSAY_F32;
        if (fault->training != t->training || !shows || (fault->strict && bits_of(&c) != HOST_ALL))
            continue;
        const double ratio = ratio_of(&j, fault, bits_of(&c));
        CHECK_MSG(!(ratio <= 1), "%s: %s: only %.3g of the bound", text, fault->name, ratio);
    }
    judged_clear(&j);
}

static void run_wrong(void *context) {
    for (uint64_t seed = 0; seed < 3; ++seed)
        find_faults(context, seed);
}

/* ---- fewer bits than asked for ---- */

ASSAY_TEST(transformer_model, fewer_bits_are_found, "unit transformer") {
    static const char *const cases[] = {
        "transformer size=tiny b=2 t=9 dtype=f32 seed=%d",
        "transformer size=tiny b=1 t=12 vocab=40 d=16 ff=24 steps=2 dtype=f32 seed=%d"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        for (int seed = 0; seed < 3; ++seed) {
            char text[ASSAY_CASE_TEXT];
            assay_case c;
            judged j;
            (void)snprintf(text, sizeof text, cases[i], seed);
            REQUIRE_OK(assay_case_parse(text, &c));
            judged_init(&j, &c);
            const double tf32 = ratio_of(&j, &no_fault, HOST_TF32);
            const double bf16 = ratio_of(&j, &no_fault, HOST_BF16);
            CHECK_MSG(tf32 > 1 && bf16 > 8, "%s: TF32 operands at %.3g, bf16 at %.3g", text, tf32,
                      bf16);
            judged_clear(&j);
        }
}

/* 81 copies of 3.4e9 parameters: no host has them, and none is asked for. */
ASSAY_TEST(transformer_model, a_training_too_large_is_refused, "unit transformer") {
    const assay_rounding r = {0};
    assay_case c;
    REQUIRE_OK(assay_case_parse("transformer size=2.7b steps=1", &c));
    const assay_oracle_args args = {.params = &c.params};
    CHECK_FAILS(c.op->forward_bound(&args, &r, NULL, NULL), ASSAY_ERR_MEMORY,
                "choose a smaller size, or steps=0");
}

__attribute__((constructor)) static void register_models(void) {
    static const assay_dtype dtypes[] = {ASSAY_F32, ASSAY_BF16};
    static const struct {
        const char *name;
        trial of;
    } trials[] = {
        {"faults_are_found f32", {"size=tiny b=2 t=9 dtype=f32", false}},
        {"faults_are_found tf32", {"size=tiny b=2 t=9 dtype=f32 math=tf32", false}},
        {"faults_are_found bf16", {"size=tiny b=2 t=9 dtype=bf16", false}},
        {"faults_of_training_are_found f32", {"size=tiny b=2 t=6 steps=2 dtype=f32", true}},
        {"faults_of_training_are_found tf32",
         {"size=tiny b=2 t=6 steps=2 dtype=f32 math=tf32", true}},
        {"faults_of_training_are_found bf16", {"size=tiny b=2 t=6 steps=2 dtype=bf16", true}},
    };
    char name[64];
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; ++i) {
        snprintf(name, sizeof name, "right_kernels_pass %s", assay_dtype_name(dtypes[i]));
        assay_test_register("transformer_model", name, "unit transformer", run_right,
                            (void *)(uintptr_t)&dtypes[i]);
    }
    for (size_t i = 0; i < sizeof trials / sizeof *trials; ++i)
        assay_test_register("transformer_model", trials[i].name, "unit transformer", run_wrong,
                            (void *)(uintptr_t)&trials[i].of);
}
