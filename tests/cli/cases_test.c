#include "assay/problem.h"
#include "cli/cases.h"
#include "core/sink.h"
#include "tests/shim/assay_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static assay_cli_args args_for(assay_cli_target *target, const char *op) {
    *target = (assay_cli_target){.op = assay_op_find(op, strlen(op))};
    return (assay_cli_args){.target = target, .n_targets = 1};
}

ASSAY_TEST(cli_cases, words_expand_and_the_seed_is_set, "unit") {
    assay_cli_target target;
    assay_cli_args args = args_for(&target, "weighted_sum");
    const char *words[] = {"n=2,3", "d=4:6:2"};
    args.word = words;
    args.n_words = 2;
    args.seed_given = true;
    args.seed = 9;
    cli_cases cases;
    REQUIRE_OK(cli_cases_gather(&args, &cases));
    REQUIRE(cases.n_jobs == 4);
    CHECK_STREQ(cases.job[0].text, "weighted_sum n=2 d=4 dtype=f32 seed=9");
    CHECK_STREQ(cases.job[3].text, "weighted_sum n=3 d=6 dtype=f32 seed=9");
    cli_cases_clear(&cases);
}

ASSAY_TEST(cli_cases, variants_of_one_operator_are_one_selection, "unit") {
    const assay_op *op = assay_op_at(0), *other = assay_op_at(1);
    assay_cli_target targets[] = {{op, "v1"}, {other, NULL}, {op, "v3"}, {op, "v1"}};
    assay_cli_args args = {.target = targets, .n_targets = 4};
    cli_cases cases;
    REQUIRE_OK(cli_cases_gather(&args, &cases));
    REQUIRE(cases.n_selections == 2);
    REQUIRE(cases.selection[0].n_variants == 2);
    CHECK_STREQ(cases.selection[0].variant[1], "v3");
    CHECK(cases.selection[1].n_variants == 0);
    cli_cases_clear(&cases);

    targets[2].variant = NULL; /* all of them, whatever else is named */
    REQUIRE_OK(cli_cases_gather(&args, &cases));
    CHECK(cases.selection[0].n_variants == 0);
    cli_cases_clear(&cases);
}

ASSAY_TEST(cli_cases, words_need_an_operator, "unit") {
    const char *words[] = {"b=1"};
    const assay_cli_args args = {.word = words, .n_words = 1};
    cli_cases cases;
    CHECK_FAILS(cli_cases_gather(&args, &cases), ASSAY_ERR_USAGE, "b=1 belongs to no operator");
    cli_cases_clear(&cases);
}

/* Every drawn case parses back to itself, the same seed draws the same cases, another others, and a
 * longer run begins with the shorter one. */
ASSAY_TEST(cli_cases, random_cases_are_legal_and_reproducible, "unit") {
    assay_cli_args args = {.random = 200, .seed_given = true, .seed = 5};
    cli_cases one, longer, other;
    REQUIRE_OK(cli_cases_gather(&args, &one));
    args.random = 201;
    REQUIRE_OK(cli_cases_gather(&args, &longer));
    args.seed = 6;
    REQUIRE_OK(cli_cases_gather(&args, &other));
    REQUIRE(one.n_jobs == 200 * assay_op_count());
    int64_t same = 0;
    for (int64_t i = 0; i < 200; ++i) {
        assay_case c;
        char text[ASSAY_CASE_TEXT];
        REQUIRE_OK(assay_case_parse(one.job[i].text, &c));
        CHECK_STREQ(assay_case_format(&c, text), one.job[i].text);
        CHECK(c.seed == (uint64_t)i);
        CHECK_STREQ(one.job[i].text, longer.job[i].text);
        same += strcmp(one.job[i].text, other.job[i].text) == 0;
    }
    CHECK(same < 20);
    cli_cases_clear(&one);
    cli_cases_clear(&longer);
    cli_cases_clear(&other);
}

/* Not every shape has integers whose sums are exact: such a case gets other data. */
ASSAY_TEST(cli_cases, random_cases_have_data, "unit") {
    const assay_cli_args args = {.random = 2000};
    cli_cases cases;
    int64_t exact = 0;
    REQUIRE_OK(cli_cases_gather(&args, &cases));
    for (int64_t i = 0; i < cases.n_jobs; ++i) {
        assay_case c;
        assay_problem problem = {0};
        REQUIRE_OK(assay_case_parse(cases.job[i].text, &c));
        if (c.fill != ASSAY_FILL_EXACT)
            continue;
        CHECK_MSG(assay_problem_init(&problem, &c) == ASSAY_OK, "%s: %s", cases.job[i].text,
                  assay_error());
        assay_problem_clear(&problem);
        ++exact;
    }
    CHECK(exact > 0);
    cli_cases_clear(&cases);
}

