/* Long sums in fp32, one term after the other, against what walk and drift allow. */
#include "assay/rng.h"
#include "oracles/common/drift.h"
#include "oracles/common/twofold.h"
#include "tests/shim/assay_test.h"

#include <math.h>

static const double u = 0x1p-24;

typedef struct outcome {
    double error, walk, drift;
} outcome;

/* Terms as fp32 has them, so that nothing but the additions is rounded. */
static outcome add_up(double (*term)(int64_t j), int64_t count) {
    twofold exact = {0};
    float sum = 0;
    for (int64_t j = 0; j < count; ++j)
        twofold_add(&exact, (float)term(j));
    assay_drift drift = drift_begin(true, u, (double)count, twofold_value(exact));
    for (int64_t j = 0; j < count; ++j) {
        sum += (float)term(j);
        drift_add(&drift, (float)term(j));
    }
    return (outcome){.error = fabs(sum - twofold_value(exact)),
                     .walk = 4 * sqrt((double)count) * u * twofold_value(exact),
                     .drift = drift_of(&drift)};
}

static double uniform(int64_t j) {
    return assay_rng_uniform(1, 2, (uint64_t)j);
}

static double third(int64_t j) {
    (void)j;
    return 1.0 / 3;
}

/* Most of them vanish beside the sum. */
static double tiny_or_one(int64_t j) {
    return uniform(j) < 0.9 ? 0x1p-9 * uniform(j + 1000000000) : 1;
}

static double two_values(int64_t j) {
    return uniform(j) < 0.5 ? 1 : 0.7;
}

ASSAY_TEST(drift, equal_terms_leave_the_walk_and_stay_within_the_drift, "unit") {
    double (*const terms[])(int64_t) = {third, tiny_or_one, two_values};
    for (size_t i = 0; i < sizeof terms / sizeof *terms; ++i)
        for (int64_t count = 100000; count <= 3000000; count *= 3) {
            const outcome o = add_up(terms[i], count);
            CHECK_MSG(o.error <= o.walk + o.drift, "terms %zu, %lld: off by %g, %g + %g allowed", i,
                      (long long)count, o.error, o.walk, o.drift);
            CHECK_MSG(o.drift <= (double)count * u * 2 * (double)count, "terms %zu: no bound", i);
        }
    const outcome worst = add_up(third, 2700000);
    CHECK_MSG(worst.error > 2 * worst.walk, "a walk of %g would do for %g", worst.walk,
              worst.error);
}

ASSAY_TEST(drift, different_terms_of_like_size_hardly_drift, "unit") {
    for (int64_t count = 1000; count <= 1000000; count *= 10) {
        const outcome o = add_up(uniform, count);
        CHECK(o.error <= o.walk);
        CHECK_MSG(o.drift <= o.walk, "%lld terms: a drift of %g beside a walk of %g",
                  (long long)count, o.drift, o.walk);
    }
}

static double drift_at(double size) {
    assay_drift drift = drift_begin(true, 0x1p-53, 33, 33 * 0.7 * size);
    for (int j = 0; j < 33; ++j)
        drift_add(&drift, 0.7 * size);
    return drift_of(&drift) / size;
}

/* Of sums whose grid's inverse, grid, or own size leaves fp64's normal numbers, too. */
ASSAY_TEST(drift, sums_of_any_size_drift_alike, "unit smoke") {
    const double usual = drift_at(1);
    CHECK(usual > 0);
    for (int e = -1074; e <= 1015; ++e) {
        const double own = drift_at(ldexp(1, e));
        if (e > -970)
            CHECK_MSG(own == usual, "2^%d: %g instead of %g", e, own, usual);
        else if (e < -1027) /* no grid is coarser than the least number: nothing is rounded */
            CHECK_MSG(own == 0, "2^%d: %g instead of 0", e, own);
        else
            CHECK_MSG(own >= 0 && own <= 2 * usual, "2^%d: %g instead of %g", e, own, usual);
    }
}

ASSAY_TEST(drift, nothing_is_looked_at_where_the_bound_has_room, "unit") {
    CHECK(drift_begin(false, u, 1e6, 1e6).grids == 0);
    CHECK(drift_begin(true, u, 1e6, 0).grids == 0);
    CHECK(drift_begin(true, u, 1e6, (double)INFINITY).grids == 0);
    CHECK(drift_begin(true, u, 1e6, (double)NAN).grids == 0);
    CHECK(drift_begin(true, u, 1, 1).grids == 0);
    /* An oracle's own rounding beside the kernel's: the grid is a power of two all the same. */
    CHECK(drift_begin(true, u + 0x1p-53, 1e6, 1.5e6).coarsest == 0x1p-3);
}

ASSAY_TEST(twofold, a_sum_is_as_if_in_twice_the_precision, "unit") {
    twofold sum = {0};
    const double terms[] = {1, 0x1p300, 1, -0x1p300, 0x1p-60};
    for (size_t i = 0; i < sizeof terms / sizeof *terms; ++i)
        twofold_add(&sum, terms[i]);
    CHECK(twofold_value(sum) == 2);
    sum = (twofold){0};
    twofold_add_product(&sum, 1 + 0x1p-30, 1 - 0x1p-30);
    twofold_add(&sum, -1);
    CHECK(twofold_value(sum) == -0x1p-60);
    sum = (twofold){0};
    twofold_add(&sum, (double)INFINITY);
    twofold_add(&sum, 1);
    CHECK(twofold_value(sum) == (double)INFINITY);
}
