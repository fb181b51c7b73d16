/* Summaries against NumPy's (percentile, std with ddof=1); intervals against what is known of the
 * data that they are of. */
#include "bench/statistics.h"

#include "assay/rng.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdlib.h>

static bool near(double got, double want) {
    return fabs(got - want) <= 1e-14 * fabs(want);
}

ASSAY_TEST(bench_statistics, summaries_are_those_of_numpy, "unit") {
    static const double odd[] = {3.25, 1.5, 9.75, 2.0, 7.5, 2.0, 100.25};
    static const double two[] = {4, 1};
    bench_summary s;
    REQUIRE_OK(bench_summarise(odd, 7, &s));
    CHECK(s.count == 7 && s.median == 3.25 && s.least == 1.5 && s.most == 100.25);
    CHECK(near(s.p10, 1.8) && near(s.p90, 45.95));
    CHECK(near(s.mean, 18.035714285714285));
    CHECK(near(s.deviation, 36.38950986989834));
    REQUIRE_OK(bench_summarise(two, 2, &s));
    CHECK(s.median == 2.5 && near(s.p10, 1.3) && near(s.p90, 3.7));
    CHECK(near(s.deviation, 2.1213203435596424));
}

ASSAY_TEST(bench_statistics, few_samples, "unit") {
    static const double one[] = {5};
    bench_summary s;
    REQUIRE_OK(bench_summarise(one, 1, &s));
    CHECK(s.median == 5 && s.p10 == 5 && s.p90 == 5 && s.mean == 5 && isnan(s.deviation));
    REQUIRE_OK(bench_summarise(NULL, 0, &s));
    CHECK(bench_median(one, 1) == 5 && isnan(bench_median(NULL, 0)));
    CHECK(s.count == 0 && isnan(s.median) && isnan(s.p10) && isnan(s.mean) && isnan(s.most));
}

ASSAY_TEST(bench_statistics, order_is_no_matter_and_samples_stay, "unit") {
    double up[] = {1, 2, 2, 3, 9}, down[] = {9, 3, 2, 2, 1};
    bench_summary a, b;
    REQUIRE_OK(bench_summarise(up, 5, &a));
    REQUIRE_OK(bench_summarise(down, 5, &b));
    CHECK(a.median == b.median && a.p10 == b.p10 && a.p90 == b.p90 && a.median == 2);
    CHECK(down[0] == 9 && down[4] == 1);
}

ASSAY_TEST(bench_statistics, what_is_no_number_is_refused, "unit") {
    const double bad[] = {1, NAN, 2}, endless[] = {1, INFINITY}, zero[] = {1, 2, 0};
    const double good[] = {1, 2, 3};
    bench_summary s;
    bench_ratio r;
    CHECK_FAILS(bench_summarise(bad, 3, &s), ASSAY_ERR_USAGE, "sample 2 of 3 is not a number");
    CHECK_FAILS(bench_summarise(endless, 2, &s), ASSAY_ERR_USAGE, "sample 2 of 2");
    CHECK_FAILS(bench_compare(good, 3, bad, 3, 0.03, &r), ASSAY_ERR_USAGE, "sample 2 of 3");
    CHECK_FAILS(bench_compare(zero, 3, good, 3, 0.03, &r), ASSAY_ERR_USAGE, "is not a time: 0");
}

/* ---- ratios ---- */

enum { MOST = 200 };

/* Of one arm: noise of its own, and what both arms of a trial share. */
static void fill(double *sample, int count, uint64_t trial, uint64_t arm, double median,
                 double shared) {
    for (int i = 0; i < count; ++i) {
        const double own = assay_rng_normal(trial, arm, (uint64_t)i);
        const double both = assay_rng_normal(trial, 99, (uint64_t)i);
        sample[i] = median * exp(0.02 * own + shared * both);
    }
}

static bench_ratio compare_drawn(double faster, double shared, uint64_t trial, int n_a, int n_b) {
    double a[MOST], b[MOST];
    bench_ratio r;
    fill(a, n_a, trial, 1, 10, shared);
    fill(b, n_b, trial, 2, 10 * faster, shared);
    REQUIRE_OK(bench_compare(a, n_a, b, n_b, 0.03, &r));
    return r;
}

