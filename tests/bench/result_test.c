#include "bench/result.h"

#include "tests/bench/fixture.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <string.h>

static const char text[] = "kronecker b=32 f=128x128 dtype=f32 seed=0";

ASSAY_TEST(bench_result, names, "unit") {
    CHECK_STREQ(bench_status_name(BENCH_OK), "ok");
    CHECK_STREQ(bench_status_name(BENCH_REFUSED), "refused");
    CHECK_STREQ(bench_status_name(BENCH_OOM), "oom");
    CHECK_STREQ(bench_status_name(BENCH_UNAVAILABLE), "unavailable");
    CHECK_STREQ(bench_status_name(BENCH_ERROR), "error");
    CHECK_STREQ(bench_stage_name(BENCH_BOTH), "forward+backward");
    CHECK_STREQ(bench_cache_name(BENCH_COLD), "cold");
    CHECK_STREQ(bench_cache_name(BENCH_WARM), "warm");
}

ASSAY_TEST(bench_result, same_place_is_replaced, "unit") {
    bench_results results = {0};
    bench_row row = fixture_row("kronecker", text, "v3", 20);
    row.verified = 1;
    fixture_add(&results, &row);
    row = fixture_row("kronecker", text, "v3", 30);
    row.verified = 2;
    row.stage = BENCH_BACKWARD;
    fixture_add(&results, &row);
    row = fixture_row("kronecker", text, "v3", 40);
    row.verified = 3;
    fixture_add(&results, &row);
    REQUIRE(results.count == 2);
    CHECK(results.row[0].verified == 3 && results.row[0].stage == BENCH_FORWARD);
    CHECK(results.row[0].sample[0] >= 35);
    CHECK(results.row[1].verified == 2 && results.row[1].stage == BENCH_BACKWARD);
    bench_results_clear(&results);
    CHECK(results.count == 0 && results.row == NULL);
}

ASSAY_TEST(bench_result, each_of_five_tells_rows_apart, "unit") {
    bench_results results = {0};
    bench_row row[6];
    for (int i = 0; i < 6; ++i)
        row[i] = fixture_row("kronecker", text, "v3", 10 + i);
    strcpy(row[1].experiment, "");
    strcpy(row[2].case_text, "kronecker b=1 f=2 dtype=f32 seed=0");
    strcpy(row[3].arm, "v1");
    row[4].stage = BENCH_BOTH;
    row[5].cache = BENCH_WARM;
    for (int i = 0; i < 6; ++i)
        fixture_add(&results, &row[i]);
    REQUIRE(results.count == 6);
    for (int i = 0; i < 6; ++i)
        CHECK(bench_results_find(&results, &row[i]) == &results.row[i]);
    strcpy(row[5].arm, "v2");
    CHECK(bench_results_find(&results, &row[5]) == NULL);
    bench_results_clear(&results);
}

ASSAY_TEST(bench_result, what_is_removed_leaves_the_others, "unit") {
    static const char *const arm[] = {"v1", "v2", "v3"};
    bench_results results = {0};
    bench_row row[3];
    for (int i = 0; i < 3; ++i) {
        row[i] = fixture_row("kronecker", text, arm[i], 10 + i);
        fixture_add(&results, &row[i]);
    }
    bench_results_remove(&results, &row[1]);
    bench_results_remove(&results, &row[1]); /* which is not there any more */
    REQUIRE(results.count == 2);
    CHECK(bench_results_find(&results, &row[0]) == &results.row[0]);
    CHECK(bench_results_find(&results, &row[1]) == NULL);
    CHECK(bench_results_find(&results, &row[2]) == &results.row[1]);
    CHECK(results.row[1].sample == row[2].sample);
    bench_results_clear(&results);
}

/* A case that both have comes from one of them as a whole. */
ASSAY_TEST(bench_result, merged_cases_do_not_mix, "unit") {
    static const char *const elsewhere = "kronecker b=1 f=3x3 dtype=f32 seed=0";
    bench_results results = {.seconds = 2}, other = {.seconds = 3};
    bench_row kept = fixture_row("kronecker", elsewhere, "v1", 4);
    bench_row old[2] = {fixture_row("kronecker", text, "v1", 10),
                        fixture_row("kronecker", text, "torch", 11)};
    bench_row fresh = fixture_row("kronecker", text, "v1", 20);
    fixture_add(&results, &old[0]);
    fixture_add(&results, &kept);
    fixture_add(&results, &old[1]);
    fixture_add(&other, &fresh);
    REQUIRE_OK(bench_results_merge(&results, &other));
    CHECK(other.count == 0);
    REQUIRE(results.count == 2);
    CHECK(bench_results_find(&results, &old[1]) == NULL);
    CHECK(bench_results_find(&results, &kept)->sample == kept.sample);
    CHECK(bench_results_find(&results, &fresh)->sample == fresh.sample);
    CHECK(results.seconds == 5);
    bench_results_clear(&results);
    bench_results_clear(&other);
}

ASSAY_TEST(bench_result, more_rows_than_room, "unit") {
    bench_results results = {0};
    for (int i = 0; i < 100; ++i) {
        char arm[BENCH_NAME];
        snprintf(arm, sizeof arm, "arm%d", i);
        const bench_row row = fixture_row("", text, arm, 1 + i);
        fixture_add(&results, &row);
    }
    CHECK(results.count == 100 && strcmp(results.row[99].arm, "arm99") == 0);
    bench_results_clear(&results);
}
