/* assay mutants: its flags, its rows, its rates. */
#include "cli/mutants.h"
#include "tests/shim/assay_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WORDS = 16, MUTANTS = 5 };

static assay_status parse(const char *line, assay_cli_args *args) {
    static char text[512];
    char *argv[MOST_WORDS] = {(char[]){"assay"}};
    int argc = 1;
    snprintf(text, sizeof text, "%s", line);
    for (char *w = strtok(text, " "); w != NULL && argc < MOST_WORDS; w = strtok(NULL, " "))
        argv[argc++] = w;
    return assay_cli_args_parse(argc, argv, args);
}

ASSAY_TEST(cli_mutants, flags_are_read, "unit") {
    assay_cli_args args;
    REQUIRE_OK(parse(
        "mutants rmsnorm/v3 --sample 60 --seed 9 --shard 2/4 --jobs 3 --at-least 97.5 --under "
        "kernels/rmsnorm/",
        &args));
    CHECK_STREQ(args.under, "kernels/rmsnorm/");
    CHECK(args.sample == 60 && args.seed == 9 && args.share.part == 2 && args.share.parts == 4 &&
          args.jobs == 3);
    CHECK(args.at_least == 97.5);
    assay_cli_args_clear(&args);
}

ASSAY_TEST(cli_mutants, wrong_flags_are_named, "unit") {
    static const char *const lines[] = {"--shard 0/4", "--shard 5/4", "--shard 2",   "--shard 1/x",
                                        "--sample 0",  "--jobs two",  "--at-least x"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        assay_cli_args args;
        char line[64];
        snprintf(line, sizeof line, "mutants %s", lines[i]);
        CHECK_FAILS(parse(line, &args), ASSAY_ERR_USAGE, "must be");
        assay_cli_args_clear(&args);
    }
}

/* ---- rows ---- */

typedef struct sheet {
    source file;
    mutant mutant[MUTANTS];
    mutant_row row[MUTANTS];
    mutant_rows rows;
} sheet;

/* A killed one, a survivor, one that is on the list, one of the same code, and no program. */
static void fill(sheet *s) {
    static source_user user = {"rmsnorm", "v3"};
    static char before[] = "f(\"-a\", b);", after[] = "f(\"a\", b);";
    static const mutant_outcome outcomes[MUTANTS] = {
        MUTANT_KILLED, MUTANT_SURVIVED, MUTANT_SURVIVED, MUTANT_SAME_CODE, MUTANT_NO_PROGRAM};
    *s = (sheet){.file = {.path = "kernels/rmsnorm/v3.cu", .user = &user, .n_users = 1}};
    for (int i = 0; i < MUTANTS; ++i) {
        s->mutant[i] = (mutant){.file = &s->file,
                                .change = {.rule = "sign", .line = i + 1},
                                .before = before,
                                .after = after,
                                .occurrence = i + 1,
                                .key = 1000u + (unsigned)i};
        s->row[i] = (mutant_row){.mutant = &s->mutant[i], .wanted = true};
        s->row[i].result.outcome = outcomes[i];
    }
    s->row[0].result.layer = LAYER_EXACT;
    snprintf(s->row[0].result.variant, MUTANT_VARIANT, "rmsnorm/v3");
    snprintf(s->row[0].result.reason, LAYER_REASON, "\"y\" is\nwrong, by 1");
    s->row[2].equivalent = "b is 0";
    s->rows = (mutant_rows){.row = s->row, .count = MUTANTS, .left_out = ""};
}

ASSAY_TEST(cli_mutants, rates_count_programs_alone, "unit") {
    static sheet s;
    mutant_tally all = {0};
    fill(&s);
    for (int i = 0; i < MUTANTS; ++i)
        mutant_count(&all, &s.row[i]);
    CHECK(all.programs == 3 && all.killed == 1 && all.equivalent == 1 && all.survived == 1);
    CHECK(all.same_code == 1 && all.no_program == 1 && all.by[LAYER_EXACT] == 1);
    CHECK(mutant_rate(&all) > 33.3 && mutant_rate(&all) < 33.4);
}

ASSAY_TEST(cli_mutants, rows_are_taken_up_again, "unit") {
    static sheet written, read;
    char path[] = "/tmp/assay-mutants-XXXXXX";
    const int file = mkstemp(path);
    REQUIRE(file >= 0);
    FILE *to = fdopen(file, "w");
    REQUIRE(to != NULL);
    fill(&written);
    mutants_csv_head(to);
    for (int i = 0; i < MUTANTS; ++i)
        mutants_csv_row(to, &written.row[i]);
    fputs("ffffffffffffffff,killed,bound,-,1.0,1,1\r\n", to); /* of a kernel that has changed */
    REQUIRE(fclose(to) == 0);
    fill(&read);
    for (int i = 0; i < MUTANTS; ++i)
        read.row[i].result = (mutant_result){0};
    read.row[MUTANTS - 1].wanted = false;
    REQUIRE_OK(mutants_csv_read(path, &read.rows));
    unlink(path);
    CHECK(read.row[MUTANTS - 1].result.outcome == MUTANT_PENDING);
    for (int i = 0; i < MUTANTS - 1; ++i) {
        CHECK(read.row[i].result.outcome == written.row[i].result.outcome);
        CHECK(read.row[i].result.layer == written.row[i].result.layer);
        CHECK_STREQ(read.row[i].result.variant, written.row[i].result.variant);
    }
}

