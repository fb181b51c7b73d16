/* Reports: that they say what the results say, whatever the text in them, and ask nothing of the
 * network. */
#include "bench/report/report.h"

#include "bench/report/format.h"
#include "bench/report/writers.h"
#include "bench/results_json.h"
#include "tests/bench/fixture.h"
#include "tests/bench/markup.h"
#include "tests/shim/assay_test.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Quotes, markup, control characters, a line end, invalid UTF-8, and one valid letter. */
static const char hostile[] = "a\"b'c<d>&e,f|g\n\x01\x1b\x7f\xff\xc3\xa9]]>";

/* What a writer wrote; to be freed. */
static char *written(void (*write)(FILE *to, const report *r), const report *r) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    REQUIRE(to != NULL);
    write(to, r);
    REQUIRE(fclose(to) == 0);
    return text;
}

static void write_text(FILE *to, const report *r) {
    report_text(to, &r->v, false);
}

static char *drawn(const plot *p, bool alone) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    REQUIRE(to != NULL);
    plot_draw(p, &(svg){to, alone});
    REQUIRE(fclose(to) == 0);
    return text;
}

static bool holds(const char *text, const char *part) {
    return strstr(text, part) != NULL;
}

static int count_of(const char *text, const char *part) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        ++count;
    return count;
}

/* A page that holds all and asks for nothing. */
static void check_page(const report *r) {
    static const char *const foreign[] = {"http",  "//",      "url(h", "<script",
                                          "<link", "@import", " src="};
    char *page = written(report_html, r), why[256];
    CHECK_MSG(markup_is_sound(page, why), "the page: %s", why);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; ++i)
        CHECK_MSG(!holds(page, foreign[i]), "the page holds %s", foreign[i]);
    CHECK(!holds(page, "nan") && !holds(page, "-inf"));
    CHECK(count_of(page, "role=\"img\"") == count_of(page, "<svg"));
    CHECK(count_of(page, "<desc id=") == count_of(page, "<svg"));
    CHECK(count_of(page, "<caption") == count_of(page, "<table"));
    CHECK(count_of(page, "<table") == count_of(page, "role=\"region\" tabindex=\"0\""));
    free(page);
}

static void check_pictures(const report *r) {
    for (int32_t i = 0; i < r->plots.count; ++i) {
        char *text = drawn(&r->plots.item[i], true), why[256];
        CHECK_MSG(markup_is_sound(text, why), "%s: %s", r->plots.item[i].id, why);
        CHECK(!holds(text, "nan") && !holds(text, "inf\"") && !holds(text, "-inf"));
        for (int32_t j = 0; j < i; ++j)
            CHECK(strcmp(r->plots.item[i].id, r->plots.item[j].id) != 0);
        free(text);
    }
}

/* Each record has the header's fields; returns how many records follow it. */
static int check_csv(const report *r) {
    char *text = written(report_csv, r), *next = text, *field[64];
    const int columns = markup_csv_record(&next, field, 64);
    int records = 0;
    CHECK(columns == 39);
    while (*next != '\0') {
        REQUIRE(markup_csv_record(&next, field, 64) == columns);
        ++records;
    }
    free(text);
    return records;
}

static int unescaped_bars(const char *line, size_t length) {
    int count = 0;
    for (size_t i = 0; i < length; ++i)
        count += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    return count;
}

/* All lines of a table have as many cells. */
static void check_markdown(const report *r) {
    char *text = written(report_markdown, r);
    int cells = 0;
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        const size_t length = strcspn(line, "\n");
        const int bars = line[0] == '|' ? unescaped_bars(line, length) : 0;
        CHECK_MSG(cells == 0 || bars == 0 || bars == cells, "%.*s", (int)length, line);
        cells = bars;
    }
    CHECK(!holds(text, "nan") && !holds(text, "<d>"));
    free(text);
}

static void check_all(bench_results *results) {
    report r;
    REQUIRE_OK(report_init(&r, results));
    check_page(&r);
    check_pictures(&r);
    check_markdown(&r);
    CHECK(check_csv(&r) == results->count);
    char *text = written(write_text, &r);
    CHECK(!holds(text, "nan") && !holds(text, "\x1b") && !holds(text, "\x01"));
    free(text);
    report_clear(&r);
    bench_results_clear(results);
}

/* ---- whatever the results ---- */

