/* A file that we write reads back the same, bit for bit; any other is refused by one line. */
#include "bench/results_json.h"

#include "tests/bench/fixture.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Quotes, markup, control characters, a line end, and one letter beyond ASCII. */
static const char hostile[] = "a\"b\\c<d>&e,f|g\n\x01\x1b\x7f\xc3\xa9]]>";

/* A file of its own, gone after file_remove. */
typedef struct scratch {
    char path[32];
} scratch;

static FILE *scratch_open(scratch *s) {
    strcpy(s->path, "/tmp/assay-bench-XXXXXX");
    const int file = mkstemp(s->path);
    REQUIRE(file >= 0);
    FILE *stream = fdopen(file, "w");
    REQUIRE(stream != NULL);
    return stream;
}

static void write_results(scratch *s, const bench_results *results) {
    FILE *to = scratch_open(s);
    REQUIRE_OK(bench_results_write(to, results));
    REQUIRE(fclose(to) == 0);
}

static void read_again(const bench_results *results, bench_results *again) {
    scratch s;
    *again = (bench_results){0};
    write_results(&s, results);
    const assay_status status = bench_results_read(s.path, again);
    unlink(s.path);
    REQUIRE_OK(status);
}

/* The same bits, or both NaN. */
static bool same(double a, double b) {
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static void check_row(const bench_row *a, const bench_row *b) {
    CHECK_STREQ(b->experiment, a->experiment);
    CHECK_STREQ(b->case_text, a->case_text);
    CHECK_STREQ(b->arm, a->arm);
    CHECK_STREQ(b->label, a->label);
    CHECK_STREQ(b->reason, a->reason);
    CHECK_STREQ(b->repro, a->repro);
    CHECK_STREQ(b->versions, a->versions);
    CHECK_STREQ(b->worst_tensor, a->worst_tensor);
    CHECK(a->ours == b->ours && a->stage == b->stage && a->cache == b->cache);
    CHECK(a->status == b->status && a->verified == b->verified);
    CHECK(same(a->wall, b->wall) && same(a->customary, b->customary));
    CHECK(same(a->ratio, b->ratio) && same(a->bytes, b->bytes));
    CHECK(same(a->flops, b->flops) && same(a->floor, b->floor));
    CHECK(a->peak_bytes == b->peak_bytes && a->before_backward_bytes == b->before_backward_bytes);
    REQUIRE(a->n_samples == b->n_samples);
    for (int64_t i = 0; i < a->n_samples; ++i)
        CHECK(same(a->sample[i], b->sample[i]));
}

static void check_environment(const bench_environment *a, const bench_environment *b) {
    CHECK_STREQ(b->version, a->version);
    CHECK_STREQ(b->date, a->date);
    CHECK_STREQ(b->device, a->device);
    CHECK_STREQ(b->cpu, a->cpu);
    CHECK_STREQ(b->os, a->os);
    CHECK_STREQ(b->blas, a->blas);
    CHECK_STREQ(b->compiler, a->compiler);
    CHECK_STREQ(b->command, a->command);
    CHECK_STREQ(b->commit, a->commit);
    for (int i = 0; i < 3; ++i)
        CHECK(same(a->sm_clock_mhz[i], b->sm_clock_mhz[i]) &&
              same(a->power_watt[i], b->power_watt[i]));
    CHECK(same(a->copy_bytes, b->copy_bytes) && same(a->noise, b->noise));
    CHECK(same(a->known, b->known) && same(a->measured, b->measured));
    CHECK(a->simulated == b->simulated);
}

static void check_same(const bench_results *a, const bench_results *b) {
    check_environment(&a->environment, &b->environment);
    CHECK(same(a->seconds, b->seconds));
    REQUIRE(a->count == b->count);
    for (int64_t i = 0; i < a->count; ++i)
        check_row(&a->row[i], &b->row[i]);
}

ASSAY_TEST(bench_json, reads_back_the_same, "unit") {
    bench_results results, again;
    fixture_results(&results);
    results.environment.noise = NAN;
    results.environment.measured = INFINITY;
    results.environment.simulated = true;
    results.row[0].ratio = INFINITY;
    results.row[0].sample[0] = 0x1.fffffffffffffp-1022;
    results.row[0].sample[1] = 1.0 / 3;
    read_again(&results, &again);
    check_same(&results, &again);
    bench_results_clear(&again);
    bench_results_clear(&results);
}

ASSAY_TEST(bench_json, hostile_text_and_nothing_at_all, "unit") {
    bench_results results = {0}, again;
    bench_row row = fixture_row(hostile, hostile, hostile, 10);
    strcpy(row.reason, hostile);
    strcpy(row.repro, hostile);
    fixture_add(&results, &row);
    strcpy(results.environment.device, hostile);
    read_again(&results, &again);
    check_same(&results, &again);
    bench_results_clear(&again);
    bench_results_clear(&results);
    read_again(&results, &again);
    CHECK(again.count == 0);
}

/* A field that was cut within a letter grows when it is written: it must not be refused, nor leave
 * half a letter. */
ASSAY_TEST(bench_json, text_cut_within_a_letter, "unit") {
    bench_results results = {0}, again;
    bench_row row = fixture_row("x", "rmsnorm dtype=f32 seed=0", "v3", 10);
    memset(row.reason, 'a', sizeof row.reason - 1);
    row.reason[sizeof row.reason - 3] = '\xe2';
    row.reason[sizeof row.reason - 2] = '\x82';
    fixture_add(&results, &row);
    read_again(&results, &again);
    REQUIRE(again.count == 1);
    CHECK(strlen(again.row[0].reason) == sizeof row.reason - 3);
    bench_results_clear(&again);
    bench_results_clear(&results);
}

ASSAY_TEST(bench_json, holds_what_follows_from_samples, "unit") {
    bench_results results = {0};
    bench_row row = fixture_row("x", "rmsnorm dtype=f32 seed=0", "v3", 10);
    char *text = NULL;
    size_t size = 0;
    row.n_samples = 5;
    for (int i = 0; i < 5; ++i)
        row.sample[i] = 8 + i;
    row.bytes = 2e7;
    row.flops = 4e8;
    row.floor = 5;
    fixture_add(&results, &row);
    FILE *to = open_memstream(&text, &size);
    REQUIRE(to != NULL);
    REQUIRE_OK(bench_results_write(to, &results));
    fclose(to);
    CHECK(strstr(text, "\"median_us\": 10, \"p10_us\": 8.4") != NULL);
    CHECK(strstr(text, "\"mean_us\": 10, \"std_us\": 1.58113883008418") != NULL);
    CHECK(strstr(text, "\"gbps\": 2000, \"tflops\": 40, \"share_of_floor\": 0.5") != NULL);
    free(text);
    results.row[0].bytes = INFINITY;
    results.row[0].flops = 0;
    results.row[0].floor = INFINITY;
    REQUIRE((to = open_memstream(&text, &size)) != NULL);
    REQUIRE_OK(bench_results_write(to, &results));
    fclose(to);
    CHECK(strstr(text, "\"gbps\": null, \"tflops\": null, \"share_of_floor\": null") != NULL);
    free(text);
    bench_results_clear(&results);
}

/* ---- what is refused ---- */

/* Reads `document` after `from` in it was replaced by `to`. */
static void check_refused(const char *document, const char *from, const char *to,
                          const char *line) {
    scratch s;
    bench_results kept = {.seconds = 42};
    const char *place = strstr(document, from);
    REQUIRE_MSG(place != NULL, "no %s in the document", from);
    FILE *stream = scratch_open(&s);
    fprintf(stream, "%.*s%s%s", (int)(place - document), document, to, place + strlen(from));
    REQUIRE(fclose(stream) == 0);
    CHECK_FAILS(bench_results_read(s.path, &kept), ASSAY_ERR_FILE, line);
    CHECK(strstr(assay_error(), s.path) != NULL);
    CHECK(kept.seconds == 42 && kept.count == 0);
    unlink(s.path);
}

/* One row, as it is written; to be freed. */
static char *small_document(void) {
    bench_results results = {0};
    const bench_row row = fixture_row("x", "rmsnorm dtype=f32 seed=0", "v3", 10);
    char *text = NULL;
    size_t size = 0;
    fixture_add(&results, &row);
    FILE *to = open_memstream(&text, &size);
    REQUIRE(to != NULL);
    REQUIRE_OK(bench_results_write(to, &results));
    fclose(to);
    bench_results_clear(&results);
    return text;
}

ASSAY_TEST(bench_json, files_that_are_not_ours, "unit") {
    char *good = small_document();
    check_refused(good, good, "", "line 1 is not valid JSON");
    check_refused(good, good, "{}", "is no result of assay bench");
    check_refused(good, good, "[1, 2]", "is no result of assay bench");
    check_refused(good, "assay bench", "assay check", "is no result of assay bench");
    check_refused(good, "\n]}\n", "\n]", "line 5 is not valid JSON");
    check_refused(good, "\n]}\n", "\n]} and more", "line 5 is not valid JSON");
    check_refused(good, "\"environment\": {", "\"other\": {", "environment is missing");
    check_refused(good, "\"simulated\": false", "\"simulated\": 0",
                  "environment.simulated is neither true nor false");
    check_refused(good, "\"sm_clock_mhz\": [0, 0, 0]", "\"sm_clock_mhz\": [0, 0]",
                  "environment.sm_clock_mhz is not a list of three");
    check_refused(good, "\"rows\": [", "\"rows\": [7, ", "rows[0] is not an object");
    check_refused(good, "\"case\": ", "\"kase\": ", "rows[0].case is missing");
    check_refused(good, "\"stage\": \"forward\"", "\"stage\": \"sideways\"",
                  "rows[0].stage is a word that this assay does not know");
    check_refused(good, "\"verified\": 6", "\"verified\": 6.5", "rows[0].verified is no count");
    check_refused(good, "\"verified\": 6", "\"verified\": 1e10", "rows[0].verified is no count");
    check_refused(good, "\"wall_us\": null", "\"wall_us\": \"quick\"",
                  "rows[0].wall_us is not a number");
    check_refused(good, "\"samples_us\": [", "\"samples_us\": [null, ",
                  "rows[0].samples_us holds what is no time");
    check_refused(good, "\"samples_us\": [", "\"samples_us\": [1e999, ",
                  "rows[0].samples_us holds what is no time");
    free(good);
}

ASSAY_TEST(bench_json, one_row_twice, "unit") {
    char *good = small_document();
    char *row = strstr(good, "{\"experiment\"");
    char twice[8192];
    REQUIRE(row != NULL);
    snprintf(twice, sizeof twice, "%.*s,\n{\"experiment\"", (int)(strlen(row) - 4), row);
    check_refused(good, "{\"experiment\"", twice, "rows[1] is of the same");
    free(good);
}

ASSAY_TEST(bench_json, names_that_are_too_long, "unit") {
    char *good = small_document();
    char longer[BENCH_NAME + 16];
    snprintf(longer, sizeof longer, "\"arm\": \"%0*d", BENCH_NAME, 0);
    check_refused(good, "\"arm\": \"", longer, "rows[0].arm is longer than any");
    free(good);
}

ASSAY_TEST(bench_json, files_that_cannot_be_read, "unit") {
    bench_results results = {0};
    CHECK_FAILS(bench_results_read("/nonexistent/results.json", &results), ASSAY_ERR_FILE,
                "/nonexistent/results.json: cannot be read: No such file");
    CHECK_FAILS(bench_results_read("/tmp", &results), ASSAY_ERR_FILE, "is not a regular file");
}

ASSAY_TEST(bench_json, numbers_that_an_older_version_did_not_write, "unit") {
    char *good = small_document();
    bench_results results = {0};
    scratch s;
    static const char *const names[] = {"\"customary_us\"", "\"peak_bytes\""};
    for (int i = 0; i < 2; ++i)
        strstr(good, names[i])[1] = '_';
    FILE *to = scratch_open(&s);
    fputs(good, to);
    REQUIRE(fclose(to) == 0);
    REQUIRE_OK(bench_results_read(s.path, &results));
    CHECK(isnan(results.row[0].customary) && results.row[0].peak_bytes == 0);
    bench_results_clear(&results);
    unlink(s.path);
    free(good);
}

ASSAY_TEST(bench_json, unknown_keys_are_passed_over, "unit") {
    char *good = small_document();
    bench_results results = {0};
    scratch s;
    const char *row = strstr(good, "{\"experiment\"");
    REQUIRE(row != NULL);
    FILE *to = scratch_open(&s);
    fprintf(to, "%.*s{\"colour\": {\"of\": [1, null]}, %s", (int)(row - good), good, row + 1);
    REQUIRE(fclose(to) == 0);
    REQUIRE_OK(bench_results_read(s.path, &results));
    CHECK(results.count == 1 && results.row[0].n_samples > 0);
    bench_results_clear(&results);
    unlink(s.path);
    free(good);
}
