/*
 * The relations of transformer: a right kernel keeps each, and for each there is a wrong kernel,
 * modelled on the host, that breaks it. In each the fault is one that the relation is about.
 */
#include "assay/compare.h"
#include "oracles/transformer/transformer.h"
#include "tests/oracles/transformer_host.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <string.h>

/* ---- faults: an operator's own function, then something wrong in part of its result ---- */

static assay_oracle right;
static assay_op wrong;

static void replace(transformer_graph *g, const char *name, assay_oracle forward,
                    assay_oracle backward) {
    transformer_node *node = host_use_of(g, name, 0);
    wrong = *node->op;
    right = forward ? wrong.forward : wrong.backward;
    wrong.forward = forward ? forward : wrong.forward;
    wrong.backward = backward ? backward : wrong.backward;
    node->op = &wrong;
}

static void scale(double *data, int64_t first, int64_t count, int64_t step, double factor) {
    for (int64_t e = first; e < count; e += step)
        data[e] *= factor;
}

/* Of the first sequence only: its share of rope's result, which has the batch on its first axis. */
static assay_status turn_first_sequence(const assay_oracle_args *args, assay_arrays *result) {
    const assay_status status = right(args, result);
    scale(result->data[0], 0, result->size[0] / args->params->item[0].value[0], 1, 0.5);
    return status;
}

static void first_sequence_off(transformer_graph *g) {
    replace(g, "rope", turn_first_sequence, NULL);
}

/* Word 0 gets no gradient. */
static assay_status forget_word(const assay_oracle_args *args, assay_arrays *result) {
    const assay_status status = right(args, result);
    scale(result->data[1], 0, args->params->item[2].value[0], 1, 0);
    return status;
}

static void first_word_off(transformer_graph *g) {
    replace(g, "embedding", NULL, forget_word);
}

/* The first head of one sequence: [b, h, s, d]. */
static assay_status turn_first_head(const assay_oracle_args *args, assay_arrays *result) {
    const assay_status status = right(args, result);
    const assay_param *key = args->params->item;
    scale(result->data[0], 0, key[2].value[0] * key[3].value[0], 1, 0.5);
    return status;
}

static void first_head_off(transformer_graph *g) {
    replace(g, "rope", turn_first_head, NULL);
}

/* Column 0 of swiglu's result. */
static assay_status gate_first_column(const assay_oracle_args *args, assay_arrays *result) {
    const assay_status status = right(args, result);
    scale(result->data[0], 0, result->size[0], args->params->item[1].value[0], 0.5);
    return status;
}

static void first_column_off(transformer_graph *g) {
    replace(g, "swiglu", gate_first_column, NULL);
}

/* A mean over one token too many. */
static assay_status count_too_many(const assay_oracle_args *args, assay_arrays *result) {
    const assay_status status = right(args, result);
    const double t = (double)args->params->item[0].value[0];
    result->data[0][0] *= t / (t + 1);
    return status;
}

static void mean_off(transformer_graph *g) {
    replace(g, "cross_entropy", count_too_many, NULL);
}

static const struct {
    const char *relation;
    host_fault fault;
} made_for[TRANSFORMER_RELATIONS] = {
    {"sequence_permutation", {.name = "the first sequence", .edit = first_sequence_off}},
    {"word_permutation", {.name = "the first word", .edit = first_word_off}},
    {"head_permutation", {.name = "the first head", .edit = first_head_off}},
    {"hidden_permutation", {.name = "the first column", .edit = first_column_off}},
    {"repetition", {.name = "the mean", .edit = mean_off}},
    {"causality", {.name = "the mask", .edit = host_mask_off_by_one}},
};

/* ---- judging ---- */

static bool within(const assay_tensor_spec *specs, const assay_arrays *got,
                   const assay_arrays *want, const assay_arrays *bound) {
    for (int32_t i = 0; i < want->count; ++i)
        if (want->data[i] && assay_compare(specs[i].dtype, got->data[i], want->data[i],
                                           bound->data[i], want->size[i])
                                     .verdict == ASSAY_FAIL)
            return false;
    return true;
}

static void add(assay_arrays *to, const assay_arrays *from) {
    for (int32_t i = 0; i < to->count; ++i)
        for (int64_t e = 0; to->data[i] && e < to->size[i]; ++e)
            to->data[i][e] += from->data[i][e];
}

typedef struct side {
    assay_problem p;
    assay_reference ref;
    assay_results got;
} side;

static void side_run(side *s, const host_fault *fault) {
    REQUIRE_OK(assay_reference_init(&s->ref, &s->p));
    REQUIRE_OK(assay_results_init(&s->got, &s->p.sig));
    host_transformer(&s->p, fault, HOST_ALL, &s->got);
}

static void side_clear(side *s) {
    assay_results_clear(&s->got);
    assay_reference_clear(&s->ref);
    assay_problem_clear(&s->p);
}

/* As engine/relations.c does it. */
static bool keeps(const assay_relation *relation, const assay_case *c, const host_fault *fault) {
    side base, derived;
    assay_results want, allowed;
    assay_case of_derived = *c;
    REQUIRE_OK(assay_problem_init(&base.p, c));
    if (relation->derive_case)
        REQUIRE_OK(relation->derive_case(c, 0, &of_derived));
    REQUIRE_OK(assay_problem_init_empty(&derived.p, &of_derived));
    REQUIRE_OK(relation->derive(&base.p, 0, &derived.p));
    side_run(&base, fault);
    side_run(&derived, fault);
    REQUIRE_OK(assay_results_init(&want, &base.p.sig));
    REQUIRE_OK(assay_results_init(&allowed, &base.p.sig));
    const assay_results bounds = {.out = derived.ref.out_bound.element,
                                  .grad = derived.ref.grad_bound.element};
    REQUIRE_OK(relation->predict(&base.p, &derived.p, &derived.got, &want));
    REQUIRE_OK(relation->predict(&base.p, &derived.p, &bounds, &allowed));
    add(&allowed.out, &base.ref.out_bound.element);
    add(&allowed.grad, &base.ref.grad_bound.element);
    const bool kept = within(base.p.sig.out, &base.got.out, &want.out, &allowed.out) &&
                      within(base.p.sig.in, &base.got.grad, &want.grad, &allowed.grad);
    assay_results_clear(&want);
    assay_results_clear(&allowed);
    side_clear(&base);
    side_clear(&derived);
    return kept;
}

static void check_relation(int32_t i, const char *text, bool trains) {
    static const host_fault none = {.name = "none"};
    const assay_relation *relation = &transformer_relations[i];
    assay_case c;
    REQUIRE_OK(assay_case_parse(text, &c));
    CHECK_STREQ(relation->name, made_for[i].relation);
    if (trains && relation->applies && !relation->applies(&c))
        return;
    CHECK_MSG(keeps(relation, &c, &none), "%s: a right kernel breaks it", relation->name);
    CHECK_MSG(!keeps(relation, &c, &made_for[i].fault), "%s: a kernel with %s wrong keeps it",
              relation->name, made_for[i].fault.name);
}

ASSAY_TEST(transformer_relation, right_kernels_keep_and_wrong_ones_break, "unit transformer") {
    for (int32_t i = 0; i < TRANSFORMER_RELATIONS; ++i) {
        check_relation(i, "transformer size=tiny b=2 t=6 vocab=8 d=16 ff=9 dtype=f32 seed=5",
                       false);
        check_relation(
            i, "transformer size=tiny b=2 t=6 steps=2 vocab=8 d=16 ff=9 dtype=f32 seed=5", true);
    }
}
