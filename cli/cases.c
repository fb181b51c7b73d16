#include "cli/cases.h"
#include "cli/certify.h"
#include "cli/text_file.h"
#include "cli/variants.h"
#include "engine/random.h"
#include "fuzz/search/sets.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static assay_status no_memory(void) {
    return assay_fail(ASSAY_ERR_MEMORY, "no memory for the cases; ask for fewer");
}

/* ---- operators ---- */

static cli_selection *select_op(cli_cases *cases, const assay_op *op) {
    int32_t i = 0;
    while (i < cases->n_selections && cases->selection[i].op != op)
        ++i;
    if (i == cases->n_selections)
        cases->selection[cases->n_selections++].op = op;
    return &cases->selection[i];
}

static bool has_variant(const cli_selection *s, const char *name) {
    for (int32_t i = 0; i < s->n_variants; ++i)
        if (strcmp(s->variant[i], name) == 0)
            return true;
    return false;
}

/* kronecker/v1 kronecker means kronecker. */
static bool wants_all(const assay_cli_args *args, const assay_op *op) {
    for (int32_t i = 0; i < args->n_targets; ++i)
        if (args->target[i].op == op && args->target[i].variant == NULL)
            return true;
    return false;
}

assay_status cli_cases_select(const assay_cli_args *args, cli_cases *cases) {
    const int32_t most = args->n_targets > 0 ? args->n_targets : assay_op_count();
    cases->selection = calloc((size_t)most, sizeof *cases->selection);
    if (cases->selection == NULL)
        return no_memory();
    for (int32_t i = 0; args->n_targets == 0 && i < most; ++i)
        select_op(cases, assay_op_at(i));
    for (int32_t i = 0; i < args->n_targets; ++i) {
        const assay_cli_target *t = &args->target[i];
        cli_selection *s = select_op(cases, t->op);
        if (s->variant == NULL)
            s->variant = calloc((size_t)most, sizeof *s->variant);
        if (s->variant == NULL)
            return no_memory();
        if (!wants_all(args, t->op) && !has_variant(s, t->variant))
            s->variant[s->n_variants++] = t->variant;
    }
    return ASSAY_OK;
}

/* ---- their cases ---- */

typedef struct collector {
    cli_cases *cases;
    const cli_selection *selection;
    const assay_cli_args *args;
    bool secret, drawn;
} collector;

/* Cases that differ in their layout alone are one when all are packed. */
static bool has_case(const cli_cases *cases, const cli_selection *s, const char *text) {
    for (int64_t i = cases->n_jobs; i > 0 && cases->job[i - 1].selection == s; --i)
        if (strcmp(cases->job[i - 1].text, text) == 0)
            return true;
    return false;
}

static assay_status collect(const assay_case *c, void *context) {
    const collector *to = context;
    cli_cases *cases = to->cases;
    assay_case seeded = *c;
    char text[ASSAY_CASE_TEXT];
    if (to->args->seed_given && to->args->random == 0 && !to->drawn)
        seeded.seed = to->args->seed;
    scope_apply(to->args->scope, &seeded);
    assay_case_format(&seeded, text);
    if (to->args->scope.packed && has_case(cases, to->selection, text))
        return ASSAY_OK;
    if (cases->n_jobs == cases->room) {
        const int64_t room = 2 * cases->room + 64;
        cli_job *job = realloc(cases->job, (size_t)room * sizeof *job);
        if (job == NULL)
            return no_memory();
        cases->job = job;
        cases->room = room;
    }
    cli_job *job = &cases->job[cases->n_jobs];
    *job = (cli_job){to->selection, to->secret, to->drawn, strdup(text)};
    if (job->text == NULL)
        return no_memory();
    ++cases->n_jobs;
    return ASSAY_OK;
}

static assay_status collect_drawn(const assay_case *c, void *context) {
    collector *to = context;
    to->drawn = true;
    const assay_status status = collect(c, to);
    to->drawn = false;
    return status;
}

