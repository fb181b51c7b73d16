/* Which layer a run without numbers counts for. */
#include "engine/runner.h"
#include "engine/variant_run.h"
#include "mutants/checker.h"
#include "tests/shim/assay_test.h"

#include <string.h>

ASSAY_TEST(mutants, failures_belong_to_layers, "unit") {
    static const struct {
        assay_status status;
        assay_failure failure;
        mutant_layer layer;
    } runs[] = {
        {ASSAY_ERR_KERNEL, ASSAY_FAILURE_HANG, LAYER_HANG},
        {ASSAY_ERR_KERNEL, ASSAY_FAILURE_CRASH, LAYER_CRASH},
        {ASSAY_ERR_KERNEL, ASSAY_FAILURE_MEMORY, LAYER_CRASH},
        {ASSAY_ERR_KERNEL, ASSAY_FAILURE_STRAY, LAYER_GUARD},
        {ASSAY_ERR_KERNEL, ASSAY_FAILURE_OTHER, LAYER_SIM},
        {ASSAY_ERR_DEVICE, ASSAY_FAILURE_OTHER, LAYER_SIM},
        {ASSAY_ERR_UNSUPPORTED, ASSAY_FAILURE_OTHER, LAYER_REFUSED},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; ++i)
        CHECK_MSG(mutant_layer_of(runs[i].status, runs[i].failure) == runs[i].layer, "run %zu", i);
}

ASSAY_TEST(mutants, words_are_read_again, "unit") {
    for (int layer = 0; layer < MUTANT_LAYERS; ++layer)
        CHECK(mutant_layer_find(mutant_layer_name((mutant_layer)layer)) == (mutant_layer)layer);
    for (int outcome = 0; outcome < MUTANT_OUTCOMES; ++outcome)
        CHECK(mutant_outcome_find(mutant_outcome_name((mutant_outcome)outcome)) ==
              (mutant_outcome)outcome);
    CHECK((int)mutant_layer_find("nobody") == MUTANT_LAYERS);
    CHECK((int)mutant_outcome_find("nothing") == MUTANT_OUTCOMES);
}

/* What the right kernel leaves is right; one number that is not, in each of its tensors, is found,
 * and by the layer of its data. */
static void check_test_case(const char *text, mutant_layer layer) {
    const assay_device *sim;
    test_case t = {.text = text};
    assay_results got = {0};
    char reason[LAYER_REASON];
    REQUIRE_OK(assay_device_open("sim", &sim));
    REQUIRE_OK(test_case_prepare(&t));
    REQUIRE_OK(assay_results_init(&got, &t.problem.sig));
    REQUIRE_OK(assay_run(variant_find(sim, t.problem.c.op->name, "v1"), sim, &t.problem, &got));
    CHECK(test_case_check(&t, &got, reason) == LAYER_NONE);
    assay_arrays *const sides[] = {&got.out, &got.grad};
    for (int s = 0; s < 2; ++s)
        for (int32_t i = 0; i < sides[s]->count; ++i) {
            if (!sides[s]->data[i])
                continue;
            double *last = &sides[s]->data[i][sides[s]->size[i] - 1];
            const double was = *last;
            *last = was * 1.03 + 1;
            CHECK_MSG(test_case_check(&t, &got, reason) == layer, "%s, tensor %d", text, (int)i);
            *last = was;
        }
    assay_results_clear(&got);
    test_case_clear(&t);
}

ASSAY_TEST(mutants, test_cases_find_one_wrong_number, "unit") {
    check_test_case("weighted_sum n=3 d=5 dtype=f32 seed=0", LAYER_BOUND);
    check_test_case("weighted_sum n=3 d=5 dtype=f32 fill=exact seed=0", LAYER_EXACT);
}

/* A step of AdamW jumps where a gradient's sign turns: the check engine allows v2 for it here, and
 * so must the checks of mutants, which otherwise take a right kernel for a wrong one. */
ASSAY_TEST(mutants, test_cases_allow_for_results_that_jump, "unit") {
    const assay_device *sim;
    test_case t = {.text =
                       "transformer size=tiny b=1 t=5 steps=3 batches=2 vocab=11 d=16 ff=9 heads=4 "
                       "lr=0.0039062499999999996 wd=4.789247334442978e-07 dtype=f32 fill=rows "
                       "pad=1024 sched=reverse seed=21"};
    assay_results got = {0};
    char reason[LAYER_REASON] = "";
    REQUIRE_OK(assay_device_open("sim", &sim));
    REQUIRE_OK(test_case_prepare(&t));
    REQUIRE_OK(assay_results_init(&got, &t.problem.sig));
    REQUIRE_OK(assay_run(variant_find(sim, "transformer", "v2"), sim, &t.problem, &got));
    CHECK_MSG(test_case_check(&t, &got, reason) == LAYER_NONE, "%s", reason);
    assay_results_clear(&got);
    test_case_clear(&t);
}