ASSAY_TEST(bench_report, of_a_realistic_run, "unit") {
    bench_results results;
    fixture_results(&results);
    check_all(&results);
}

ASSAY_TEST(bench_report, of_nothing, "unit") {
    bench_results results = {0};
    check_all(&results);
}

ASSAY_TEST(bench_report, of_one_row, "unit") {
    bench_results results = {0};
    const bench_row row = fixture_row("", "rmsnorm n=4 dtype=f32 seed=0", "v3", 10);
    fixture_add(&results, &row);
    check_all(&results);
}

static bench_row failed_row(const char *arm, bench_status status) {
    bench_row row = fixture_row("x", "rmsnorm n=4 dtype=f32 seed=0", arm, 1);
    free(row.sample);
    row.sample = NULL;
    row.n_samples = 0;
    row.status = status;
    row.ratio = NAN;
    return row;
}

ASSAY_TEST(bench_report, of_rows_that_all_failed, "unit") {
    bench_results results = {0};
    for (int status = BENCH_REFUSED; status < BENCH_STATUSES; ++status) {
        bench_row row = failed_row(bench_status_name((bench_status)status), (bench_status)status);
        row.ours = status % 2 == 0;
        fixture_add(&results, &row);
    }
    check_all(&results);
}

static void make_hostile(bench_row *row) {
    strcpy(row->label, hostile);
    strcpy(row->reason, hostile);
    strcpy(row->repro, hostile);
    strcpy(row->versions, hostile);
    strcpy(row->worst_tensor, hostile);
}

static void add_hostile(bench_results *results) {
    for (int i = 0; i < 6; ++i) {
        char text[ASSAY_CASE_TEXT];
        snprintf(text, sizeof text, "op n=%d w=%s", 1 << (i / 2), hostile);
        bench_row row = fixture_row(hostile, text, i % 2 == 0 ? "v3" : hostile, 10 + i);
        row.ours = i % 2 == 0;
        row.bytes = 1e6;
        row.flops = 1e6;
        make_hostile(&row);
        fixture_add(results, &row);
    }
    bench_row row = failed_row("v1", BENCH_REFUSED);
    make_hostile(&row);
    fixture_add(results, &row);
    bench_environment *e = &results->environment;
    strcpy(e->device, hostile);
    strcpy(e->command, hostile);
    strcpy(e->version, hostile);
    strcpy(e->date, hostile);
}

ASSAY_TEST(bench_report, of_hostile_text, "unit") {
    bench_results results = {0};
    add_hostile(&results);
    check_all(&results);
}

ASSAY_TEST(bench_report, of_numbers_that_are_none, "unit") {
    bench_results results = {0};
    for (int i = 0; i < 8; ++i) {
        char text[ASSAY_CASE_TEXT];
        snprintf(text, sizeof text, "rmsnorm n=%d dtype=f32 seed=0", 1 << (i / 2));
        bench_row row = fixture_row("x", text, i % 2 == 0 ? "v3" : "torch", i < 4 ? 1e-6 : 1e9);
        row.ours = i % 2 == 0;
        row.ratio = i < 2 ? (double)NAN : i < 4 ? (double)INFINITY : 0;
        row.bytes = i < 6 ? 0 : 1e300;
        row.flops = i < 6 ? (double)INFINITY : 1e-300;
        row.floor = i < 4 ? 0 : (double)INFINITY;
        row.n_samples = i == 7 ? 1 : row.n_samples;
        fixture_add(&results, &row);
    }
    results.environment.noise = NAN;
    results.environment.copy_bytes = NAN;
    check_all(&results);
}

/* Two experiments whose names become one word in a file's name. */
ASSAY_TEST(bench_report, pictures_have_names_of_their_own, "unit") {
    bench_results results = {0};
    const char *const names[] = {"a b", "a-b", "a/b", "A b"};
    for (int i = 0; i < 4; ++i) {
        bench_row ours = fixture_row(names[i], "rmsnorm n=4 dtype=f32 seed=0", "v3", 10);
        bench_row peer = fixture_row(names[i], "rmsnorm n=4 dtype=f32 seed=0", "torch", 10);
        peer.ours = false;
        fixture_add(&results, &ours);
        fixture_add(&results, &peer);
    }
    check_all(&results);
}

/* ---- what is said ---- */

