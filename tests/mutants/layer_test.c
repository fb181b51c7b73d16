/* Which layer a run without numbers counts for: the lines are those of the runner, the isolated
 * device and the simulated device as they really print them. */
#include "engine/isolate.h"
#include "engine/runner.h"
#include "engine/turn.h"
#include "mutants/judge.h"
#include "tests/shim/assay_test.h"

#include <string.h>

ASSAY_TEST(mutants, lines_belong_to_layers, "unit") {
    static const struct {
        assay_status status;
        const char *line;
        mutant_layer layer;
    } lines[] = {
        {ASSAY_ERR_KERNEL, "its process was stopped: no answer after 3 s", LAYER_HANG},
        {ASSAY_ERR_KERNEL, "its process ended by signal 11 (Segmentation fault)", LAYER_CRASH},
        {ASSAY_ERR_KERNEL, "its process called exit(3) before it was done", LAYER_CRASH},
        {ASSAY_ERR_KERNEL, "forward: wrote outside y: byte 8 counted from its first element",
         LAYER_GUARD},
        {ASSAY_ERR_KERNEL, "backward: changed its input x: byte 0 counted from its first element",
         LAYER_GUARD},
        {ASSAY_ERR_KERNEL, "forward: v1.cu:31: divergent barrier in f", LAYER_SIM},
        {ASSAY_ERR_DEVICE, "forward: v1.cu:31: launch of f refused", LAYER_SIM},
        {ASSAY_ERR_UNSUPPORTED, "forward: m beyond 2147483647", LAYER_REFUSED},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i)
        CHECK_MSG(mutant_layer_of(lines[i].status, lines[i].line) == lines[i].layer, "%s",
                  lines[i].line);
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
static void check_trial(const char *text, mutant_layer layer) {
    const assay_device *sim;
    trial t = {.text = text};
    assay_results got = {0};
    char reason[LAYER_REASON];
    REQUIRE_OK(assay_device_open("sim", &sim));
    REQUIRE_OK(trial_prepare(&t));
    REQUIRE_OK(assay_results_init(&got, &t.problem.sig));
    REQUIRE_OK(
        assay_run(turn_find_variant(sim, t.problem.c.op->name, "v1"), sim, &t.problem, &got));
    CHECK(trial_judge(&t, &got, reason) == LAYER_NONE);
    assay_arrays *const sides[] = {&got.out, &got.grad};
    for (int s = 0; s < 2; ++s)
        for (int32_t i = 0; i < sides[s]->count; ++i) {
            if (!sides[s]->data[i])
                continue;
            double *last = &sides[s]->data[i][sides[s]->size[i] - 1];
            const double was = *last;
            *last = was * 1.03 + 1;
            CHECK_MSG(trial_judge(&t, &got, reason) == layer, "%s, tensor %d", text, (int)i);
            *last = was;
        }
    assay_results_clear(&got);
    trial_clear(&t);
}

ASSAY_TEST(mutants, trials_find_one_wrong_number, "unit") {
    check_trial("weighted_sum n=3 d=5 dtype=f32 seed=0", LAYER_BOUND);
    check_trial("weighted_sum n=3 d=5 dtype=f32 fill=exact seed=0", LAYER_EXACT);
}
