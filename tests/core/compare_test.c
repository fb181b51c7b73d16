#include "assay/compare.h"
#include "core/norm.h"
#include "tests/shim/assay_test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static assay_comparison one(assay_dtype dtype, double got, double want, double bound) {
    return assay_compare(dtype, &got, &want, &bound, 1);
}

static bool passes(double got, double want, double bound) {
    return one(ASSAY_F32, got, want, bound).wrong == 0;
}

/* Whatever the kernel gave, the oracle must say how far from its number a result may be. */
ASSAY_TEST(compare, a_bound_that_is_not_finite_is_an_error, "unit") {
    static const double none[] = {NAN, INFINITY, -INFINITY, -1};
    static const double got[] = {1, 0, NAN, INFINITY};
    for (int b = 0; b < 4; ++b) {
        for (int g = 0; g < 4; ++g) {
            const assay_comparison r = one(ASSAY_F32, got[g], 1, none[b]);
            CHECK(r.verdict == ASSAY_ERROR && r.unbounded == 1);
            CHECK_STREQ(r.reason, "a bound is not finite where the oracle's value is");
        }
        CHECK(one(ASSAY_F32, NAN, NAN, none[b]).verdict == ASSAY_PASS);
        CHECK(one(ASSAY_F32, INFINITY, INFINITY, none[b]).verdict == ASSAY_PASS);
    }
    const double want[] = {1, 1, 1, 1}, bound[] = {0, INFINITY, 1, NAN}, wrong[] = {9, 1, 9, 1};
    const assay_comparison r = assay_compare(ASSAY_F32, wrong, want, bound, 4);
    CHECK(r.verdict == ASSAY_ERROR && r.unbounded == 2 && r.worst == 1);
}

ASSAY_TEST(compare, within_the_bound_and_beyond, "unit") {
    assay_comparison r = one(ASSAY_F32, 1.5, 1, 0.5);
    CHECK(r.verdict == ASSAY_PASS && r.ratio == 1 && r.wrong == 0);
    CHECK_STREQ(r.reason, "");
    r = one(ASSAY_F32, nextafter(1.5, 2), 1, 0.5);
    CHECK(r.verdict == ASSAY_FAIL && r.ratio > 1 && r.wrong == 1);
    CHECK_STREQ(r.reason, "beyond its bound");
}

ASSAY_TEST(compare, bound_zero_means_equal, "unit") {
    assay_comparison r = one(ASSAY_F32, 3, 3, 0);
    CHECK(r.verdict == ASSAY_PASS && r.ratio == 0);
    r = one(ASSAY_F32, 3 + 0x1p-51, 3, 0);
    CHECK(r.verdict == ASSAY_FAIL && r.ratio == INFINITY);
    CHECK(passes(-0.0, 0.0, 0) && passes(0.0, -0.0, 0));
    CHECK(!passes(INFINITY, DBL_MAX, 0)); /* want is no f32 number, but exact means equal */
    CHECK(!passes(3, 4, -2));
}

/* Every combination of NaN, infinities and numbers, with every kind of bound. */
ASSAY_TEST(compare, nan_and_infinity, "unit") {
    static const double values[] = {NAN, INFINITY, -INFINITY, 0, 2, -2};
    static const double bounds[] = {NAN, INFINITY, 1, 0, -1};
    for (int g = 0; g < 6; ++g) {
        for (int w = 0; w < 6; ++w) {
            for (int b = 0; b < 5; ++b) {
                const double got = values[g], want = values[w], bound = bounds[b];
                const assay_comparison r = one(ASSAY_F32, got, want, bound);
                bool right;
                if (isnan(want) || isinf(want))
                    right = isnan(want) ? isnan(got) : got == want;
                else if (isnan(got) || isnan(bound))
                    right = false;
                else if (isinf(got))
                    right = bound == INFINITY;
                else
                    right = fabs(got - want) <= bound;
                CHECK_MSG((r.wrong == 0) == right, "got %g want %g bound %g", got, want, bound);
                CHECK_MSG(right ? r.ratio <= 1 : r.ratio > 1, "got %g want %g bound %g: ratio %g",
                          got, want, bound, r.ratio);
                const bool lacks_bound = isfinite(want) && !(bound >= 0 && isfinite(bound));
                CHECK((r.verdict == ASSAY_ERROR) == lacks_bound);
                CHECK((r.verdict == ASSAY_FAIL) == (!right && !lacks_bound));
            }
        }
    }
    CHECK_STREQ(one(ASSAY_F32, NAN, 1, 1).reason, "NaN where the oracle has a number");
    CHECK_STREQ(one(ASSAY_F32, 1, NAN, 1).reason, "a number where the oracle has NaN");
    CHECK(one(ASSAY_F32, NAN, 1, 1).ratio == INFINITY);
    CHECK(one(ASSAY_F32, 2, 1, NAN).ratio == INFINITY && one(ASSAY_F32, 2, 1, NAN).max_abs == 1);
}