static void add_pair(bench_results *results, const char *text, double ours, double peer) {
    bench_row row = fixture_row("x", text, "v3", ours);
    fixture_add(results, &row);
    row = fixture_row("x", text, "torch", peer);
    row.ours = false;
    fixture_add(results, &row);
    row = fixture_row("x", text, "slow-peer", 3 * peer);
    row.ours = false;
    fixture_add(results, &row);
}

ASSAY_TEST(bench_report, summary_is_of_the_best_peer, "unit") {
    bench_results results = {0};
    report r;
    add_pair(&results, "rmsnorm n=1 dtype=f32 seed=0", 10, 40);
    add_pair(&results, "rmsnorm n=2 dtype=f32 seed=0", 10, 10);
    add_pair(&results, "rmsnorm n=3 dtype=f32 seed=0", 20, 10);
    const bench_row alone = fixture_row("x", "rmsnorm n=4 dtype=f32 seed=0", "v3", 10);
    fixture_add(&results, &alone);
    REQUIRE_OK(report_init(&r, &results));
    CHECK(r.v.verdicts[BENCH_FASTER] == 1 && r.v.verdicts[BENCH_SAME] == 1);
    CHECK(r.v.verdicts[BENCH_SLOWER] == 1 && r.v.alone == 1);
    CHECK(fabs(r.v.mean - cbrt(4 * 1 * 0.5)) < 0.01); /* noise of the samples */
    CHECK_STREQ(r.v.section[0].common, "dtype=f32 seed=0");
    CHECK_STREQ(r.v.section[0].group[1].label, "n=2");
    char *text = written(write_text, &r);
    CHECK(holds(text, "1 faster, 1 same, 1 slower, 0 unclear, 1 without a counterpart"));
    CHECK(holds(text, "11.9") || holds(text, "12.0")); /* the slower peer of the first case */
    free(text);
    report_clear(&r);
    bench_results_clear(&results);
}

ASSAY_TEST(bench_report, warm_times_are_not_in_the_summary, "unit") {
    bench_results results = {0};
    report r;
    int64_t cases;
    add_pair(&results, "rmsnorm n=1 dtype=f32 seed=0", 10, 20);
    for (int i = 0; i < 2; ++i) {
        bench_row warm = fixture_row("x", "rmsnorm n=1 dtype=f32 seed=0", i == 0 ? "v3" : "torch",
                                     i == 0 ? 10 : 90);
        warm.ours = i == 0;
        warm.cache = BENCH_WARM;
        fixture_add(&results, &warm);
    }
    REQUIRE_OK(report_init(&r, &results));
    CHECK(r.v.n_groups == 2 && r.v.cache == BENCH_COLD && fabs(r.v.mean - 2) < 0.02);
    CHECK(view_mean(&r.v, r.v.section, BENCH_FORWARD, &cases) == r.v.mean && cases == 1);
    report_clear(&r);
    bench_results_clear(&results);
}

ASSAY_TEST(bench_report, reasons_are_told_once, "unit") {
    bench_results results;
    report r;
    fixture_results(&results);
    REQUIRE_OK(report_init(&r, &results));
    REQUIRE(r.missing.count > 0);
    CHECK(r.missing.item[0].row->status == BENCH_REFUSED);
    char *page = written(report_html, &r);
    CHECK(holds(page, "sq=256 d=128 forward; sq=256 d=128 backward; sq=1024 d=128 forward; and 7 "
                      "more"));
    CHECK(count_of(page, "no Triton kernel of kronecker was published") == 3); /* and two rows */
    CHECK(count_of(page, "<code>") == results.count / 2 + 1); /* cold and warm have one command */
    free(page);
    report_clear(&r);
    bench_results_clear(&results);
}

ASSAY_TEST(bench_report, simulated_times_say_so_everywhere, "unit") {
    bench_results results;
    report r;
    void (*const writers[])(FILE *, const report *) = {report_html, report_markdown, write_text};
    fixture_results(&results);
    for (int simulated = 0; simulated < 2; ++simulated) {
        results.environment.simulated = simulated;
        REQUIRE_OK(report_init(&r, &results));
        for (size_t i = 0; i < sizeof writers / sizeof *writers; ++i) {
            char *text = written(writers[i], &r);
            CHECK(holds(text, format_simulated) == simulated);
            free(text);
        }
        char *page = written(report_html, &r);
        CHECK(holds(page, "<p class=\"note\">Simulated") == simulated);
        CHECK(holds(page, "<title>assay bench, simulated") == simulated);
        free(page);
        for (int32_t i = 0; i < r.plots.count; ++i) {
            char *text = drawn(&r.plots.item[i], true);
            CHECK(holds(text, "Simulated on the host: no measurement.") == simulated);
            free(text);
        }
        report_clear(&r);
    }
    bench_results_clear(&results);
}

