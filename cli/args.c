#include "cli/kernel.h"
#include "cli/nearest.h"
#include "cli/operator.h"
#include "cli/reference.h"
#include "cli/variants.h"
#include "cli/verbs.h"
#include "core/case_parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Names the nearest word where that is likely meant, otherwise `remedy`. */
static assay_status unknown(const char *what, const char *word, const char *nearest,
                            const char *remedy) {
    char quoted[ASSAY_QUOTE];
    const bool near = nearest != NULL && nearest_is_near(word, nearest);
    return assay_fail(ASSAY_ERR_USAGE, "unknown %s %s; %s%s", what,
                      assay_quote(word, strlen(word), quoted), near ? "the nearest is " : "",
                      near ? nearest : remedy);
}

/* ---- values of flags ---- */

static assay_status bad_value(const cli_flag_entry *flag, const char *value, const char *legal) {
    char quoted[ASSAY_QUOTE];
    return assay_fail(ASSAY_ERR_USAGE, "%s %s: must be %s", flag->name,
                      assay_quote(value, strlen(value), quoted), legal);
}

static assay_status parse_count(const cli_flag_entry *flag, const char *value, int64_t *count) {
    char legal[64];
    if (assay_parse_int(value, strlen(value), count) && *count >= 1 &&
        *count <= (int64_t)flag->most)
        return ASSAY_OK;
    snprintf(legal, sizeof legal, "a number in 1..%" PRId64, (int64_t)flag->most);
    return bad_value(flag, value, legal);
}

static assay_status parse_amount(const cli_flag_entry *flag, const char *value, double *amount) {
    char *end, legal[64];
    *amount = strtod(value, &end);
    if (*end == '\0' && *amount > 0 && *amount <= flag->most)
        return ASSAY_OK;
    snprintf(legal, sizeof legal, "a number above 0, at most %.0f", flag->most);
    return bad_value(flag, value, legal);
}

static assay_status parse_seed(const cli_flag_entry *flag, const char *value, uint64_t *seed) {
    errno = 0;
    *seed = strtoull(value, NULL, 10);
    if (value[strspn(value, "0123456789")] == '\0' && errno == 0)
        return ASSAY_OK;
    return bad_value(flag, value, "an integer in 0..18446744073709551615");
}

static assay_status parse_share(const cli_flag_entry *flag, const char *value, cli_share *share) {
    const size_t length = strcspn(value, "/");
    if (value[length] == '/' && assay_parse_int(value, length, &share->part) &&
        assay_parse_int(value + length + 1, strlen(value + length + 1), &share->parts) &&
        share->part >= 1 && share->part <= share->parts)
        return ASSAY_OK;
    return bad_value(flag, value, "I/N, a part I of 1..N");
}

/* One of the names in flag->value, as that has it: "a|b|c". */
static assay_status parse_choice(const cli_flag_entry *flag, const char *value,
                                 const char **chosen) {
    char names[128], *rest = names;
    const char *nearest = NULL;
    *chosen = value;
    snprintf(names, sizeof names, "%s", flag->value);
    for (const char *name; (name = strsep(&rest, "|")) != NULL;) {
        if (strcmp(name, value) == 0)
            return ASSAY_OK;
        nearest_offer(value, name, &nearest);
    }
    char remedy[160];
    snprintf(remedy, sizeof remedy, "give one of %s", flag->value);
    return unknown(flag->name + 2, value, nearest, remedy);
}

static assay_status set_flag(const cli_flag_entry *flag, const char *value, assay_cli_args *args) {
    void *const member = (char *)args + flag->member;
    switch (flag->kind) {
    case CLI_SWITCH:
        *(bool *)member = true;
        return ASSAY_OK;
    case CLI_TEXT:
    case CLI_FILE:
    case CLI_FOLDER:
        *(const char **)member = value;
        return ASSAY_OK;
    case CLI_CHOICE:
        return parse_choice(flag, value, member);
    case CLI_COUNT:
        return parse_count(flag, value, member);
    case CLI_AMOUNT:
        return parse_amount(flag, value, member);
    case CLI_SEED:
        return parse_seed(flag, value, member);
    case CLI_SHARE:
        return parse_share(flag, value, member);
    }
    return ASSAY_OK;
}

/* ---- words ---- */

typedef struct parser {
    char *const *argv;
    int argc, at;
    const cli_verb *verb;      /* NULL until it is known */
    bool seen[CLI_MOST_FLAGS]; /* for each entry of cli_flags */
    assay_cli_args *args;
} parser;