ASSAY_TEST(compare, overflow_is_right_where_the_bound_reaches_it, "unit") {
    CHECK(one(ASSAY_F16, INFINITY, 65500, 30).wrong == 0);
    CHECK(one(ASSAY_F16, INFINITY, 65500, 10).wrong == 1);
    CHECK(one(ASSAY_F16, -INFINITY, -65500, 30).wrong == 0);
    CHECK(one(ASSAY_F16, -INFINITY, 65500, 30).wrong == 1);
    CHECK(one(ASSAY_F32, INFINITY, 65500, 30).wrong == 1);
    CHECK(one(ASSAY_F16, INFINITY, 70000, 1).wrong == 0);
}

ASSAY_TEST(compare, mistrusts_what_zeros_would_pass, "unit") {
    assay_comparison r = assay_compare(ASSAY_F32, NULL, NULL, NULL, 0);
    CHECK(r.verdict == ASSAY_MISTRUSTED && r.worst == -1 && r.count == 0 && r.rel_l2 == 0);
    CHECK_STREQ(r.reason, "nothing to compare");

    const double got[] = {1, 2}, want[] = {1, 2}, wide[] = {1, 2}, narrow[] = {1, 1.9};
    r = assay_compare(ASSAY_F32, got, want, wide, 2);
    CHECK(r.verdict == ASSAY_MISTRUSTED);
    CHECK_STREQ(r.reason, "a result of zeros would pass");
    CHECK(assay_compare(ASSAY_F32, got, want, narrow, 2).verdict == ASSAY_PASS);
    const double last_only[] = {0.9, 2};
    CHECK(assay_compare(ASSAY_F32, got, want, last_only, 2).verdict == ASSAY_PASS);
    CHECK(one(ASSAY_F32, 0, 0, 0).verdict == ASSAY_MISTRUSTED);
    CHECK(one(ASSAY_F32, 5, 1, 2).verdict == ASSAY_FAIL); /* wrong outweighs mistrusted */
}

ASSAY_TEST(compare, reports_the_worst_and_the_norms, "unit") {
    const double got[] = {3, 4.5, 0, -2}, want[] = {3, 4, 0, -1}, bound[] = {1, 1, 1, 0.5};
    const assay_comparison r = assay_compare(ASSAY_F32, got, want, bound, 4);
    CHECK(r.verdict == ASSAY_FAIL && r.count == 4 && r.wrong == 1);
    CHECK(r.worst == 3 && r.ratio == 2 && r.got == -2 && r.want == -1 && r.bound == 0.5);
    CHECK(r.max_abs == 1);
    CHECK(fabs(r.rel_l1 - 1.5 / 8) < 1e-15 && fabs(r.rel_linf - 1.0 / 4) < 1e-15);
    CHECK(fabs(r.rel_l2 - sqrt(1.25 / 26)) < 1e-15);
    CHECK(fabs(r.norm_want - sqrt(26)) < 1e-14);
    CHECK(fabs(r.norm_got - sqrt(9 + 20.25 + 4)) < 1e-14);
    CHECK(fabs(r.resolution - sqrt(3.25 / 26)) < 1e-15);
    CHECK(one(ASSAY_F32, 1, 0, 2).rel_l2 == INFINITY && one(ASSAY_F32, 0, 0, 2).rel_l2 == 0);
}

ASSAY_TEST(compare, one_wrong_element_among_many_fails, "unit") {
    enum { COUNT = 4096 };
    static double got[COUNT], want[COUNT], bound[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        got[i] = want[i] = 1 + i;
        bound[i] = 0.25;
    }
    CHECK(assay_compare(ASSAY_F32, got, want, bound, COUNT).verdict == ASSAY_PASS);
    got[COUNT - 1] += 0.5;
    const assay_comparison r = assay_compare(ASSAY_F32, got, want, bound, COUNT);
    CHECK(r.verdict == ASSAY_FAIL && r.worst == COUNT - 1 && r.rel_l2 < 1e-5);
}

ASSAY_TEST(compare, norms_survive_extreme_magnitudes, "unit") {
    static const double scales[] = {1, 1e300, 1e-300, 0x1p-1074};
    for (int i = 0; i < 4; ++i) {
        const double v[] = {3 * scales[i], -4 * scales[i]};
        CHECK(fabs(assay_norm2(v, 2) / scales[i] - 5) < 1e-14);
    }
    const double rising[] = {1e-300, 3e200, 1e-300, 4e200}, max[] = {DBL_MAX, DBL_MAX};
    CHECK(fabs(assay_norm2(rising, 4) / 1e200 - 5) < 1e-14);
    CHECK(assay_norm2(max, 2) == INFINITY);
    const double special[] = {INFINITY, NAN}, zero[] = {0, 0};
    CHECK(isnan(assay_norm2(special, 2)) && assay_norm2(special, 1) == INFINITY);
    CHECK(assay_norm2(zero, 2) == 0 && assay_norm2(NULL, 0) == 0);
    CHECK(assay_distance2(max, max, 2) == 0);
    CHECK(fabs(assay_distance2(rising, zero, 2) / 3e200 - 1) < 1e-15);

    const double huge_got[] = {DBL_MAX / 2, DBL_MAX}, bound[] = {0, 0};
    const assay_comparison r = assay_compare(ASSAY_F64, huge_got, max, bound, 2);
    CHECK(fabs(r.rel_l2 - 0.5 / sqrt(2)) < 1e-15 && fabs(r.rel_l1 - 0.25) < 1e-15);
}

