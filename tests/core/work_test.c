/* assay_op_work: figures by hand, and what must hold for every case of every operator. */
#include "assay/op.h"
#include "tests/shim/assay_test.h"

static assay_work work_of(const char *text, assay_stage stage) {
    assay_case c;
    assay_work work = {0};
    REQUIRE_OK(assay_case_parse(text, &c));
    REQUIRE_OK(assay_op_work(c.op, &c.params, stage, &work));
    return work;
}

ASSAY_TEST(work, is_what_one_counts_by_hand, "unit") {
    assay_work w = work_of("weighted_sum n=3x5 d=7", ASSAY_FORWARD);
    CHECK(w.read == 4 * (105 + 7));
    CHECK(w.written == 4 * 15);
    CHECK(w.flops == 210);
    w = work_of("weighted_sum n=3x5 d=7 dtype=bf16", ASSAY_BACKWARD);
    CHECK(w.read == 2 * (105 + 7 + 15));
    CHECK(w.written == 2 * (105 + 7));

    /* x[2, 3, 4]: the last axis goes from 4 to 6, then the first from 3 to 5. */
    w = work_of("kronecker b=2 f=3x4 q=5x6", ASSAY_FORWARD);
    CHECK(w.flops == 2 * (2 * 3 * 4 * 6 + 2 * 3 * 6 * 5));
    CHECK(w.least == 2 * (2 * 3 * 4 * 6 + 2 * 3 * 4 * 5));
    w = work_of("kronecker b=32 f=128x128", ASSAY_FORWARD);
    CHECK(w.flops == 2 * 1.34217728e8); /* the published 1.342e8 are multiply-adds */
    CHECK(w.least == w.flops);

    w = work_of("matmul_accumulate m=4 n=5 k=6 iters=10", ASSAY_FORWARD);
    CHECK(w.flops == 2400);
    CHECK(w.least == 240);
    CHECK(w.read == 4 * (24 + 30 + 20));
    w = work_of("matmul_accumulate m=4 n=5 k=6 iters=10", ASSAY_BACKWARD);
    CHECK(w.flops == 480);
    CHECK(w.read == 4 * (24 + 30 + 20)); /* dy in c's place */

    /* Causal: 1 + 2 + 3 pairs of 4 dimensions in each of 2 heads. */
    w = work_of("attention b=1 h=2 sq=3 d=4 causal=1", ASSAY_FORWARD);
    CHECK(w.flops == 2 * 2 * 2 * 6 * 4);
    w = work_of("attention b=1 h=2 sq=3 d=4 causal=1", ASSAY_BACKWARD);
    CHECK(w.flops == 5 * 2 * 2 * 6 * 4);

    /* One token names one row of the table. */
    w = work_of("embedding t=1 v=100 d=8", ASSAY_FORWARD);
    CHECK(w.read > 4 + 31.99 && w.read < 4 + 32.01);

    /* 6 n t for n parameters of matrices, and attention's share. */
    w = work_of("transformer size=small b=4 t=128 steps=1", ASSAY_FORWARD);
    const double matrices = 12 * (4. * 768 * 768 + 3. * 768 * 3072) + 10000. * 768;
    const double attention = 12. * 4 * 4 * (128 * 129 / 2) * 768;
    CHECK(w.flops == 6 * matrices * 512 + 3 * attention);
}

static assay_status look(const assay_case *c, void *context) {
    assay_signature sig;
    (void)context;
    assay_status status = c->op->signature(&c->params, &sig);
    if (status != ASSAY_OK)
        return status;
    const bool gradients = c->op->backward != NULL && assay_signature_has_gradients(&sig);
    assay_signature_clear(&sig);
    for (assay_stage stage = ASSAY_FORWARD; stage <= (gradients ? ASSAY_BACKWARD : ASSAY_FORWARD);
         ++stage) {
        assay_work w;
        status = assay_op_work(c->op, &c->params, stage, &w);
        if (status != ASSAY_OK)
            return status;
        CHECK(w.read > 0 && w.written > 0);
        CHECK(0 <= w.least && w.least <= w.flops);
    }
    return ASSAY_OK;
}

ASSAY_TEST(work, is_there_for_every_operator, "unit") {
    for (int32_t i = 0; i < assay_op_count(); ++i) {
        REQUIRE_OK(assay_op_visit_set(assay_op_at(i), ASSAY_SMOKE, look, NULL));
        REQUIRE_OK(assay_op_visit_set(assay_op_at(i), ASSAY_BENCH, look, NULL));
    }
}

/* An operator whose author left it out. */
ASSAY_TEST(work, without_a_function_there_is_a_line, "unit") {
    assay_op op = *assay_op_find("weighted_sum", 12);
    assay_case c;
    assay_work work;
    op.work = NULL;
    REQUIRE_OK(assay_case_parse("weighted_sum n=2 d=3 dtype=f32 seed=0", &c));
    CHECK_FAILS(assay_op_work(&op, &c.params, ASSAY_FORWARD, &work), ASSAY_ERR_UNSUPPORTED,
                "weighted_sum: its assay_op has no .work");
}