/* The simulated device's variants stand for all: what they say of their tiles is in the source. */
static assay_status collect_set(collector *to) {
    const assay_device *sim;
    const cli_selection *s = to->selection;
    const assay_status status = assay_device_open("sim", &sim);
    return status == ASSAY_OK ? fuzz_set_visit(s->op, to->args->set, sim, s->variant, s->n_variants,
                                               to->args->seed, collect, collect_drawn, to)
                              : status;
}

/* Cases that no kernel can have been made to pass: they are not known before they run. */
static assay_status add_secrets(collector *to) {
    uint64_t seed;
    const assay_op *op = to->selection->op;
    random_wish wish = random_any(op);
    assay_status status = ASSAY_OK;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        return assay_fail(ASSAY_ERR_FILE,
                          "the system gives no random numbers, which secret cases need");
    to->secret = true;
    for (int d = 0; d < ASSAY_DTYPES; ++d)
        for (int64_t i = 0; i < CERTIFY_SECRETS && status == ASSAY_OK; ++i) {
            assay_case c;
            wish.dtypes = op->dtypes & ASSAY_DTYPE_BIT(d);
            if (wish.dtypes == 0)
                break;
            status = random_case(op, &wish, seed, d * CERTIFY_SECRETS + i, &c);
            if (status == ASSAY_OK)
                status = collect(&c, to);
        }
    return status;
}

/* Lines as `assay list` prints them. Those of other operators are not for this command. */
static assay_status collect_lines(const char *path, char *text, collector *to) {
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        assay_case c;
        assay_status status = assay_case_parse(line, &c);
        if (status == ASSAY_OK && c.op == to->selection->op)
            status = collect(&c, to);
        if (status != ASSAY_OK) {
            char said[512];
            snprintf(said, sizeof said, "%s", assay_error());
            return assay_fail(status, "%.200s: %s", path, said);
        }
    }
    return ASSAY_OK;
}

static assay_status collect_file(const char *path, collector *to) {
    enum { MOST = 64 << 20 };
    char *text;
    size_t size;
    assay_status status = text_file_read(path, "list of cases", MOST, &text, &size);
    if (status == ASSAY_OK && text == NULL)
        return assay_fail(ASSAY_ERR_FILE, "%.300s: no such file", path);
    if (status == ASSAY_OK)
        status = collect_lines(path, text, to);
    free(text);
    return status;
}

/* Whether the words give a size, a key without which there is no case. */
static bool give_a_size(const assay_cli_args *args, const assay_op *op) {
    for (int32_t k = 0; k < op->n_keys; ++k) {
        const size_t length = strlen(op->keys[k].name);
        for (int32_t w = 0; op->keys[k].fallback == NULL && w < args->n_words; ++w)
            if (strncmp(args->word[w], op->keys[k].name, length) == 0 &&
                args->word[w][length] == '=')
                return true;
    }
    return false;
}

/* Words are no filter of a set's cases, though they may be meant so. */
static assay_status expand(const assay_cli_args *args, const assay_op *op, collector *to) {
    const assay_status status = assay_case_expand(op, args->word, args->n_words, collect, to);
    char line[512];
    if (status != ASSAY_ERR_USAGE)
        return status;
    snprintf(line, sizeof line, "%s", assay_error());
    if (strcmp(args->verb, "check") != 0 || give_a_size(args, op) ||
        strstr(line, " is missing: ") == NULL)
        return status;
    return assay_fail(status,
                      "%s; words make cases of their own, so give sizes, too, or leave cases of a "
                      "set out: --exclude '*dtype=f64*'",
                      line);
}

