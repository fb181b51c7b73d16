#include "bench/result.h"
#include "cli/cli.h"
#include "cli/nearest.h"
#include "cli/variants.h"
#include "cli/verbs.h"
#include "core/case_parse.h"
#include "engine/sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static assay_status unknown(const char *what, const char *word, const char *nearest) {
    char quoted[ASSAY_QUOTE];
    return assay_fail(ASSAY_ERR_USAGE, "unknown %s %s; the nearest is %s", what,
                      assay_quote(word, strlen(word), quoted), nearest);
}

/* ---- values of flags ---- */

static assay_status bad_value(cli_flag flag, const char *value, const char *legal) {
    char quoted[ASSAY_QUOTE];
    return assay_fail(ASSAY_ERR_USAGE, "%s %s: must be %s", cli_flags[flag].name,
                      assay_quote(value, strlen(value), quoted), legal);
}

static assay_status parse_seed(const char *value, assay_cli_args *args) {
    errno = 0;
    args->seed = strtoull(value, NULL, 10);
    args->seed_given = true;
    if (value[strspn(value, "0123456789")] != '\0' || errno != 0)
        return bad_value(FLAG_SEED, value, "an integer in 0..18446744073709551615");
    return ASSAY_OK;
}

static assay_status parse_random(const char *value, assay_cli_args *args) {
    enum { MOST = 1000000 };
    if (!assay_parse_int(value, strlen(value), &args->random) || args->random < 1 ||
        args->random > MOST)
        return bad_value(FLAG_RANDOM, value, "a number of cases in 1..1000000");
    return ASSAY_OK;
}

static assay_status parse_count(cli_flag flag, const char *value, int64_t *count) {
    if (!assay_parse_int(value, strlen(value), count) || *count < 1 || *count > 1000000)
        return bad_value(flag, value, "a number in 1..1000000");
    return ASSAY_OK;
}

static assay_status parse_rows(const char *value, assay_cli_args *args) {
    if (!assay_parse_int(value, strlen(value), &args->rows) || args->rows < 1 ||
        args->rows > SAMPLE_MOST_ROWS)
        return bad_value(FLAG_ROWS, value, "a number in 1..4096");
    return ASSAY_OK;
}

static assay_status parse_cases(const char *value, assay_cli_args *args) {
    if (!assay_parse_int(value, strlen(value), &args->cases) || args->cases < 1 ||
        args->cases > INT64_C(1000000000000))
        return bad_value(FLAG_CASES, value, "a number in 1..1000000000000");
    return ASSAY_OK;
}

static assay_status parse_shard(const char *value, assay_cli_args *args) {
    const size_t length = strcspn(value, "/");
    if (value[length] != '/' || !assay_parse_int(value, length, &args->shard) ||
        !assay_parse_int(value + length + 1, strlen(value + length + 1), &args->shards) ||
        args->shard < 1 || args->shard > args->shards)
        return bad_value(FLAG_SHARD, value, "I/N, a part I of 1..N");
    return ASSAY_OK;
}

static assay_status parse_limit(cli_flag flag, const char *value, double *limit) {
    char *end;
    *limit = strtod(value, &end);
    if (*end != '\0' || !(*limit > 0 && *limit <= 1e6))
        return bad_value(flag, value, "a number above 0, at most 1e6");
    return ASSAY_OK;
}

static assay_status parse_set(const char *value, assay_cli_args *args) {
    const char *nearest = NULL;
    args->set_given = true;
    args->seeds = strcmp(value, "seeds") == 0;
    if (args->seeds)
        return ASSAY_OK;
    for (int s = 0; s < ASSAY_SETS; ++s) {
        args->set = (assay_set)s;
        if (strcmp(value, assay_set_name(args->set)) == 0)
            return ASSAY_OK;
        nearest_offer(value, assay_set_name(args->set), &nearest);
    }
    return unknown("set", value, nearest);
}

static assay_status parse_stage(const char *value, assay_cli_args *args) {
    args->stage = value;
    for (bench_stage s = BENCH_FORWARD; s <= BENCH_BOTH; ++s)
        if (strcmp(value, bench_stage_name(s)) == 0)
            return ASSAY_OK;
    return bad_value(FLAG_STAGE, value, cli_flags[FLAG_STAGE].value);
}

