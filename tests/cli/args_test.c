#include "cli/cli.h"
#include "cli/nearest.h"
#include "tests/shim/assay_test.h"

#include <string.h>

enum { MOST_WORDS = 16 };

/* Parses a command line given as words separated by blanks, without the program's name. */
static assay_status parse(const char *line, assay_cli_args *args) {
    static char text[512];
    char *argv[MOST_WORDS] = {(char[]){"assay"}};
    int argc = 1;
    snprintf(text, sizeof text, "%s", line);
    for (char *w = strtok(text, " "); w != NULL && argc < MOST_WORDS; w = strtok(NULL, " "))
        argv[argc++] = w;
    return assay_cli_args_parse(argc, argv, args);
}

static void refuses(const char *line, const char *message) {
    assay_cli_args args;
    const assay_status status = parse(line, &args);
    CHECK_MSG(status == ASSAY_ERR_USAGE, "'%s' gave status %d", line, (int)status);
    CHECK_MSG(status == ASSAY_OK || strstr(assay_error(), message) != NULL,
              "'%s': \"%s\" does not say \"%s\"", line, assay_error(), message);
    assay_cli_args_clear(&args);
}

ASSAY_TEST(cli_args, words_and_flags_stand_anywhere, "unit") {
    assay_cli_args args;
    REQUIRE_OK(parse("--json=a.json check --device sim kronecker/v1 b=16 --quiet weighted_sum "
                     "f=2,3 --csv b.csv",
                     &args));
    CHECK_STREQ(args.verb, "check");
    CHECK_STREQ(args.json, "a.json");
    CHECK_STREQ(args.csv, "b.csv");
    CHECK_STREQ(args.device, "sim");
    CHECK(args.quiet && !args.verbose && args.random == 0 && !args.seed_given);
    REQUIRE(args.n_targets == 2 && args.n_words == 2);
    CHECK_STREQ(args.target[0].op->name, "kronecker");
    CHECK_STREQ(args.target[0].variant, "v1");
    CHECK_STREQ(args.target[1].op->name, "weighted_sum");
    CHECK(args.target[1].variant == NULL);
    CHECK_STREQ(args.word[0], "b=16");
    CHECK_STREQ(args.word[1], "f=2,3");
    CHECK(args.out.stream == stdout);
    assay_cli_args_clear(&args);
}

ASSAY_TEST(cli_args, dash_moves_text_to_standard_error, "unit") {
    assay_cli_args args;
    REQUIRE_OK(parse("check --json -", &args));
    CHECK(args.out.stream == stderr);
    assay_cli_args_clear(&args);
}

ASSAY_TEST(cli_args, sets_and_seeds, "unit") {
    assay_cli_args args;
    REQUIRE_OK(parse("check --set nightly --seed 18446744073709551615", &args));
    CHECK(args.set_given && args.set == ASSAY_NIGHTLY);
    CHECK(args.seed_given && args.seed == UINT64_MAX);
    assay_cli_args_clear(&args);
    REQUIRE_OK(parse("check", &args));
    CHECK(!args.set_given && args.set == ASSAY_SMOKE && args.n_targets == 0);
    assay_cli_args_clear(&args);
}

ASSAY_TEST(cli_args, files_of_a_run, "unit") {
    assay_cli_args args;
    REQUIRE_OK(parse("run kronecker/v1 b=1 f=2 --in a.h5 --out=b.h5 --no-run", &args));
    CHECK_STREQ(args.input, "a.h5");
    CHECK_STREQ(args.output, "b.h5");
    CHECK(args.no_run);
    assay_cli_args_clear(&args);
    refuses("run --no-run=1", "--no-run takes no value");
    refuses("run --out", "--out needs a value");
}

ASSAY_TEST(cli_args, subverbs_come_before_operators, "unit") {
    assay_cli_args args;
    REQUIRE_OK(parse("golden verify kronecker", &args));
    CHECK_STREQ(args.subverb, "verify");
    REQUIRE(args.n_targets == 1);
    CHECK_STREQ(args.target[0].op->name, "kronecker");
    assay_cli_args_clear(&args);
}

ASSAY_TEST(cli_args, names_the_word_at_fault_and_the_nearest, "unit") {
    refuses("", "no verb");
    refuses("chekc", "unknown verb \"chekc\"; the nearest is check");
    refuses("check kroneker", "\"kroneker\"; the nearest is kronecker");
    refuses("check kronecker/v9", "variant of kronecker: \"v9\"; the nearest is v");
    refuses("check kronecker/", "variant of kronecker: \"\"");
    refuses("check --jsno=x", "unknown flag \"--jsno\"; the nearest is --json");
    refuses("check -x", "unknown flag \"-x\"");
    refuses("check --set smkoe", "unknown set \"smkoe\"; the nearest is smoke");
    refuses("golden veryfi", "\"veryfi\"; the nearest is verify");
    refuses("check --json", "--json needs a value");
    refuses("check --json --quiet", "--json needs a value");
    refuses("check --json=", "--json needs a value");
    refuses("check --quiet=1", "--quiet takes no value");
    refuses("list --quiet", "list takes no --quiet");
    refuses("check --seed -1", "--seed \"-1\"");
    refuses("check --seed 18446744073709551616", "--seed");
    refuses("check --seed 1x", "--seed \"1x\"");
    refuses("check --random 0", "--random \"0\"");
    refuses("check \x01\x1b[31m", "\"\\x01\\x1b[31m\"");
}

ASSAY_TEST(cli_args, contradictions, "unit") {
    refuses("check kronecker b=1 --set ci", "--set and b=1");
    refuses("check kronecker b=1 --random 3", "--random and b=1");
    refuses("check --set ci --random 3", "--random and --set");
    refuses("check kronecker seed=1 --seed 2", "--seed and seed=");
    refuses("mutants --time 5", "give --sample N as well");
    refuses("check --json x --csv x", "two reports would go to x");
}

ASSAY_TEST(cli_args, edit_distance_is_levenshteins, "unit") {
    CHECK(edit_distance("kitten", "sitting") == 3);
    CHECK(edit_distance("", "abc") == 3);
    CHECK(edit_distance("abc", "") == 3);
    CHECK(edit_distance("same", "same") == 0);
    CHECK(edit_distance("ab", "ba") == 2);
}
