#include "bench/compare.h"

#include "tests/bench/fixture.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char text[] = "kronecker b=32 f=128x128 dtype=f32 seed=0";

static void add_time(bench_results *results, const char *arm, double time) {
    bench_row row = fixture_row("kronecker", text, arm, time);
    row.ours = arm[0] == 'v';
    fixture_add(results, &row);
}

static void add_failed(bench_results *results, const char *arm, const char *reason) {
    bench_row row = fixture_row("kronecker", text, arm, 1);
    free(row.sample);
    row.sample = NULL;
    row.n_samples = 0;
    row.status = BENCH_REFUSED;
    strcpy(row.reason, reason);
    fixture_add(results, &row);
}

/* What is written of it; to be freed. */
static char *text_of(const bench_comparison *comparison) {
    char *written = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&written, &size);
    REQUIRE(to != NULL);
    bench_comparison_text(to, comparison, false);
    fclose(to);
    return written;
}

static const bench_change *change_of(const bench_comparison *comparison, const char *arm) {
    for (int64_t i = 0; i < comparison->count; ++i) {
        const bench_change *change = &comparison->change[i];
        if (strcmp((change->after != NULL ? change->after : change->before)->arm, arm) == 0)
            return change;
    }
    assay_test_abort(__FILE__, __LINE__, "no change of %s", arm);
}

static void add_both(bench_results *before, bench_results *after) {
    add_time(before, "v1", 100);
    add_time(after, "v1", 100);
    add_time(before, "v2", 100);
    add_time(after, "v2", 110);
    add_time(before, "v3", 100);
    add_time(after, "v3", 90);
    add_time(before, "torch", 100);
    add_time(after, "torch", 150);
    add_time(before, "vgone", 100);
    add_time(before, "vwrong", 100);
    add_failed(after, "vwrong", "dx is not within its bound");
    add_failed(before, "vlame", "always was");
    add_failed(after, "vlame", "always was");
    add_time(after, "vnew", 100);
}

ASSAY_TEST(bench_compare, regressions, "unit") {
    bench_results before = {0}, after = {0};
    bench_comparison c;
    add_both(&before, &after);
    REQUIRE_OK(bench_compare_results(&before, &after, BENCH_MARGIN, &c));
    CHECK(c.count == 8 && c.regressions == 3 && c.left_out == 0);
    CHECK(change_of(&c, "v1")->ratio.verdict == BENCH_SAME && !change_of(&c, "v1")->regression);
    CHECK(change_of(&c, "v2")->ratio.verdict == BENCH_SLOWER && change_of(&c, "v2")->regression);
    CHECK(fabs(change_of(&c, "v2")->ratio.ratio - 100.0 / 110) < 0.01);
    CHECK(change_of(&c, "v3")->ratio.verdict == BENCH_FASTER && !change_of(&c, "v3")->regression);
    CHECK(change_of(&c, "torch")->ratio.verdict == BENCH_SLOWER);
    CHECK(!change_of(&c, "torch")->regression); /* a peer's is no regression of ours */
    CHECK(change_of(&c, "vgone")->regression && change_of(&c, "vgone")->after == NULL);
    CHECK(change_of(&c, "vwrong")->regression && isnan(change_of(&c, "vwrong")->ratio.ratio));
    CHECK(!change_of(&c, "vlame")->regression && !change_of(&c, "vnew")->regression);
    bench_comparison_clear(&c);
    bench_results_clear(&before);
    bench_results_clear(&after);
}

ASSAY_TEST(bench_compare, names_what_is_gone_and_why, "unit") {
    bench_results before = {0}, after = {0};
    bench_comparison c;
    add_both(&before, &after);
    REQUIRE_OK(bench_compare_results(&before, &after, BENCH_MARGIN, &c));
    char *written = text_of(&c);
    CHECK(strstr(written, text) != NULL);
    CHECK(strstr(written, "refused: dx is not within its bound") != NULL);
    CHECK(strstr(written, "!  vgone") != NULL && strstr(written, "gone\n") != NULL);
    CHECK(strstr(written, "3 regressions (marked !) beyond 3 %") != NULL);
    free(written);
    bench_comparison_clear(&c);
    bench_results_clear(&before);
    bench_results_clear(&after);
}

ASSAY_TEST(bench_compare, within_the_margin_is_none, "unit") {
    bench_results before = {0}, after = {0};
    bench_comparison c;
    add_time(&before, "v3", 100);
    add_time(&after, "v3", 110);
    REQUIRE_OK(bench_compare_results(&before, &after, 0.2, &c));
    CHECK(c.regressions == 0);
    bench_comparison_clear(&c);
    bench_results_clear(&before);
    bench_results_clear(&after);
}

ASSAY_TEST(bench_compare, text_of_a_row_cannot_steer_a_terminal, "unit") {
    bench_results before = {0}, after = {0};
    bench_comparison c;
    bench_row row = fixture_row("\x1b[2J", "\x1b[2J", "v\x1b[2J", 10);
    fixture_add(&before, &row);
    strcpy(after.environment.device, "\x1b[2J");
    strcpy(before.environment.device, "\x1b[2J");
    row = fixture_row("\x1b[2J", "\x1b[2J", "v\x1b[2J", 10);
    fixture_add(&after, &row);
    REQUIRE_OK(bench_compare_results(&before, &after, BENCH_MARGIN, &c));
    char *written = text_of(&c);
    CHECK(strchr(written, '\x1b') == NULL && strstr(written, "v?[2J") != NULL);
    free(written);
    bench_comparison_clear(&c);
    bench_results_clear(&before);
    bench_results_clear(&after);
}

ASSAY_TEST(bench_compare, other_cases_are_left_out, "unit") {
    bench_results before = {0}, after = {0};
    bench_comparison c;
    bench_row other = fixture_row("kronecker", "kronecker b=1 f=2 dtype=f32 seed=0", "v3", 1);
    fixture_add(&before, &other);
    add_time(&before, "v3", 100);
    add_time(&after, "v3", 100);
    REQUIRE_OK(bench_compare_results(&before, &after, BENCH_MARGIN, &c));
    CHECK(c.count == 1 && c.regressions == 0 && c.left_out == 1);
    char *written = text_of(&c);
    CHECK(strstr(written, "1 earlier row of cases that this run did not time") != NULL);
    free(written);
    bench_comparison_clear(&c);
    bench_results_clear(&before);
    bench_results_clear(&after);
}

ASSAY_TEST(bench_compare, other_devices_are_refused, "unit") {
    bench_results before = {0}, after = {0};
    bench_comparison c;
    strcpy(before.environment.device, "NVIDIA H200");
    strcpy(after.environment.device, "NVIDIA H100");
    CHECK_FAILS(bench_compare_results(&before, &after, BENCH_MARGIN, &c), ASSAY_ERR_USAGE,
                "NVIDIA H200, these of NVIDIA H100");
    strcpy(after.environment.device, "NVIDIA H200");
    after.environment.simulated = true;
    CHECK_FAILS(bench_compare_results(&before, &after, BENCH_MARGIN, &c), ASSAY_ERR_USAGE,
                "(simulated)");
}

ASSAY_TEST(bench_compare, nothing_with_nothing, "unit") {
    const bench_results none = {0};
    bench_comparison c;
    REQUIRE_OK(bench_compare_results(&none, &none, BENCH_MARGIN, &c));
    CHECK(c.count == 0 && c.regressions == 0);
    bench_comparison_clear(&c);
}
