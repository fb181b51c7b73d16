/* The parts of bounds, where there is nothing. */
#include "assay/problem.h"
#include "oracles/common/bound.h"
#include "oracles/common/range.h"
#include "tests/shim/assay_test.h"

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
