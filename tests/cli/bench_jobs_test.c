/* Which cases assay bench times, and with which variants. */
#include "cli/bench_jobs.h"
#include "tests/shim/assay_test.h"

#include <string.h>

enum { MOST_WORDS = 16 };

/* How many cases the line stands for; *without: how many of them leave v1 out. */
static int64_t count(const char *line, int64_t *without) {
    char words[256], *rest = words;
    char *argv[MOST_WORDS] = {(char[]){"assay"}};
    int argc = 1;
    snprintf(words, sizeof words, "%s", line);
    for (char *word; argc < MOST_WORDS && (word = strtok_r(rest, " ", &rest));)
        argv[argc++] = word;
    assay_cli_args args;
    bench_jobs jobs;
    REQUIRE_OK(assay_cli_args_parse(argc, argv, &args));
    REQUIRE_OK(bench_jobs_init(&jobs, &args));
    *without = 0;
    for (int64_t i = 0; i < jobs.count; ++i)
        *without += jobs.job[i].without_v1;
    const int64_t cases = jobs.count;
    bench_jobs_clear(&jobs);
    assay_cli_args_clear(&args);
    return cases;
}

ASSAY_TEST(bench_jobs, naive_variants_are_left_out_where_the_experiment_does, "unit") {
    int64_t without;
    CHECK(count("bench attention", &without) == 23 && without == 15);
    CHECK(count("bench attention b=8 h=1 sq=1024,4096 d=16 dtype=f32", &without) == 2);
    CHECK(without == 1);
    CHECK(count("bench attention/v1 b=8 h=1 sq=4096 d=16 dtype=f32", &without) == 1);
    CHECK(without == 0);
    CHECK(count("bench attention b=8 h=1 sq=4096 d=17 dtype=f32", &without) == 1);
    CHECK(without == 0);
}