assay_status cli_cases_gather(const assay_cli_args *args, cli_cases *cases) {
    *cases = (cli_cases){0};
    if (args->n_words > 0 && args->n_targets == 0)
        return assay_fail(ASSAY_ERR_USAGE, "%s belongs to no operator; name one before it",
                          args->word[0]);
    assay_status status = cli_cases_select(args, cases);
    for (int32_t i = 0; status == ASSAY_OK && i < cases->n_selections; ++i) {
        collector to = {.cases = cases, .selection = &cases->selection[i], .args = args};
        const assay_op *op = to.selection->op;
        if (args->case_file != NULL)
            status = collect_file(args->case_file, &to);
        else if (args->random > 0)
            status = random_cases(op, args->seed, args->random, collect, &to);
        else if (args->n_words > 0)
            status = expand(args, op, &to);
        else
            status = collect_set(&to);
        if (status == ASSAY_OK && args->certify)
            status = add_secrets(&to);
    }
    return status;
}

assay_status cli_cases_choose_one(const assay_cli_args *args, assay_case *c) {
    cli_cases cases = {0};
    assay_status status = cli_cases_gather(args, &cases);
    if (status == ASSAY_OK && cases.n_jobs != 1)
        status = assay_fail(ASSAY_ERR_USAGE,
                            "%s takes one case, and these words name %" PRId64 "; name one",
                            args->verb, cases.n_jobs);
    if (status == ASSAY_OK)
        status = assay_case_parse(cases.job[0].text, c);
    if (status == ASSAY_OK)
        scope_apply(args->scope, c);
    cli_cases_clear(&cases);
    return status;
}

/* ---- what is left out ---- */

static bool matches_any(const char *patterns, const char *text) {
    char pattern[ASSAY_CASE_TEXT];
    while (*patterns != '\0') {
        const size_t length = strcspn(patterns, ",");
        if (length < sizeof pattern) {
            memcpy(pattern, patterns, length);
            pattern[length] = '\0';
            if (fnmatch(pattern, text, 0) == 0)
                return true;
        }
        patterns += length + (patterns[length] == ',');
    }
    return false;
}

/* Names the variants that stay; *none: all of them are left out. */
static assay_status exclude_variants(const char *patterns, cli_selection *s, bool *none) {
    int32_t count = 0, kept = 0;
    while (s->n_variants == 0 && variant_name(s->op, count) != NULL)
        ++count;
    const bool all = s->n_variants == 0;
    const char **names = all ? calloc((size_t)count + 1, sizeof *names) : s->variant;
    if (names == NULL)
        return no_memory();
    for (int32_t v = 0; v < (all ? count : s->n_variants); ++v) {
        const char *name = all ? variant_name(s->op, v) : s->variant[v];
        char text[128];
        snprintf(text, sizeof text, "%s/%s", s->op->name, name);
        if (!matches_any(patterns, text))
            names[kept++] = name;
    }
    *none = kept == 0;
    if (all && kept == count) { /* nothing is left out: all, whatever the device has */
        free(names);
        return ASSAY_OK;
    }
    if (all)
        free(s->variant);
    s->variant = names;
    s->n_variants = kept;
    return ASSAY_OK;
}

assay_status cli_cases_exclude(const char *patterns, cli_cases *cases) {
    int64_t kept = 0;
    for (int32_t i = 0; i < cases->n_selections; ++i) {
        cli_selection *s = &cases->selection[i];
        bool none = false;
        const assay_status status = exclude_variants(patterns, s, &none);
        if (status != ASSAY_OK)
            return status;
        s->excluded = none || matches_any(patterns, s->op->name);
    }
    for (int64_t i = 0; i < cases->n_jobs; ++i) {
        cli_job *job = &cases->job[i];
        if (job->selection->excluded || matches_any(patterns, job->text))
            free(job->text);
        else
            cases->job[kept++] = *job;
    }
    cases->n_jobs = kept;
    return ASSAY_OK;
}

void cli_cases_clear(cli_cases *cases) {
    for (int32_t i = 0; i < cases->n_selections; ++i)
        free(cases->selection[i].variant);
    for (int64_t i = 0; i < cases->n_jobs; ++i)
        free(cases->job[i].text);
    free(cases->selection);
    free(cases->job);
    free(cases->text);
    *cases = (cli_cases){0};
}
