/* The writers against hostile strings: their output must read back as it was meant. */
#include "cli/report.h"
#include "core/json.h"
#include "core/utf8.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Quotes, markup, control characters, a line end, invalid UTF-8, and one valid letter. */
static const char hostile[] = "a\"b\\c<d>&e,f|g\n\x01\x1b\x7f\xff\xc3\xa9]]>";

typedef struct capture {
    char *text;
    size_t size;
    FILE *stream;
} capture;

/* The stream keeps the addresses of text and size. */
static void capture_open(capture *c) {
    *c = (capture){0};
    c->stream = open_memstream(&c->text, &c->size);
    REQUIRE(c->stream != NULL);
}

static const char *capture_end(capture *c) {
    fclose(c->stream);
    return c->text;
}

static assay_row row_of(const char *variant, const char *tensor, assay_verdict verdict) {
    assay_row row = {.variant = variant, .rank = 2, .shape = {2, 3}, .verdict = verdict};
    snprintf(row.tensor, sizeof row.tensor, "%s", tensor);
    if (*tensor != '\0')
        row.cmp = (assay_comparison){.verdict = verdict,
                                     .count = 6,
                                     .worst = 5,
                                     .ratio = 0.5,
                                     .got = 1.25,
                                     .want = 1.5,
                                     .bound = 0.5,
                                     .norm_got = 3,
                                     .norm_want = 4};
    return row;
}

/* Two cases of one operator: v1 passes both; v2 fails one and skips the other; v3 breaks in one and
 * is mistrusted in the other. */
typedef struct fixture {
    assay_row first[4], second[3];
    assay_report report[2];
    cli_environment environment;
    cli_results results;
} fixture;

static void fixture_init(fixture *f) {
    *f = (fixture){.environment = {.device = "sim", .compiler = "cc", .build_type = "Debug"}};
    snprintf(f->environment.device_text, sizeof f->environment.device_text, "%s", hostile);
    f->first[0] = row_of("v1", "y", ASSAY_PASS);
    f->first[1] = row_of("v2", "y", ASSAY_PASS);
    f->first[2] = row_of("v2", "dx", ASSAY_FAIL);
    f->first[2].cmp.ratio = INFINITY;
    f->first[2].cmp.got = -NAN;
    snprintf(f->first[2].reason, ASSAY_REASON, "%s", hostile);
    snprintf(f->first[2].why, ASSAY_WHY, "%s", hostile);
    f->first[3] = row_of("v3", "", ASSAY_ERROR);
    f->second[0] = row_of("v1", "y", ASSAY_PASS);
    f->second[1] = row_of("v2", "", ASSAY_SKIP);
    f->second[2] = row_of("v3", "y", ASSAY_MISTRUSTED);
    for (int i = 0; i < 2; ++i) {
        f->report[i] = (assay_report){.c = {.op = assay_op_at(0)},
                                      .device = "sim",
                                      .rows = i == 0 ? f->first : f->second,
                                      .n_rows = i == 0 ? 4 : 3,
                                      .seconds = 3};
        snprintf(f->report[i].case_text, ASSAY_CASE_TEXT, "case %d", i);
    }
    f->results = (cli_results){
        .environment = &f->environment, .report = f->report, .count = 2, .seconds = 1.5};
}

/* The report of the fixture's results, for free(). */
static char *written(const fixture *f, void (*write)(FILE *, const cli_results *)) {
    capture c;
    capture_open(&c);
    write(c.stream, &f->results);
    capture_end(&c);
    return c.text;
}

static int occurrences(const char *text, const char *what) {
    int count = 0;
    while ((text = strstr(text, what)) != NULL) {
        ++count;
        text += strlen(what);
    }
    return count;
}

static void has(const char *text, const char *part) {
    CHECK_MSG(strstr(text, part) != NULL, "\"%s\" is not in:\n%s", part, text);
}

static bool valid_utf8(const char *text) {
    while (*text != '\0') {
        const char *start = text;
        /* A replacement that was written is three bytes long; one that was needed is one. */
        if (utf8_next(&text) == UTF8_REPLACEMENT && text - start == 1)
            return false;
    }
    return true;
}

ASSAY_TEST(cli_report, utf8_survives_and_garbage_is_replaced, "unit") {
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"plain", "plain"},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xff", "\xef\xbf\xbd"},
        {"\xc3", "\xef\xbf\xbd"},                 /* cut short */
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"}, /* overlong */
        {"\xe0\x80\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                 /* a surrogate */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* > 10FFFF */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        capture c;
        capture_open(&c);
        const char *text = cases[i].from;
        for (uint32_t code = utf8_next(&text); code != 0; code = utf8_next(&text))
            utf8_put(c.stream, code);
        CHECK_STREQ(capture_end(&c), cases[i].to);
        free(c.text);
    }
}

