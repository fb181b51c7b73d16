/* The cost of a case, by which a campaign thins out its expensive cases, follows the work of its
 * kernels on the simulated device. */
#include "engine/runner.h"
#include "fuzz/search/cost.h"
#include "fuzz/search/source.h"
#include "tests/shim/assay_test.h"
#include "tests/sim/work.h"

#include <stdio.h>
#include <string.h>

static double work_of(const assay_case *c) {
    const assay_device *device;
    assay_problem p;
    assay_results got;
    double work = 0;
    REQUIRE_OK(assay_device_open("sim", &device));
    REQUIRE_OK(assay_problem_init(&p, c));
    REQUIRE_OK(assay_results_init(&got, &p.sig));
    for (int32_t v = 0; v < device->n_variants; ++v) {
        if (strcmp(device->variants[v]->op, c->op->name) != 0)
            continue;
        sim_work_begin();
        const assay_status status = assay_run(device->variants[v], device, &p, &got);
        work += sim_work_end();
        REQUIRE_MSG(status == ASSAY_OK || status == ASSAY_ERR_UNSUPPORTED, "%s", assay_error());
    }
    assay_results_clear(&got);
    assay_problem_clear(&p);
    return work;
}

/* `most`: nanoseconds of a unit of the cost. */
static void expect_within(const assay_case *c, double most) {
    char text[ASSAY_CASE_TEXT];
    double cost;
    REQUIRE_OK(cost_of(c, &cost));
    const double work = work_of(c);
    CHECK_MSG(work <= most * cost, "%s: a cost of %g, but %g ns of work, %g a unit",
              assay_case_format(c, text), cost, work, work / cost);
}

static const double most_of_long = 250;

/* Cases that are long in one size, where a cost that leaves something out is far too low: a block
 * of threads for each row, say, or a launch for each step. */
static void check_long(void *context) {
    enum { HALVINGS = 10 };
    static const double slow = 2e6; /* takes seconds where accesses are counted */
    fuzz_source s = {.op = context, .seed = 1, .budget = FUZZ_SIM_BUDGET};
    for (int32_t k = 0; k < s.op->n_keys; ++k) {
        assay_case c;
        if (s.op->keys[k].high < 1 << HALVINGS ||
            fuzz_source_longest(&s, k, HALVINGS, 0, &c) != ASSAY_OK)
            continue;
        c.pad = c.misalign = c.exponent = 0;
        c.schedule = ASSAY_SCHEDULE_IN_ORDER;
        double cost;
        REQUIRE_OK(cost_of(&c, &cost));
        if (cost < slow)
            expect_within(&c, most_of_long);
    }
}

ASSAY_TEST(cost, steps_of_a_training_count, "fuzz unit") {
    assay_case c;
    REQUIRE_OK(
        assay_case_parse("transformer size=tiny b=1 t=2 steps=16 vocab=3 d=6 ff=3 heads=3", &c));
    expect_within(&c, most_of_long);
}

/* Cases that are large in all sizes take as long as their multiply-adds. */
ASSAY_TEST(cost, multiply_adds_count, "fuzz unit") {
    static const char *const texts[] = {"matmul_accumulate m=96 n=96 k=96", "linear m=96 n=96 k=96",
                                        "attention b=1 h=1 sq=96 sk=96 d=64",
                                        "kronecker b=8 f=16x16"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        assay_case c;
        REQUIRE_OK(assay_case_parse(texts[i], &c));
        expect_within(&c, 20);
    }
}

__attribute__((constructor)) static void register_costs(void) {
    for (int32_t o = 0; o < assay_op_count(); ++o) {
        const assay_op *op = assay_op_at(o);
        char labels[64];
        snprintf(labels, sizeof labels, "fuzz unit %s", op->name);
        assay_test_register("cost", op->name, labels, check_long, (void *)(uintptr_t)op);
    }
}