/* Large cases are timed without a comparison, which is no answer "0 of its bound". */
ASSAY_TEST(bench_report, what_was_not_compared_is_told, "unit") {
    bench_results results = {0};
    report r;
    bench_row row = fixture_row("x", "rmsnorm n=1 dtype=f32 seed=0", "v3", 10);
    fixture_add(&results, &row);
    row = fixture_row("x", "rmsnorm n=2 dtype=f32 seed=0", "v3", 10);
    row.ratio = NAN;
    row.verified = 0;
    strcpy(row.reason, "not compared at this size");
    fixture_add(&results, &row);
    REQUIRE_OK(report_init(&r, &results));
    CHECK(r.v.uncompared == 1 && r.v.worst == r.v.row[0].row);
    CHECK(r.missing.count == 0 && r.uncompared.count == 1);
    char *page = written(report_html, &r), *markdown = written(report_markdown, &r);
    char *text = written(write_text, &r);
    CHECK(holds(page, "Of 1 timed row nothing was compared."));
    CHECK(count_of(page, "not compared at this size") == 1);
    CHECK(holds(markdown, "not compared at this size"));
    CHECK(holds(text, "ok          not compared at this size"));
    free(text);
    free(markdown);
    free(page);
    report_clear(&r);
    bench_results_clear(&results);
}

/* The mean over the cases that a peer has times of, and how many of them. */
ASSAY_TEST(bench_report, means_against_each_peer, "unit") {
    bench_results results = {0};
    report r;
    add_pair(&results, "rmsnorm n=1 dtype=f32 seed=0", 10, 20);
    add_pair(&results, "rmsnorm n=2 dtype=f32 seed=0", 10, 80);
    add_pair(&results, "rmsnorm n=4 dtype=f32 seed=0", 10, 10);
    results.row[7].status = BENCH_OOM; /* torch in the last case */
    REQUIRE_OK(report_init(&r, &results));
    REQUIRE(r.plots.count > 1 && r.plots.item[1].kind == PLOT_PEERS);
    char *text = drawn(&r.plots.item[1], false);
    CHECK(holds(text, "\u00d7, 2/3</text>"));
    CHECK(holds(text, ">3.9") || holds(text, ">4.0")); /* the root of 2 times 8 */
    CHECK(holds(text, ">7.5") || holds(text, ">7.6")); /* 3 times the cube root of 16 */
    free(text);
    report_clear(&r);
    bench_results_clear(&results);
}

ASSAY_TEST(bench_report, bars_that_are_much_longer_are_cut, "unit") {
    bench_results results = {0};
    report r;
    add_pair(&results, "rmsnorm n=1 dtype=f32 seed=0", 10, 10);
    add_pair(&results, "rmsnorm n=2 dtype=f32 seed=0", 10, 10);
    add_pair(&results, "rmsnorm n=3 dtype=f32 seed=0", 10, 4000);
    REQUIRE_OK(report_init(&r, &results));
    REQUIRE(r.plots.count > 2 && r.plots.item[2].kind == PLOT_SPEEDUPS);
    char *text = drawn(&r.plots.item[2], false);
    CHECK(count_of(text, "class=\"break\"") == 4); /* two strokes through each of two */
    CHECK(count_of(text, "width=\"160.0\"") == 2); /* as far as the axis goes */
    CHECK(holds(text, ">1,19") || holds(text, ">1,20"));
    free(text);
    report_clear(&r);
    bench_results_clear(&results);
}

/* ---- curves ---- */

static int count_sweeps(const report *r, const char *axis, int32_t points) {
    int count = 0;
    for (int32_t i = 0; i < r->plots.sweeps.count; ++i)
        count += strcmp(r->plots.sweeps.item[i].axis, axis) == 0 &&
                 r->plots.sweeps.item[i].count == points;
    return count;
}

