/*
 * What `adjoint` and `translation` find: v1 on the simulated device as it is, and with a fault put
 * into what it reads or writes.
 */
#include "engine/relations.h"
#include "engine/variant_run.h"
#include "tests/kernels/conv3d_host.h"
#include "tests/shim/assay_test.h"

#include <string.h>

/* Whose work is spoiled, and in which of its results: functions of a variant have no context. */
static const assay_variant *right;
static int32_t spoiled;

static void one_percent_off(const assay_call *call) {
    const assay_tensor *t = &call->out[spoiled];
    const int64_t e = assay_tensor_count(t) * 2 / 3;
    conv_host_put(t, e, 1.01 * conv_host_get(t, e));
}

static assay_status forward_off(const assay_call *call) {
    const assay_status status = right->forward(call);
    one_percent_off(call);
    return status;
}

static assay_status backward_off(const assay_call *call) {
    const assay_status status = right->backward(call);
    one_percent_off(call);
    return status;
}

/* The last voxel that a moved content reaches along the last axis, which is k before its end. Those
 * of the other lines follow at distances of that axis. */
static int64_t far_voxel(const assay_call *call) {
    return call->in[CONV_IN_X].shape[4] - call->in[CONV_IN_W].shape[4];
}

/* Does not see x there, as if the last tile were left out. */
static assay_status forward_blind(const assay_call *call) {
    enum { LINES = 512 };
    const assay_tensor *x = &call->in[CONV_IN_X];
    const int64_t width = x->shape[4], lines = assay_tensor_count(x) / width;
    double held[LINES];
    REQUIRE(lines <= LINES);
    for (int64_t i = 0; i < lines; ++i) {
        held[i] = conv_host_get(x, i * width + far_voxel(call));
        conv_host_put(x, i * width + far_voxel(call), 0);
    }
    const assay_status status = right->forward(call);
    for (int64_t i = 0; i < lines; ++i)
        conv_host_put(x, i * width + far_voxel(call), held[i]);
    return status;
}

static assay_status backward_blind(const assay_call *call) {
    const assay_status status = right->backward(call);
    const assay_tensor *dx = &call->out[0];
    for (int64_t e = far_voxel(call); e < assay_tensor_count(dx); e += dx->shape[4])
        conv_host_put(dx, e, 0);
    return status;
}

/* ---- judging ---- */

typedef assay_status (*stage)(const assay_call *call);

static const assay_relation *relation_of(const assay_op *op, const char *name) {
    for (int32_t i = 0; i < op->n_relations; ++i)
        if (strcmp(op->relations[i].name, name) == 0)
            return &op->relations[i];
    return NULL;
}

/* NULL: as v1 does it. */
static assay_verdict relate(const char *name, const assay_case *c, stage forward, stage backward) {
    const assay_device *sim;
    assay_relation_report report;
    REQUIRE_OK(assay_device_open("sim", &sim));
    right = variant_find(sim, c->op->name, "v1");
    const assay_relation *relation = relation_of(c->op, name);
    REQUIRE(right && relation);
    assay_variant own = *right;
    own.forward = forward ? forward : right->forward;
    own.backward = backward ? backward : right->backward;
    REQUIRE_OK(assay_check_relation(relation, c, sim, &own, &report));
    return report.verdict;
}

/* How many of the first seeds show the fault. h differs from one to the other (relate_adjoint.c),
 * and does not always hold the element. */
enum { SEEDS = 9 };

static int found(const char *text, stage forward, stage backward) {
    int found = 0;
    assay_case c;
    REQUIRE_OK(assay_case_parse(text, &c));
    for (c.seed = 0; c.seed < SEEDS; ++c.seed)
        found += relate("adjoint", &c, forward, backward) == ASSAY_FAIL;
    return found;
}

ASSAY_TEST(relation_faults, adjoint_finds_one_element_one_percent_off, "unit smoke") {
    static const struct {
        const char *text;
        int32_t first, end; /* gradients that the relation speaks of */
    } ops[] = {
        {"weighted_sum n=5 d=37 dtype=f32", 0, 2},
        {"linear m=9 n=17 k=21 dtype=f32", 0, 2},
        {"matmul_accumulate m=9 n=17 k=21 iters=3 dtype=f32", 0, 2},
        {"matmul_accumulate m=9 n=17 k=21 ta=1 tb=1 dtype=f32", 0, 2},
        {"kronecker b=7 f=5x6 dtype=f32", 0, 1},
        {"embedding t=23 v=11 d=9 dtype=f32", 0, 1},
        {"rope b=2 h=2 s=5 d=12 start=7 dtype=f32", 0, 1},
        {"attention b=2 h=3 sq=5 sk=7 d=4 dtype=f32", 2, 3},
        {"attention b=1 h=2 sq=6 sk=6 d=5 causal=1 dtype=f32", 2, 3},
        {"rmsnorm n=7 d=19 dtype=f32", 1, 2},
        {"rmsnorm n=3x2 d=5 residual=1 dtype=f32", 2, 3},
        {"conv3d_groupnorm_mean n=3 ci=2 co=4 s=4x5x3 k=2 g=2 dtype=f32", 3, 5},
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
        CHECK_MSG(found(ops[i].text, NULL, NULL) == 0, "%s: a right kernel", ops[i].text);
        spoiled = 0;
        CHECK_MSG(found(ops[i].text, forward_off, NULL) > 0, "%s: y", ops[i].text);
        for (spoiled = ops[i].first; spoiled < ops[i].end; ++spoiled)
            CHECK_MSG(found(ops[i].text, NULL, backward_off) > 0, "%s: gradient %d", ops[i].text,
                      spoiled);
    }
}

ASSAY_TEST(relation_faults, translation_finds_a_blind_side, "unit smoke") {
    static const char *const texts[] = {
        "conv3d_groupnorm_mean n=2 ci=3 co=8 s=6x7x8 k=3 g=2 dtype=f32",
        "conv3d_groupnorm_mean n=1 ci=1 co=4 s=5x3x7 k=1 g=1 dtype=f64",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        assay_case c;
        REQUIRE_OK(assay_case_parse(texts[i], &c));
        CHECK(relate("translation", &c, NULL, NULL) == ASSAY_PASS);
        CHECK(relate("translation", &c, forward_blind, NULL) == ASSAY_FAIL);
        CHECK(relate("translation", &c, NULL, backward_blind) == ASSAY_FAIL);
    }
}

/* Content must be able to move within a frame of k-1 voxels: 2k along an axis, 2k-1 along others.
 */
ASSAY_TEST(relation_faults, translation_says_nothing_where_nothing_can_move, "unit smoke") {
    static const struct {
        const char *text;
        bool applies;
    } cases[] = {
        {"conv3d_groupnorm_mean n=1 ci=1 co=2 s=5x5x5 k=3 g=1 dtype=f32", false},
        {"conv3d_groupnorm_mean n=1 ci=1 co=2 s=5x6x5 k=3 g=1 dtype=f32", true},
        {"conv3d_groupnorm_mean n=1 ci=1 co=2 s=4x9x9 k=3 g=1 dtype=f32", false},
        {"conv3d_groupnorm_mean n=1 ci=1 co=2 s=1x1x1 k=1 g=1 dtype=f32", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assay_case c;
        REQUIRE_OK(assay_case_parse(cases[i].text, &c));
        CHECK_MSG(relation_applies(relation_of(c.op, "translation"), &c) == cases[i].applies, "%s",
                  cases[i].text);
    }
}