static assay_status set_flag(cli_flag flag, const char *value, assay_cli_args *args) {
    switch (flag) {
    case FLAG_DEVICE:
        args->device = value;
        return ASSAY_OK;
    case FLAG_SEED:
        return parse_seed(value, args);
    case FLAG_SET:
        return parse_set(value, args);
    case FLAG_RANDOM:
        return parse_random(value, args);
    case FLAG_ROWS:
        return parse_rows(value, args);
    case FLAG_BIG:
        args->big = true;
        return ASSAY_OK;
    case FLAG_JSON:
        args->json = value;
        return ASSAY_OK;
    case FLAG_CSV:
        args->csv = value;
        return ASSAY_OK;
    case FLAG_JUNIT:
        args->junit = value;
        return ASSAY_OK;
    case FLAG_MARKDOWN:
        args->markdown = value;
        return ASSAY_OK;
    case FLAG_TRACE:
        args->trace = value;
        return ASSAY_OK;
    case FLAG_FILE:
        args->file = value;
        return ASSAY_OK;
    case FLAG_IN:
        args->input = value;
        return ASSAY_OK;
    case FLAG_OUT:
        args->output = value;
        return ASSAY_OK;
    case FLAG_KERNEL:
        args->kernel = value;
        return ASSAY_OK;
    case FLAG_CERTIFY:
        args->certify = true;
        return ASSAY_OK;
    case FLAG_IN_PROCESS:
        args->in_process = true;
        return ASSAY_OK;
    case FLAG_TIME_LIMIT:
        return parse_limit(flag, value, &args->time_limit);
    case FLAG_MEMORY_LIMIT:
        return parse_limit(flag, value, &args->memory_limit);
    case FLAG_ORACLES:
        args->oracles = true;
        return ASSAY_OK;
    case FLAG_GOLDEN:
        args->golden = true;
        return ASSAY_OK;
    case FLAG_SAMPLE:
        return parse_count(flag, value, &args->sample);
    case FLAG_SHARD:
        return parse_shard(value, args);
    case FLAG_JOBS:
        return parse_count(flag, value, &args->jobs);
    case FLAG_RESUME:
        args->resume = value;
        return ASSAY_OK;
    case FLAG_SURVIVORS:
        args->survivors = value;
        return ASSAY_OK;
    case FLAG_UNDER:
        args->under = value;
        return ASSAY_OK;
    case FLAG_TIME:
        return parse_limit(flag, value, &args->seconds);
    case FLAG_CASES:
        return parse_cases(value, args);
    case FLAG_FINDINGS:
        args->findings = value;
        return ASSAY_OK;
    case FLAG_CORPUS:
        args->corpus = value;
        return ASSAY_OK;
    case FLAG_NO_GUIDE:
        args->no_guide = true;
        return ASSAY_OK;
    case FLAG_FIRST:
        args->first = true;
        return ASSAY_OK;
    case FLAG_AT_LEAST:
        return parse_limit(flag, value, &args->at_least);
    case FLAG_PEERS:
        args->peers = value;
        return ASSAY_OK;
    case FLAG_STAGE:
        return parse_stage(value, args);
    case FLAG_SAMPLES:
        return parse_count(flag, value, &args->samples);
    case FLAG_REPORT:
        args->report = value;
        return ASSAY_OK;
    case FLAG_MERGE:
        args->merge = value;
        break;
    case FLAG_COMPARE:
        args->compare = value;
        return ASSAY_OK;
    case FLAG_NO_RUN:
        args->no_run = true;
        return ASSAY_OK;
    case FLAG_QUIET:
        args->quiet = true;
        return ASSAY_OK;
    case FLAG_VERBOSE:
        args->verbose = true;
        return ASSAY_OK;
    case FLAG_NO_COLOR:
        args->no_color = true;
        return ASSAY_OK;
    case FLAG_HELP:
        args->help = true;
        return ASSAY_OK;
    case FLAG_VERSION:
        args->version = true;
        return ASSAY_OK;
    }
    return ASSAY_OK;
}

/* ---- words ---- */

typedef struct parser {
    char *const *argv;
    int argc, at;
    const cli_verb *verb; /* NULL until it is known */
    uint64_t seen;        /* mask of CLI_FLAG_BIT */
    assay_cli_args *args;
} parser;