ASSAY_TEST(cli_report, json_strings_and_numbers, "unit") {
    capture c;
    capture_open(&c);
    json_string(c.stream, hostile);
    CHECK_STREQ(capture_end(&c), "\"a\\\"b\\\\c<d>&e,f|g\\u000a\\u0001\\u001b\\u007f"
                                 "\xef\xbf\xbd\xc3\xa9]]>\"");
    free(c.text);
    capture_open(&c);
    json_string(c.stream, NULL);
    const double values[] = {0.1, -0.0, NAN, -NAN, INFINITY, -INFINITY, 5e-324};
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
        putc(' ', c.stream);
        json_number(c.stream, values[i]);
    }
    CHECK_STREQ(capture_end(&c), "null 0.10000000000000001 -0 \"nan\" \"nan\" \"inf\" \"-inf\" "
                                 "4.9406564584124654e-324");
    free(c.text);
}

ASSAY_TEST(cli_report, json_has_a_result_for_each_row, "unit") {
    fixture f;
    fixture_init(&f);
    char *text = written(&f, cli_report_json);
    CHECK(occurrences(text, "{\"op\": ") == 7);
    has(text, "\"tensor\": \"dx\", \"verdict\": \"fail\", \"ratio\": \"inf\"");
    has(text, "\"got\": \"nan\"");
    has(text, "\"worst\": \"(1, 2)\"");
    /* Where nothing was compared there is no number that could be taken for one. */
    has(text, "\"tensor\": null, \"verdict\": \"skip\", \"ratio\": null");
    CHECK(valid_utf8(text));
    free(text);
}

ASSAY_TEST(cli_report, csv_quotes_as_rfc_4180_says, "unit") {
    fixture f;
    fixture_init(&f);
    char *text = written(&f, cli_report_csv);
    CHECK(occurrences(text, "\r\n") == 8);
    has(text, ",\"a\"\"b\\c<d>&e,f|g\n\x01");
    has(text, ",fail,inf,");
    has(text, ",nan,");
    CHECK(strstr(text, "-nan") == NULL);
    has(text, ",\"(1, 2)\",");
    free(text);
}

/* A case that is mistrusted at some size of an operand is no failure. */
ASSAY_TEST(cli_report, junit_of_sizes, "unit") {
    fixture f;
    fixture_init(&f);
    f.report[0].c.exponent = f.report[1].c.exponent = 20;
    char *text = written(&f, cli_report_junit);
    has(text, "tests=\"6\" failures=\"1\" errors=\"1\" skipped=\"1\"");
    CHECK(occurrences(text, "<failure ") == 1);
    free(text);
}

ASSAY_TEST(cli_report, junit_counts_and_escapes, "unit") {
    fixture f;
    fixture_init(&f);
    char *text = written(&f, cli_report_junit);
    has(text, "<testsuites name=\"assay\" tests=\"6\" failures=\"2\" errors=\"1\" skipped=\"1\"");
    CHECK(occurrences(text, "<testsuite name") == 1);
    CHECK(occurrences(text, "<testcase ") == 6);
    CHECK(occurrences(text, "<failure ") == 2);
    CHECK(occurrences(text, "<error ") == 1);
    CHECK(occurrences(text, "<skipped ") == 1);
    CHECK(occurrences(text, "time=\"1.000000\"") == 6); /* 3 s for 3 variants */
    has(text, "a&quot;b\\c&lt;d&gt;&amp;e,f|g&#10;\xef\xbf\xbd\xc3\xa9]]&gt;");
    CHECK(strpbrk(text, "\x01\x1b\x7f") == NULL);
    CHECK(valid_utf8(text));
    free(text);
}

ASSAY_TEST(cli_report, markdown_cells_stay_in_their_row, "unit") {
    fixture f;
    fixture_init(&f);
    char *text = written(&f, cli_report_markdown);
    CHECK(occurrences(text, "\n| ") == 7);
    has(text, "a\"b\\\\c&lt;d>&amp;e,f\\|g    \xef\xbf\xbd\xc3\xa9\\]\\]> |\n");
    CHECK(valid_utf8(text));
    free(text);
}