ASSAY_TEST(bench_statistics, verdicts, "unit") {
    CHECK(compare_drawn(1.2, 0, 1, 50, 50).verdict == BENCH_FASTER);
    CHECK(compare_drawn(1.0, 0, 1, 50, 50).verdict == BENCH_SAME);
    CHECK(compare_drawn(0.8, 0, 1, 50, 50).verdict == BENCH_SLOWER);
    CHECK(compare_drawn(1.03, 0, 1, 50, 50).verdict == BENCH_UNCLEAR);
    CHECK(compare_drawn(1.2, 0, 1, 50, 4).verdict == BENCH_UNCLEAR);
    CHECK(compare_drawn(1.2, 0, 1, 5, 50).verdict == BENCH_FASTER);
    CHECK_STREQ(bench_verdict_name(BENCH_UNCLEAR), "unclear");
}

ASSAY_TEST(bench_statistics, ratio_is_that_of_the_medians, "unit") {
    static const double a[] = {2, 2, 2, 2, 8}, b[] = {5, 5, 5, 5, 5};
    bench_ratio r;
    REQUIRE_OK(bench_compare(a, 5, b, 5, 0.03, &r));
    CHECK(r.ratio == 2.5 &&
          r.high == 2.5); /* b does not vary, and 2 is what a's medians are most */
    REQUIRE_OK(bench_compare(a, 5, b, 0, 0.03, &r));
    CHECK(isnan(r.ratio) && r.verdict == BENCH_UNCLEAR);
    REQUIRE_OK(bench_compare(a, 1, b, 1, 0.03, &r));
    CHECK(r.ratio == 2.5 && r.low == 2.5 && r.high == 2.5 && r.verdict == BENCH_UNCLEAR);
}

/* Medians of 101 draws from 1..101: the binomial distribution has their quantiles. */
ASSAY_TEST(bench_statistics, interval_is_that_of_the_median, "unit") {
    double a[101], b[5] = {51, 51, 51, 51, 51};
    bench_ratio r;
    for (int i = 0; i < 101; ++i)
        a[i] = i + 1;
    REQUIRE_OK(bench_compare(a, 101, b, 5, 0.03, &r));
    CHECK_MSG(r.low >= 51.0 / 62 && r.low <= 51.0 / 60, "%g", 51 / r.low);
    CHECK_MSG(r.high >= 51.0 / 42 && r.high <= 51.0 / 40, "%g", 51 / r.high);
}

/* Of six values five are 9 and one is 81: four of six draws are 81 in 0.9 % of all, three in 5 %,
 * when the two in the middle are 9 and 81. */
ASSAY_TEST(bench_statistics, even_draws_have_two_in_the_middle, "unit") {
    const double a[] = {9, 9, 9, 9, 9, 81}, b[] = {45, 45, 45, 45, 45};
    bench_ratio r;
    REQUIRE_OK(bench_compare(a, 6, b, 5, 0.03, &r));
    CHECK(r.ratio == 5 && r.high == 5 && r.low == 1);
}

ASSAY_TEST(bench_statistics, same_samples_same_interval, "unit") {
    const bench_ratio x = compare_drawn(1.1, 0.02, 3, 60, 60);
    const bench_ratio y = compare_drawn(1.1, 0.02, 3, 60, 60);
    CHECK(x.low == y.low && x.high == y.high && x.low < x.ratio && x.ratio < x.high);
}

/* Noise that both arms share widens the interval of samples that were not taken in turn. */
ASSAY_TEST(bench_statistics, pairs_cancel_what_both_suffer, "unit") {
    const bench_ratio together = compare_drawn(1.1, 0.2, 3, 100, 100);
    const bench_ratio apart = compare_drawn(1.1, 0.2, 3, 100, 99);
    CHECK(together.high - together.low < 0.5 * (apart.high - apart.low));
}

/* Of 200 intervals at 95 %, those that hold the true ratio: 190 expected, and four standard
 * deviations of that are 12. All of them would be intervals that are too wide. */
static int count_holding(int n_a, int n_b, double shared) {
    int held = 0;
    for (uint64_t trial = 0; trial < 200; ++trial) {
        const bench_ratio r = compare_drawn(1.25, shared, 100 + trial, n_a, n_b);
        held += r.low <= 1.25 && 1.25 <= r.high;
    }
    return held;
}

ASSAY_TEST(bench_statistics, intervals_hold_the_truth_as_often_as_they_say, "unit") {
    const int apart = count_holding(40, 51, 0), together = count_holding(40, 40, 0.02);
    CHECK_MSG(apart > 177 && apart < 200, "%d of 200", apart);
    CHECK_MSG(together > 177 && together < 200, "%d of 200", together);
}