/* "--name", "--name=value" or "--name value". */
static assay_status parse_flag(parser *p, const char *word) {
    const size_t length = strcspn(word, "=");
    int flag = 0;
    while (flag < CLI_FLAGS && (strlen(cli_flags[flag].name) != length ||
                                memcmp(cli_flags[flag].name, word, length) != 0))
        ++flag;
    if (flag == CLI_FLAGS) {
        const char *nearest = NULL;
        char *name = strndup(word, length);
        if (name == NULL)
            return assay_fail(ASSAY_ERR_MEMORY, "no memory for the command line");
        for (int i = 0; i < CLI_FLAGS; ++i)
            nearest_offer(name, cli_flags[i].name, &nearest);
        const assay_status status = unknown("flag", name, nearest);
        free(name);
        return status;
    }
    const cli_flag_entry *entry = &cli_flags[flag];
    const char *value = word[length] == '=' ? word + length + 1 : NULL;
    if (entry->value == NULL && value != NULL)
        return assay_fail(ASSAY_ERR_USAGE, "%s takes no value", entry->name);
    if (entry->value != NULL && value == NULL && p->at < p->argc &&
        strncmp(p->argv[p->at], "--", 2) != 0)
        value = p->argv[p->at++];
    if (entry->value != NULL && (value == NULL || *value == '\0'))
        return assay_fail(ASSAY_ERR_USAGE, "%s needs a value: %s", entry->name, entry->value);
    p->seen |= CLI_FLAG_BIT(flag);
    return set_flag((cli_flag)flag, value, p->args);
}

static assay_status parse_verb(parser *p, const char *word) {
    const char *nearest = NULL;
    p->verb = cli_verb_find(word);
    p->args->verb = word;
    for (int i = 0; p->verb == NULL && i < CLI_VERBS; ++i)
        nearest_offer(word, cli_verbs[i].name, &nearest);
    return p->verb != NULL ? ASSAY_OK : unknown("verb", word, nearest);
}

static assay_status parse_subverb(parser *p, const char *word) {
    const char *nearest = NULL;
    p->args->subverb = word;
    for (const char *const *name = p->verb->subverbs; *name != NULL; ++name) {
        if (strcmp(*name, word) == 0)
            return ASSAY_OK;
        nearest_offer(word, *name, &nearest);
    }
    char what[64];
    snprintf(what, sizeof what, "word after %s", p->verb->name);
    return unknown(what, word, nearest);
}

/* OP or OP/VARIANT. */
static assay_status parse_target(parser *p, const char *word) {
    const size_t length = strcspn(word, "/");
    const assay_op *op = assay_op_find(word, length);
    const char *nearest = NULL;
    if (op == NULL) {
        for (int32_t i = 0; i < assay_op_count(); ++i)
            nearest_offer(word, assay_op_at(i)->name, &nearest);
        return unknown("operator", word, nearest);
    }
    const char *variant = word[length] == '/' ? word + length + 1 : NULL;
    p->args->target[p->args->n_targets++] = (assay_cli_target){op, variant};
    return ASSAY_OK;
}

static assay_status parse_word(parser *p, const char *word) {
    if (p->verb == NULL)
        return parse_verb(p, word);
    if (strchr(word, '=') != NULL) {
        p->args->word[p->args->n_words++] = word;
        return ASSAY_OK;
    }
    if (p->verb->subverbs != NULL && p->args->subverb == NULL)
        return parse_subverb(p, word);
    return parse_target(p, word);
}

/* ---- the whole ---- */

static bool has_seed_word(const assay_cli_args *args) {
    for (int32_t i = 0; i < args->n_words; ++i)
        if (strncmp(args->word[i], "seed=", 5) == 0)
            return true;
    return false;
}

/* A variant is one of ours, unless --kernel brings it. */
static assay_status check_targets(const assay_cli_args *args) {
    for (int32_t i = 0; args->kernel == NULL && i < args->n_targets; ++i) {
        const assay_cli_target *target = &args->target[i];
        const char *nearest = NULL;
        if (target->variant == NULL || variant_known(target->op, target->variant, &nearest))
            continue;
        char what[64];
        snprintf(what, sizeof what, "variant of %s:", target->op->name);
        return unknown(what, target->variant, nearest);
    }
    if (args->kernel == NULL)
        return ASSAY_OK;
    if (args->n_targets != 1 || args->target[0].variant == NULL)
        return assay_fail(ASSAY_ERR_USAGE,
                          "--kernel needs one OP/VARIANT, the one that the file defines");
    if (args->in_process)
        return assay_fail(
            ASSAY_ERR_USAGE,
            "--kernel and --in-process: a file's kernel runs in a process of its own");
    return ASSAY_OK;
}

