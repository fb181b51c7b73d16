/* Which variants check a case of assay fuzz. */
#include "engine/isolate.h"
#include "fuzz/search/check.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>

static const assay_device *device; /* isolated */

static int64_t variants_that_check(const char *text, const char *only, bool spares_plans) {
    assay_case c;
    fuzz_result result;
    const fuzz_subject subject = {.device = device,
                                  .variant = &only,
                                  .n_variants = only != NULL,
                                  .spares_plans = spares_plans};
    REQUIRE_OK(assay_case_parse(text, &c));
    REQUIRE_OK(fuzz_check(&subject, &c, FUZZ_NO_RELATION, &result));
    return result.passed + result.mistrusted + result.skipped;
}

/* gelu/v2 makes plans of cuDNN's. */
ASSAY_TEST(fuzz_check, variants_with_plans_check_one_case_in_32, "unit sim") {
    static const char one[] = "gelu n=3 d=5 dtype=f32 seed=64";
    const assay_device *sim;
    REQUIRE_OK(assay_device_open("sim", &sim));
    REQUIRE_OK(assay_isolate(sim, &(assay_isolation){.seconds = 60, .gib = 4}, &device));
    const int64_t all = variants_that_check(one, NULL, false);
    CHECK(all > 1 && variants_that_check(one, NULL, true) == all);
    for (int seed = 65; seed < 96; ++seed) {
        char text[64];
        snprintf(text, sizeof text, "gelu n=3 d=5 dtype=f32 seed=%d", seed);
        CHECK_MSG(variants_that_check(text, NULL, true) == all - 1, "seed %d", seed);
        CHECK_MSG(variants_that_check(text, NULL, false) == all, "seed %d", seed);
        CHECK_MSG(variants_that_check(text, "v2", true) == 1, "seed %d", seed);
    }
    CHECK(variants_that_check("softmax n=3 d=5 dtype=f32 seed=65", NULL, true) ==
          variants_that_check("softmax n=3 d=5 dtype=f32 seed=65", NULL, false));
    assay_isolate_end(device);
}