/* "--name", "--name=value" or "--name value". */
static assay_status parse_flag(parser *p, const char *word) {
    const size_t length = strcspn(word, "=");
    int flag = 0;
    while (cli_flags[flag].name != NULL && (strlen(cli_flags[flag].name) != length ||
                                            memcmp(cli_flags[flag].name, word, length) != 0))
        ++flag;
    if (cli_flags[flag].name == NULL) {
        const char *nearest = NULL;
        char *name = strndup(word, length);
        if (name == NULL)
            return assay_fail(ASSAY_ERR_MEMORY, "no memory for the command line");
        for (int i = 0; cli_flags[i].name != NULL; ++i)
            nearest_offer(name, cli_flags[i].name, &nearest);
        const assay_status status =
            unknown("flag", name, nearest, "assay help VERB lists a verb's flags");
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
    p->seen[flag] = true;
    return set_flag(entry, value, p->args);
}

static assay_status parse_verb(parser *p, const char *word) {
    const char *nearest = NULL;
    p->verb = cli_verb_find(word);
    p->args->verb = word;
    for (int i = 0; p->verb == NULL && i < CLI_VERBS; ++i)
        nearest_offer(word, cli_verbs[i].name, &nearest);
    return p->verb != NULL ? ASSAY_OK
                           : unknown("verb", word, nearest, "assay --help lists the verbs");
}

static assay_status parse_subverb(parser *p, const char *word) {
    const char *nearest = NULL;
    p->args->subverb = word;
    for (const char *const *name = p->verb->subverbs; *name != NULL; ++name) {
        if (strcmp(*name, word) == 0)
            return ASSAY_OK;
        nearest_offer(word, *name, &nearest);
    }
    char what[64], remedy[64];
    snprintf(what, sizeof what, "word after %s", p->verb->name);
    snprintf(remedy, sizeof remedy, "assay help %s lists them", p->verb->name);
    return unknown(what, word, nearest, remedy);
}

/* OP or OP/VARIANT, once all operators are there. */
static assay_status resolve(assay_cli_target *target) {
    const char *word = target->variant, *nearest = NULL;
    const size_t length = strcspn(word, "/");
    target->op = assay_op_find(word, length);
    target->variant = word[length] == '/' ? word + length + 1 : NULL;
    if (target->op != NULL)
        return ASSAY_OK;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    for (int32_t i = 0; i < assay_op_count(); ++i)
        nearest_offer(name, assay_op_at(i)->name, &nearest);
    return unknown("operator", name, nearest, "assay list prints the operators");
}

/* --operator's, which stands for itself where no operator is named. */
static assay_status find_operators(const cli_verb *verb, assay_cli_args *args) {
    assay_status status = ASSAY_OK;
    if (args->operator_file != NULL)
        status = cli_operator_load(args);
    if (status == ASSAY_OK && args->reference != NULL)
        status = cli_reference_load(args);
    if (status == ASSAY_OK && args->operator_file != NULL && args->n_targets == 0 &&
        verb->bit != CLI_HELP)
        args->target[args->n_targets++].variant = args->library.op->name;
    for (int32_t i = 0; status == ASSAY_OK && i < args->n_targets; ++i)
        status = resolve(&args->target[i]);
    return status;
}

static assay_status parse_word(parser *p, const char *word) {
    if (p->verb == NULL)
        return parse_verb(p, word);
    if (p->verb->bit == CLI_HELP && p->args->subverb == NULL) {
        p->args->subverb = word;
        return ASSAY_OK;
    }
    if (strchr(word, '=') != NULL) {
        p->args->word[p->args->n_words++] = word;
        return ASSAY_OK;
    }
    if (p->verb->bit == CLI_BUILD && p->args->source == NULL) {
        p->args->source = word;
        return ASSAY_OK;
    }
    if (p->verb->bit == CLI_NEW && p->args->source == NULL && p->args->n_targets == 0 &&
        (p->args->subverb != NULL || strcmp(word, "operator") == 0)) {
        if (p->args->subverb != NULL)
            p->args->source = word; /* its name */
        p->args->subverb = "operator";
        return ASSAY_OK;
    }
    if (p->verb->subverbs != NULL && p->args->subverb == NULL)
        return parse_subverb(p, word);
    p->args->target[p->args->n_targets++].variant = word;
    return ASSAY_OK;
}

/* ---- the whole ---- */

static bool has_word(const assay_cli_args *args, const char *word) {
    for (int32_t i = 0; i < args->n_words; ++i)
        if (strcmp(args->word[i], word) == 0)
            return true;
    return false;
}

static bool has_seed_word(const assay_cli_args *args) {
    for (int32_t i = 0; i < args->n_words; ++i)
        if (strncmp(args->word[i], "seed=", 5) == 0)
            return true;
    return false;
}

/* A variant is one of ours, unless --kernel brings it. */
static assay_status check_targets(const cli_verb *verb, const assay_cli_args *args) {
    const bool any = args->kernel != NULL || verb->bit == CLI_NEW;
    const unsigned callers = CLI_CHECK | CLI_FUZZ | CLI_BENCH;
    for (int32_t i = 0; !any && i < args->n_targets; ++i) {
        const assay_cli_target *target = &args->target[i];
        const char *nearest = NULL;
        const bool own = target->op == args->library.op;
        const bool shown = args->subverb != NULL && strcmp(args->subverb, "show") == 0;
        if (own && !shown && (target->variant != NULL || (verb->bit & callers) != 0))
            return assay_fail(ASSAY_ERR_USAGE,
                              "%s is an operator of your own, of which assay has no kernel: name "
                              "yours, as in %s/mine --kernel FILE",
                              target->op->name, target->op->name);
        if (own || target->variant == NULL || variant_known(target->op, target->variant, &nearest))
            continue;
        char what[64], remedy[64];
        snprintf(what, sizeof what, "variant of %s:", target->op->name);
        snprintf(remedy, sizeof remedy, "assay list %s prints them", target->op->name);
        return unknown(what, target->variant, nearest, remedy);
    }
    if (args->kernel == NULL && args->reference != NULL)
        return assay_fail(ASSAY_ERR_USAGE,
                          "--reference needs --kernel, the file that it judges: FILE.py:FUNCTION");
    if (args->kernel == NULL && args->binding_file != NULL)
        return assay_fail(ASSAY_ERR_USAGE, "--binding needs --kernel, the file that it describes");
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

static bool was_given(const parser *p, const char *name) {
    int i = 0;
    while (strcmp(cli_flags[i].name, name) != 0)
        ++i;
    return p->seen[i];
}

static void name_set(assay_cli_args *args) {
    args->set_given = args->set_name != NULL;
    args->seeds = args->set_given && strcmp(args->set_name, "seeds") == 0;
    for (int s = 0; args->set_given && s < ASSAY_SETS; ++s)
        if (strcmp(args->set_name, assay_set_name((assay_set)s)) == 0)
            args->set = (assay_set)s;
}

/* Whether a word names a layout other than the packed one. */
static bool is_padding(const char *word) {
    return (strncmp(word, "pad=", 4) == 0 && strcmp(word, "pad=0") != 0) ||
           (strncmp(word, "misalign=", 9) == 0 && strcmp(word, "misalign=0") != 0);
}

/* bench times a stage alone, too; checks are of forward, or of both. */
static assay_status name_scope(const cli_verb *verb, assay_cli_args *args) {
    const bool forward = args->stage != NULL && strcmp(args->stage, "forward") == 0;
    if (verb->bit != CLI_BENCH && args->stage != NULL && strcmp(args->stage, "backward") == 0)
        return assay_fail(ASSAY_ERR_USAGE, "--stage backward: backward needs forward's outputs; "
                                           "leave --stage out to judge both");
    args->scope = (check_scope){
        .forward = forward, .packed = args->layout != NULL && strcmp(args->layout, "packed") == 0};
    args->out.scope = args->scope;
    for (int32_t i = 0; args->scope.packed && i < args->n_words; ++i)
        if (is_padding(args->word[i]))
            return assay_fail(ASSAY_ERR_USAGE,
                              "--layout packed and %s contradict each other; give "
                              "one of them",
                              args->word[i]);
    static const char *const packed[] = {"pad=0", "misalign=0"}; /* of all that fuzz draws */
    for (int p = 0; args->scope.packed && verb->bit == CLI_FUZZ && p < 2; ++p)
        if (!has_word(args, packed[p]))
            args->word[args->n_words++] = packed[p];
    return ASSAY_OK;
}

/* Flags that the verb does not know, or that contradict one another. */
static assay_status check_flags(const parser *p) {
    const assay_cli_args *args = p->args;
    for (int i = 0; cli_flags[i].name != NULL; ++i)
        if (p->seen[i] && (cli_flags[i].verbs & p->verb->bit) == 0)
            return assay_fail(ASSAY_ERR_USAGE, "%s takes no %s; see assay help %s", p->verb->name,
                              cli_flags[i].name, p->verb->name);
    if (args->seeds && p->verb->bit != CLI_BENCH)
        return assay_fail(ASSAY_ERR_USAGE, "--set seeds names experiments, which only bench runs");
    if (args->set_given && args->n_words > 0)
        return assay_fail(ASSAY_ERR_USAGE, "--set and %s both name cases; give one of them",
                          args->word[0]);
    if (args->case_file != NULL && (args->set_given || args->n_words > 0 || args->random > 0 ||
                                    args->certify || args->last_failed))
        return assay_fail(ASSAY_ERR_USAGE,
                          "--case-file names the cases itself: give no key=value words, no --set, "
                          "--random, --last-failed or --certify");
    if (args->reference != NULL && (args->operator_file != NULL || args->certify))
        return assay_fail(ASSAY_ERR_USAGE, "--reference is an operator by itself, of which there "
                                           "are no certificates: give no --operator, no --certify");
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
                          "--certify and --rows exclude each other: a case with few "
                          "different rows proves too little");
    if (args->big && args->corpus != NULL)
        return assay_fail(ASSAY_ERR_USAGE,
                          "--big and --corpus exclude each other: tests replay the corpus, "
                          "and cases of --big are too large");
    if (args->last_failed && (args->set_given || args->random > 0 || args->n_words > 0 ||
                              args->certify || args->exclude != NULL))
        return assay_fail(
            ASSAY_ERR_USAGE,
            "--last-failed names the cases itself: give no key=value words, no --set, "
            "--random, --exclude or --certify");
    if (args->certify && (args->fail_fast || args->exclude != NULL))
        return assay_fail(ASSAY_ERR_USAGE, "--certify is for a whole set: give no --fail-fast and "
                                           "no --exclude");
    if (p->verb->bit == CLI_MUTANTS && args->seconds > 0 && args->sample == 0)
        return assay_fail(ASSAY_ERR_USAGE, "--time may end a sample early, not a run of all "
                                           "mutants: give --sample N as well");
    if (args->no_sandbox && args->in_process)
        return assay_fail(ASSAY_ERR_USAGE,
                          "--no-sandbox and --in-process exclude each other; give one of them");
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

/* All that follows is the program's, flags included. */
static void take_program(parser *p, const char *word) {
    const int begin = p->at - (strcmp(word, "--") != 0);
    if (begin < p->argc)
        p->args->program = &p->argv[begin];
    p->at = p->argc;
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
    args->out.color = !args->no_color && (no_color == NULL || *no_color == '\0') && term != NULL &&
                      strcmp(term, "dumb") != 0 && isatty(fileno(args->out.stream));
}

assay_status assay_cli_args_parse(int argc, char *const *argv, assay_cli_args *args) {
    const size_t room = argc > 0 ? (size_t)argc : 1;
    *args = (assay_cli_args){.target = calloc(room + 1, sizeof *args->target),
                             .word = calloc(room + 2, sizeof *args->word),
                             .line = join(argc, argv),
                             .argc = argc,
                             .argv = argv};
    if (args->target == NULL || args->word == NULL || args->line == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the command line");

    parser p = {.argv = argv, .argc = argc, .at = 1, .args = args};
    bool flags_end = false;
    while (p.at < argc) {
        const char *word = argv[p.at++];
        assay_status status = ASSAY_OK;
        if (p.verb != NULL && p.verb->bit == CLI_EXEC &&
            (strcmp(word, "--") == 0 || word[0] != '-'))
            take_program(&p, word);
        else if (!flags_end && strcmp(word, "--") == 0)
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
    name_set(args);
    args->seed_given = was_given(&p, "--seed");
    choose_output(args);
    if (args->help || args->version)
        return ASSAY_OK;
    if (p.verb == NULL)
        return assay_fail(ASSAY_ERR_USAGE, "no verb given; assay --help lists the verbs");
    assay_status status = check_flags(&p);
    if (status == ASSAY_OK)
        status = find_operators(p.verb, args);
    if (status == ASSAY_OK)
        status = check_targets(p.verb, args);
    return status == ASSAY_OK ? name_scope(p.verb, args) : status;
}

void assay_cli_args_clear(assay_cli_args *args) {
    cli_kernel_clear(args);
    cli_operator_clear(args);
    cli_reference_clear(args);
    free(args->target);
    free(args->word);
    free(args->line);
    *args = (assay_cli_args){0};
}