/* Many elements are compared in pieces: a wrong one counts wherever it lies, and the worst of all
 * pieces is the worst. */
ASSAY_TEST(compare, in_pieces, "unit") {
    enum { COUNT = (1 << 20) + 7 };
    double *got = malloc(COUNT * sizeof *got), *want = malloc(COUNT * sizeof *want),
           *bound = malloc(COUNT * sizeof *bound);
    for (int64_t i = 0; i < COUNT; ++i) {
        got[i] = want[i] = (double)(i % 13) - 6;
        bound[i] = 0.5;
    }
    assay_comparison r = assay_compare(ASSAY_F32, got, want, bound, COUNT);
    CHECK(r.verdict == ASSAY_PASS && r.count == COUNT && r.worst == 0 && r.ratio == 0);
    CHECK(r.norm_got == r.norm_want && r.rel_l2 == 0);
    CHECK(fabs(r.norm_want - sqrt(COUNT * 14.)) < 0.01); /* 14: the mean of 0, 1, 4, ... 36 */

    const int64_t at[] = {0, (1 << 18) - 1, 1 << 18, (1 << 19) + 5, 1 << 20, COUNT - 1};
    const int64_t places = (int64_t)(sizeof at / sizeof *at);
    for (int64_t i = 0; i < places; ++i) {
        got[at[i]] = want[at[i]] + 2 + (double)i;
        r = assay_compare(ASSAY_F32, got, want, bound, COUNT);
        CHECK(r.verdict == ASSAY_FAIL && r.wrong == i + 1);
        CHECK(r.worst == at[i] && r.ratio == 2 * (2 + (double)i) && r.max_abs == 2 + (double)i);
    }
    got[at[1]] = NAN; /* of equals the first is the worst */
    got[at[4]] = NAN;
    r = assay_compare(ASSAY_F32, got, want, bound, COUNT);
    CHECK(r.worst == at[1] && isnan(r.got) && isnan(r.norm_got) && r.wrong == places);
    bound[at[3]] = INFINITY;
    bound[at[5]] = NAN;
    r = assay_compare(ASSAY_F32, got, want, bound, COUNT);
    CHECK(r.verdict == ASSAY_ERROR && r.unbounded == 2 && r.worst == at[3]);
    for (int64_t i = 0; i < COUNT; ++i)
        bound[i] = 100;
    r = assay_compare(ASSAY_F32, want, want, bound, COUNT);
    CHECK(r.verdict == ASSAY_MISTRUSTED);
    bound[1 << 20] = 0; /* a result of zeros would be wrong there */
    CHECK(want[1 << 20] != 0);
    CHECK(assay_compare(ASSAY_F32, want, want, bound, COUNT).verdict == ASSAY_PASS);
    free(got);
    free(want);
    free(bound);
}

/* What pieces sum apart is what one sum has, at any scale, whichever comes first. */
ASSAY_TEST(compare, norms_of_pieces, "unit") {
    static const double scales[] = {0, 0x1p-1060, 1e-300, 1, 3e5, 1e300};
    for (int a = 0; a < 6; ++a)
        for (int b = 0; b < 6; ++b) {
            assay_norms whole = {0}, first = {0}, second = {0};
            for (int i = 1; i < 100; ++i) {
                assay_norms_add(&first, i * scales[a]);
                assay_norms_add(&whole, i * scales[a]);
            }
            for (int i = 1; i < 50; ++i) {
                assay_norms_add(&second, -i * scales[b]);
                assay_norms_add(&whole, -i * scales[b]);
            }
            assay_norms_join(&first, &second);
            CHECK(fabs(assay_norms_l2(&first) - assay_norms_l2(&whole)) <=
                  1e-15 * assay_norms_l2(&whole));
            CHECK(first.max == whole.max && !first.nan && !first.infinite);
            const double same = assay_norms_ratio_l1(&first, &whole);
            CHECK(scales[a] + scales[b] > 0 ? fabs(same - 1) < 1e-15 : same == 0);
        }
    assay_norms n = {0}, nan = {0}, infinite = {0};
    assay_norms_add(&nan, NAN);
    assay_norms_add(&infinite, -INFINITY);
    assay_norms_join(&n, &infinite);
    CHECK(assay_norms_l2(&n) == INFINITY);
    assay_norms_join(&n, &nan);
    CHECK(isnan(assay_norms_l2(&n)));
}