/* Every way to fail does, by itself. */
ASSAY_TEST(cli_mutants, the_gate_fails, "unit") {
    static sheet s;
    fill(&s); /* 1 of 3 programs killed, 1 on the list */
    CHECK(mutants_gate(&s.rows, 0) == ASSAY_EXIT_FAILED);
    CHECK(mutants_gate(&s.rows, 33) == ASSAY_EXIT_PASSED);
    CHECK(mutants_gate(&s.rows, 34) == ASSAY_EXIT_FAILED);
    s.row[1].result.outcome = MUTANT_KILLED;
    CHECK(mutants_gate(&s.rows, 0) == ASSAY_EXIT_PASSED);
    s.row[2].result.outcome = MUTANT_KILLED; /* which the list calls no defect */
    CHECK(mutants_gate(&s.rows, 0) == ASSAY_EXIT_FAILED);
    s.row[2].result.outcome = MUTANT_BROKEN;
    CHECK(mutants_gate(&s.rows, 0) == ASSAY_EXIT_ERROR);
    s.row[2].result.outcome = MUTANT_PENDING; /* what is not judged has not passed */
    CHECK(mutants_gate(&s.rows, 33) == ASSAY_EXIT_ERROR);
    for (int i = 0; i < MUTANTS; ++i)
        s.row[i].result.outcome = MUTANT_NO_PROGRAM;
    CHECK(mutants_gate(&s.rows, 0) == ASSAY_EXIT_FAILED);
}

/* Chance alone fails a sample less than once in 100. With p = 0.8 the chance that two of two are
 * missed is 0.04, three of three 0.008; that one of five is found 0.0067, two of six 0.017. */
ASSAY_TEST(cli_mutants, a_sample_fails_when_chance_cannot_explain_it, "unit") {
    static const struct {
        int32_t killed, survived;
        double at_least;
        assay_exit wanted;
    } samples[] = {
        {0, 2, 80, ASSAY_EXIT_PASSED},   {0, 3, 80, ASSAY_EXIT_FAILED},
        {1, 4, 80, ASSAY_EXIT_FAILED},   {2, 4, 80, ASSAY_EXIT_PASSED},
        {0, 4, 75, ASSAY_EXIT_FAILED},   {7, 2, 80, ASSAY_EXIT_PASSED},
        {60, 40, 80, ASSAY_EXIT_FAILED}, {70, 30, 80, ASSAY_EXIT_PASSED},
        {99, 1, 100, ASSAY_EXIT_FAILED}, {100, 0, 100, ASSAY_EXIT_PASSED},
    };
    static sheet s;
    fill(&s);
    static mutant_row row[100];
    for (size_t i = 0; i < sizeof samples / sizeof *samples; ++i) {
        const int32_t n = samples[i].killed + samples[i].survived;
        for (int32_t k = 0; k < n; ++k) {
            row[k] = s.row[0];
            row[k].equivalent = NULL;
            row[k].result.outcome = k < samples[i].killed ? MUTANT_KILLED : MUTANT_SURVIVED;
        }
        const mutant_rows rows = {.row = row, .count = n, .sample = n};
        CHECK(mutants_gate(&rows, samples[i].at_least) == samples[i].wanted);
    }
}

/* The report of a sample says how to draw it again. */
ASSAY_TEST(cli_mutants, a_sample_names_its_seed, "unit") {
    static sheet s;
    char *text = NULL;
    size_t size = 0;
    fill(&s);
    s.rows.sample = 24;
    s.rows.seed = UINT64_MAX;
    FILE *to = open_memstream(&text, &size);
    REQUIRE(to != NULL);
    CHECK(mutants_text(to, &s.rows, false) == ASSAY_OK);
    REQUIRE(fclose(to) == 0);
    CHECK(strstr(text, "drawn by --sample 24 --seed 18446744073709551615\n"));
    free(text);
}

/* A report names each survivor without a reason, and no other. */
ASSAY_TEST(cli_mutants, survivors_are_shown, "unit") {
    static sheet s;
    char *text = NULL;
    size_t size = 0;
    fill(&s);
    FILE *to = open_memstream(&text, &size);
    REQUIRE(to != NULL);
    CHECK(mutants_text(to, &s.rows, false) == ASSAY_OK);
    REQUIRE(fclose(to) == 0);
    CHECK(strstr(text, "kernels/rmsnorm/v3.cu:2: survived (sign)"));
    CHECK(strstr(text, "| sign | f(\"-a\", b); -> f(\"a\", b); | 2"));
    CHECK(!strstr(text, "v3.cu:1:") && !strstr(text, "v3.cu:3:"));
    free(text);
}

/* Rates of a part are not taken for those of all. */
ASSAY_TEST(cli_mutants, a_part_says_what_it_is_a_part_of, "unit") {
    static sheet s;
    char *text = NULL;
    size_t size = 0;
    fill(&s);
    s.row[0].result.outcome = s.row[4].result.outcome = MUTANT_PENDING;
    FILE *to = open_memstream(&text, &size);
    REQUIRE(to != NULL);
    mutants_markdown(to, &s.rows);
    REQUIRE(fclose(to) == 0);
    CHECK_MSG(strstr(text, "| rmsnorm | 2 | 0 | 1 | 1 | 0.0 % | 0.0 % | 2 |"), "%s", text);
    CHECK_MSG(strstr(text, "| all | 2 | 0 | 1 | 1 | 0.0 % | 0.0 % | 2 |"), "%s", text);
    free(text);
}