/* Flags that the verb does not know, or that contradict one another. */
static assay_status check_flags(const parser *p) {
    const assay_cli_args *args = p->args;
    for (int i = 0; p->verb != NULL && i < CLI_FLAGS; ++i)
        if ((p->seen & ~p->verb->flags) >> i & 1u)
            return assay_fail(ASSAY_ERR_USAGE, "%s takes no %s; see assay help %s", p->verb->name,
                              cli_flags[i].name, p->verb->name);
    if (args->seeds && p->verb != NULL && strcmp(p->verb->name, "bench") != 0)
        return assay_fail(ASSAY_ERR_USAGE, "--set seeds are experiments, which only bench has");
    if (args->set_given && args->n_words > 0)
        return assay_fail(ASSAY_ERR_USAGE, "--set and %s both name cases; give one of them",
                          args->word[0]);
    if (args->random > 0 && (args->set_given || args->n_words > 0))
        return assay_fail(ASSAY_ERR_USAGE, "--random and %s both name cases; give one of them",
                          args->set_given ? "--set" : args->word[0]);
    if (args->seed_given && has_seed_word(args))
        return assay_fail(ASSAY_ERR_USAGE, "--seed and seed= both name the seed; give one of them");

    if (args->certify && (args->random > 0 || args->n_words > 0 || args->seed_given))
        return assay_fail(ASSAY_ERR_USAGE, "--certify is for a whole set, with its own seeds: give "
                                           "no cases, and no --random or --seed");
    if (args->certify && (args->set == ASSAY_EDGE || args->set == ASSAY_BENCH))
        return assay_fail(ASSAY_ERR_USAGE,
                          "--certify --set %s: only smoke, ci and nightly prove "
                          "numbers in full",
                          assay_set_name(args->set));
    if (args->certify && args->rows > 0)
        return assay_fail(ASSAY_ERR_USAGE,
                          "--certify and --rows: cases of few different rows are no proof");
    if (args->big && args->corpus != NULL)
        return assay_fail(ASSAY_ERR_USAGE,
                          "--big and --corpus: the corpus is replayed in full, which no such case "
                          "can be");
    if (args->certify && args->in_process)
        return assay_fail(ASSAY_ERR_USAGE,
                          "--certify and --in-process: only a variant in a process of its own can "
                          "be certified");

    const char *const files[] = {args->json, args->csv, args->junit, args->markdown, args->trace};
    for (int i = 0; i < 5; ++i)
        for (int j = 0; j < i; ++j)
            if (files[i] != NULL && files[j] != NULL && strcmp(files[i], files[j]) == 0)
                return assay_fail(ASSAY_ERR_USAGE, "two reports would go to %s; name two files",
                                  files[i]);
    return ASSAY_OK;
}

/* The words as they came, the program by its name alone. */
static char *join(int argc, char *const *argv) {
    size_t room = sizeof "assay";
    for (int i = 1; i < argc; ++i)
        room += strlen(argv[i]) + 1;
    char *line = malloc(room), *end = line;
    if (line == NULL)
        return NULL;
    end = stpcpy(end, "assay");
    for (int i = 1; i < argc; ++i) {
        *end++ = ' ';
        end = stpcpy(end, argv[i]);
    }
    return line;
}

static bool is_stdout(const char *path) {
    return path != NULL && strcmp(path, "-") == 0;
}

static void choose_output(assay_cli_args *args) {
    const bool taken = is_stdout(args->json) || is_stdout(args->csv) || is_stdout(args->junit) ||
                       is_stdout(args->markdown) || is_stdout(args->trace);
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    args->out.stream = taken ? stderr : stdout;
    args->out.color = !args->no_color && (no_color == NULL || *no_color == '\0') &&
                      (term == NULL || strcmp(term, "dumb") != 0) &&
                      isatty(fileno(args->out.stream));
}

assay_status assay_cli_args_parse(int argc, char *const *argv, assay_cli_args *args) {
    const size_t room = argc > 0 ? (size_t)argc : 1;
    *args = (assay_cli_args){.target = calloc(room, sizeof *args->target),
                             .word = calloc(room, sizeof *args->word),
                             .line = join(argc, argv)};
    if (args->target == NULL || args->word == NULL || args->line == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the command line");

    parser p = {.argv = argv, .argc = argc, .at = 1, .args = args};
    bool flags_end = false;
    while (p.at < argc) {
        const char *word = argv[p.at++];
        assay_status status = ASSAY_OK;
        if (!flags_end && strcmp(word, "--") == 0)
            flags_end = true;
        else if (!flags_end && strcmp(word, "-h") == 0)
            args->help = true;
        else if (!flags_end && word[0] == '-')
            status = parse_flag(&p, word);
        else
            status = parse_word(&p, word);
        if (status != ASSAY_OK)
            return status;
    }
    choose_output(args);
    if (args->help || args->version)
        return ASSAY_OK;
    if (p.verb == NULL)
        return assay_fail(ASSAY_ERR_USAGE, "no verb; assay --help tells which there are");
    const assay_status status = check_targets(args);
    return status == ASSAY_OK ? check_flags(&p) : status;
}

void assay_cli_args_clear(assay_cli_args *args) {
    free(args->target);
    free(args->word);
    free(args->line);
    *args = (assay_cli_args){0};
}