ASSAY_TEST(bench_report, curves_are_found, "unit") {
    bench_results results;
    report r;
    fixture_results(&results);
    REQUIRE_OK(report_init(&r, &results));
    CHECK(r.plots.sweeps.count == 7);
    CHECK(count_sweeps(&r, "sq", 5) == 4); /* two widths, forward and backward */
    CHECK(count_sweeps(&r, "m = n = k", 5) == 1);
    CHECK(count_sweeps(&r, "bytes read and written", 4) == 2);
    CHECK_STREQ(r.plots.sweeps.item[0].fixed, "d=64");
    report_clear(&r);
    bench_results_clear(&results);
}

/* Of two sizes that vary, the one with more values; the other only where that leaves cases out. */
ASSAY_TEST(bench_report, curves_go_through_each_case_once, "unit") {
    bench_results results = {0};
    report r;
    for (int n = 1; n <= 3; ++n) {
        for (int d = 1; d <= 4; ++d) {
            char text[ASSAY_CASE_TEXT];
            snprintf(text, sizeof text, "rmsnorm n=%d d=%d dtype=f32 seed=7", 10 * n, 100 * d);
            const bench_row row = fixture_row("x", text, "v3", n * d);
            fixture_add(&results, &row);
        }
    }
    for (int k = 2; k <= 4; ++k) {
        char text[ASSAY_CASE_TEXT];
        snprintf(text, sizeof text, "rmsnorm n=%d d=5 dtype=f32 seed=7", k);
        const bench_row row = fixture_row("x", text, "v3", k);
        fixture_add(&results, &row);
    }
    REQUIRE_OK(report_init(&r, &results));
    CHECK(r.plots.sweeps.count == 4);
    CHECK(count_sweeps(&r, "d", 4) == 3 && count_sweeps(&r, "n", 3) == 1);
    CHECK_STREQ(r.plots.sweeps.item[3].fixed, "d=5");
    report_clear(&r);
    bench_results_clear(&results);
}

/* One of the sizes is the width that does not vary. */
ASSAY_TEST(bench_report, curves_pass_a_value_that_two_keys_share, "unit") {
    bench_results results = {0};
    report r;
    for (int n = 16; n <= 64; n *= 2) {
        char text[ASSAY_CASE_TEXT];
        snprintf(text, sizeof text, "weighted_sum n=%d d=64 dtype=f32 seed=64", n);
        const bench_row row = fixture_row("x", text, "v3", n);
        fixture_add(&results, &row);
    }
    REQUIRE_OK(report_init(&r, &results));
    CHECK(r.plots.sweeps.count == 1 && count_sweeps(&r, "n", 3) == 1);
    report_clear(&r);
    bench_results_clear(&results);
}

/* ---- files ---- */

static void remove_directory(const char *path) {
    DIR *directory = opendir(path);
    REQUIRE(directory != NULL);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char file[512];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(file);
    }
    closedir(directory);
    CHECK_MSG(rmdir(path) == 0, "%s holds more than a report", path);
}

static int64_t size_of(const char *directory, const char *name) {
    char path[256];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return stat(path, &info) == 0 ? (int64_t)info.st_size : -1;
}

ASSAY_TEST(bench_report, files, "unit") {
    char root[] = "/tmp/assay-report-XXXXXX", path[64], json[96];
    bench_results results, again = {0};
    REQUIRE(mkdtemp(root) != NULL);
    snprintf(path, sizeof path, "%s/new", root);
    snprintf(json, sizeof json, "%s/results.json", path);
    fixture_results(&results);
    REQUIRE_OK(bench_report_write(&results, path));
    REQUIRE_OK(bench_report_write(&results, path)); /* over the one that is there */
    CHECK(size_of(path, "index.html") > 10000 && size_of(path, "results.csv") > 10000);
    CHECK(size_of(path, "results.md") > 1000 && size_of(path, "summary.svg") > 1000);
    CHECK(size_of(path, "roofline-attention.svg") > 1000 && size_of(path, "bounds.svg") > 1000);
    REQUIRE_OK(bench_results_read(json, &again));
    CHECK(again.count == results.count);
    bench_results_clear(&again);
    bench_results_clear(&results);
    remove_directory(path);
    remove_directory(root);
}

ASSAY_TEST(bench_report, where_nothing_can_be_written, "unit") {
    const bench_results none = {0};
    CHECK_FAILS(bench_report_write(&none, "/nonexistent/report"), ASSAY_ERR_FILE,
                "/nonexistent/report: no report can be written there: No such file");
    CHECK_FAILS(bench_report_write(&none, "/dev/null"), ASSAY_ERR_FILE,
                "/dev/null: no report can be written there");
}
