/* The parts of bounds, where there is nothing. */
#include "assay/problem.h"
#include "oracles/common/bound.h"
#include "oracles/common/range.h"
#include "tests/shim/assay_test.h"

#include <math.h>

ASSAY_TEST(bounds, arrays_that_are_not_there, "unit") {
    assay_arrays arrays = {0};
    CHECK(range_largest(NULL, 0) == 0);
    CHECK(range_largest(&arrays, 0) == 0);
    REQUIRE_OK(assay_arrays_init(&arrays, 2));
    REQUIRE_OK(assay_arrays_add(&arrays, 1, 1));
    arrays.data[1][0] = -3;
    CHECK(range_largest(&arrays, 0) == 0 && range_largest(&arrays, 1) == 3);
    assay_arrays_clear(&arrays);
}

ASSAY_TEST(bounds, marks_of_nan_are_made_once, "unit") {
    assay_bounds bounds;
    REQUIRE_OK(assay_bounds_init(&bounds, 1));
    bounds.element.size[0] = 3;
    REQUIRE_OK(assay_bounds_allow_nan(&bounds, 0));
    bounds.nan_too[0][1] = true;
    REQUIRE_OK(assay_bounds_allow_nan(&bounds, 0));
    CHECK(bounds.nan_too[0][1] && !bounds.nan_too[0][0]);
    assay_bounds_clear(&bounds);
}

/* Of these alone, and only where the answer is not finite. */
ASSAY_TEST(bounds, any_infinity_is_right_where_it_is_said, "unit") {
    const double infinite = INFINITY, number = 1;
    const struct {
        double got, want;
        bool any, right;
    } of[] = {{NAN, infinite, true, true},         {-infinite, infinite, true, true},
              {infinite, NAN, true, true},         {number, infinite, true, false},
              {number, NAN, true, false},          {NAN, number, true, false},
              {infinite, number, true, false},     {NAN, infinite, false, false},
              {-infinite, infinite, false, false}, {infinite, NAN, false, false}};
    for (size_t i = 0; i < sizeof of / sizeof *of; ++i) {
        assay_arrays want = {0};
        assay_bounds bounds;
        REQUIRE_OK(assay_arrays_init(&want, 1));
        REQUIRE_OK(assay_arrays_add(&want, 0, 1));
        REQUIRE_OK(assay_bounds_init(&bounds, 1));
        REQUIRE_OK(assay_arrays_add(&bounds.element, 0, 1));
        want.data[0][0] = of[i].want;
        bounds.any_infinity[0] = of[i].any;
        const assay_comparison c = assay_compare_bounded(ASSAY_F32, &of[i].got, &want, &bounds, 0);
        CHECK_MSG((c.verdict != ASSAY_FAIL) == of[i].right, "%zu", i);
        assay_bounds_clear(&bounds);
        assay_arrays_clear(&want);
    }
}