/* ---- files ---- */

static void read_file(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "r");
    REQUIRE(file != NULL);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

ASSAY_TEST(cli_sink, a_file_appears_whole_or_not_at_all, "unit") {
    char folder[] = "/tmp/assay-sink-XXXXXX", path[64], text[16] = "";
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/report", folder);
    cli_sink sink;
    REQUIRE_OK(sink_open(&sink, path));
    fputs("old", sink.stream);
    CHECK(access(path, F_OK) != 0);
    REQUIRE_OK(sink_commit(&sink));

    REQUIRE_OK(sink_open(&sink, path));
    fputs("new, but given up", sink.stream);
    sink_discard(&sink);
    read_file(path, text, sizeof text);
    CHECK_STREQ(text, "old");

    CHECK(unlink(path) == 0);
    CHECK(rmdir(folder) == 0); /* fails when a temporary is left */
}

ASSAY_TEST(cli_sink, a_link_is_followed_and_not_replaced, "unit") {
    char folder[] = "/tmp/assay-sink-XXXXXX", path[64], link[64], text[16] = "";
    struct stat info;
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/report", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    cli_sink sink;
    REQUIRE_OK(sink_open(&sink, path));
    REQUIRE_OK(sink_commit(&sink));
    REQUIRE(symlink(path, link) == 0);
    REQUIRE_OK(sink_open(&sink, link));
    fputs("through", sink.stream);
    REQUIRE_OK(sink_commit(&sink));
    read_file(path, text, sizeof text);
    CHECK_STREQ(text, "through");
    CHECK(lstat(link, &info) == 0 && S_ISLNK(info.st_mode));
    unlink(link);
    unlink(path);
    CHECK(rmdir(folder) == 0);
}

/* Only regular files may be replaced, whatever rights the user has to others. */
ASSAY_TEST(cli_sink, a_pipe_is_written_in_place, "unit") {
    char folder[] = "/tmp/assay-sink-XXXXXX", path[64], text[16] = "";
    struct stat info;
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/pipe", folder);
    REQUIRE(mkfifo(path, 0600) == 0);
    const int reader = open(path, O_RDONLY | O_NONBLOCK);
    REQUIRE(reader >= 0);
    cli_sink sink;
    REQUIRE_OK(sink_open(&sink, path));
    fputs("through", sink.stream);
    REQUIRE_OK(sink_commit(&sink));
    CHECK(read(reader, text, sizeof text - 1) == 7);
    CHECK_STREQ(text, "through");
    CHECK(lstat(path, &info) == 0 && S_ISFIFO(info.st_mode));
    close(reader);
    unlink(path);
    CHECK(rmdir(folder) == 0);
}

ASSAY_TEST(cli_sink, what_cannot_be_opened_is_told, "unit") {
    cli_sink sink;
    CHECK_FAILS(sink_open(&sink, "/nonexistent/report"), ASSAY_ERR_FILE, "/nonexistent/report");
    CHECK_FAILS(sink_open(&sink, "/"), ASSAY_ERR_FILE, "Is a directory");
}

/* A disk that is full for the first write and has room again for the others. */
static ssize_t write_but_first(void *cookie, const char *data, size_t size) {
    int *writes = cookie;
    (void)data;
    if ((*writes)++ > 0)
        return (ssize_t)size;
    errno = ENOSPC;
    return -1;
}

ASSAY_TEST(cli_sink, one_failed_write_is_not_forgotten, "unit") {
    int writes = 0;
    cli_sink sink = {.path = "report"};
    sink.stream = fopencookie(&writes, "w", (cookie_io_functions_t){.write = write_but_first});
    REQUIRE(sink.stream != NULL);
    fputs("lost", sink.stream);
    REQUIRE(fflush(sink.stream) != 0);
    CHECK_FAILS(sink_commit(&sink), ASSAY_ERR_FILE, "report: cannot be written");
    CHECK(sink.stream == NULL);
}