ASSAY_TEST(cli_report, text_shows_all_of_a_failure, "unit") {
    fixture f;
    fixture_init(&f);
    snprintf(f.first[2].repro, ASSAY_REPRO, "assay check this/v2 --device sim");
    f.first[2].cmp.wrong = 2;
    f.results.count = 1; /* brief shows the last */
    for (int i = 0; i < 2; ++i) {
        capture c;
        capture_open(&c);
        const assay_cli_out out = {.stream = c.stream, .color = false};
        if (i == 0)
            report_text_full(&out, &f.report[0]);
        else
            report_text_brief(&out, &f.results);
        const char *text = capture_end(&c);
        has(text, "v2 dx");
        has(text, "(1, 2): 2 of 6 elements are wrong");
        has(text, "got   nan\n");
        has(text, "want  1.5\n");
        has(text, "bound 0.5, error nan, ratio inf\n");
        has(text, "reproduce: assay check this/v2 --device sim\n");
        CHECK(strpbrk(text, "\x01\x1b") == NULL);
        free(c.text);
    }
}

ASSAY_TEST(cli_report, brief_text_tells_a_reason_to_skip_once, "unit") {
    assay_row rows[] = {row_of("v1", "", ASSAY_SKIP), row_of("v1", "", ASSAY_SKIP),
                        row_of("v1", "", ASSAY_SKIP), row_of("v2", "", ASSAY_SKIP)};
    fixture f;
    assay_report report[4];
    capture c;
    fixture_init(&f);
    for (int i = 0; i < 4; ++i) {
        snprintf(rows[i].reason, sizeof rows[i].reason, "%s", i == 1 ? "no f16" : "no f64");
        report[i] = f.report[0];
        report[i].rows = &rows[i];
        report[i].n_rows = 1;
    }
    capture_open(&c);
    const assay_cli_out out = {.stream = c.stream, .color = false};
    for (int64_t n = 1; n <= 4; ++n)
        report_text_brief(&out, &(cli_results){.report = report, .count = n});
    const char *text = capture_end(&c);
    CHECK(occurrences(text, "skip  ") == 4 + 3); /* a line for each case, and three reasons */
    CHECK(occurrences(text, "no f64") == 2);     /* of v1 and of v2 */
    CHECK(occurrences(text, "no f16") == 1);
    free(c.text);
}

ASSAY_TEST(cli_report, a_skip_beside_a_pass_leaves_the_pass, "unit") {
    assay_row rows[] = {row_of("v1", "y", ASSAY_PASS), row_of("v1", "", ASSAY_SKIP),
                        row_of("v2", "", ASSAY_SKIP), row_of("v3", "y", ASSAY_PASS),
                        row_of("v3", "dx", ASSAY_PASS)};
    rows[3].cmp.ratio = 0.75;
    rows[4].cmp.ratio = NAN;
    const assay_report report = {.rows = rows, .n_rows = 5};
    cli_part part = {0};
    REQUIRE(report_next_part(&report, &part));
    CHECK(part.n_rows == 2 && part.verdict == ASSAY_PASS && part.worst == &rows[0]);
    REQUIRE(report_next_part(&report, &part));
    CHECK(part.n_rows == 1 && part.verdict == ASSAY_SKIP);
    REQUIRE(report_next_part(&report, &part));
    CHECK(part.n_rows == 2 && part.worst == &rows[4]);
    CHECK(!report_next_part(&report, &part));
}

ASSAY_TEST(cli_report, exit_codes_take_the_gravest, "unit") {
    static const struct {
        int64_t pass, skip, mistrusted, fail, error;
        assay_exit code;
    } cases[] = {
        {0, 0, 0, 0, 0, ASSAY_EXIT_NOTHING}, {0, 3, 0, 0, 0, ASSAY_EXIT_NOTHING},
        {1, 0, 0, 0, 0, ASSAY_EXIT_PASSED},  {1, 3, 0, 0, 0, ASSAY_EXIT_PASSED},
        {9, 1, 1, 0, 0, ASSAY_EXIT_FAILED},  {9, 0, 0, 1, 0, ASSAY_EXIT_FAILED},
        {9, 0, 0, 1, 1, ASSAY_EXIT_ERROR},   {0, 1, 0, 0, 1, ASSAY_EXIT_ERROR},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const cli_tally tally = {.verdicts = {[ASSAY_PASS] = cases[i].pass,
                                              [ASSAY_SKIP] = cases[i].skip,
                                              [ASSAY_MISTRUSTED] = cases[i].mistrusted,
                                              [ASSAY_FAIL] = cases[i].fail,
                                              [ASSAY_ERROR] = cases[i].error}};
        CHECK_MSG(tally_exit(&tally) == cases[i].code, "case %zu gives %d", i,
                  (int)tally_exit(&tally));
    }
}

ASSAY_TEST(cli_report, a_report_without_rows_is_an_error, "unit") {
    assay_report empty = {.c = {.op = assay_op_at(0)}};
    const cli_results results = {.report = &empty, .count = 1};
    const cli_tally tally = results_tally(&results);
    CHECK(tally.total == 1 && tally_exit(&tally) == ASSAY_EXIT_ERROR);
}
