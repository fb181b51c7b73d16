#include "cli/bench_jobs.h"

#include <stdlib.h>
#include <string.h>

typedef struct collector {
    bench_jobs *jobs;
    const assay_cli_args *args;
    const bench_experiment *experiment;
    const cli_selection *selection;
    bool without_v1;
} collector;

/* A case that is sought among an experiment's. */
typedef struct quest {
    char text[ASSAY_CASE_TEXT];
    bool found;
} quest;

static assay_status compare(const assay_case *c, void *context) {
    quest *q = context;
    char text[ASSAY_CASE_TEXT];
    assay_case_format(c, text);
    q->found = q->found || strcmp(text, q->text) == 0;
    return ASSAY_OK;
}

static assay_status collect(const assay_case *c, void *context) {
    const collector *by = context;
    bench_jobs *jobs = by->jobs;
    assay_case seeded = *c;
    if (by->args->seed_given)
        seeded.seed = by->args->seed;
    scope_apply(by->args->scope, &seeded);
    if (jobs->count == jobs->room) {
        const int64_t room = 2 * jobs->room + 16;
        bench_job *more = realloc(jobs->job, (size_t)room * sizeof *more);
        if (!more)
            return assay_fail(ASSAY_ERR_MEMORY, "out of memory for %lld cases", (long long)room);
        jobs->job = more;
        jobs->room = room;
    }
    bench_job *job = &jobs->job[jobs->count++];
    *job = (bench_job){.experiment = by->experiment,
                       .selection = by->selection,
                       .without_v1 = by->without_v1 && by->selection->n_variants == 0};
    assay_case_format(&seeded, job->text);
    return ASSAY_OK;
}

/* Words of a table, split at blanks as the shell does with those that come from it. */
static assay_status visit_group(const assay_op *op, const char *words, assay_case_visitor visit,
                                void *context) {
    enum { MOST = 16 };
    char copy[ASSAY_CASE_TEXT], *rest = copy;
    const char *word[MOST];
    int32_t n = 0;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *next; n < MOST && (next = strtok_r(rest, " ", &rest));)
        word[n++] = next;
    return assay_case_expand(op, word, n, visit, context);
}

/* A case that words name is timed as the experiment that has it would be. */
static assay_status collect_named(const assay_case *c, void *context) {
    collector *by = context;
    quest q = {.found = false};
    assay_status status = ASSAY_OK;
    assay_case_format(c, q.text);
    for (const bench_group *g = by->experiment->group; status == ASSAY_OK && g->words; ++g)
        if (g->without_v1)
            status = visit_group(c->op, g->words, compare, &q);
    by->without_v1 = q.found;
    return status == ASSAY_OK ? collect(c, by) : status;
}

static assay_status collect_experiment(collector *by) {
    assay_status status = ASSAY_OK;
    for (const bench_group *g = by->experiment->group; status == ASSAY_OK && g->words; ++g) {
        by->without_v1 = g->without_v1;
        status = visit_group(by->selection->op, g->words, collect, by);
    }
    return status;
}

/* An operator alone stands for its experiment, or for its bench set where it has none. Words choose
 * cases of their own, in the experiment's stages and with its table. */
static assay_status collect_selection(bench_jobs *jobs, const assay_cli_args *args,
                                      const cli_selection *s) {
    collector by = {.jobs = jobs, .args = args, .selection = s};
    const bool set = args->set_given && !args->seeds;
    if (!set)
        by.experiment = bench_experiment_find(s->op->name);
    if (args->n_words > 0)
        return assay_case_expand(s->op, args->word, args->n_words,
                                 by.experiment ? collect_named : collect, &by);
    if (by.experiment)
        return collect_experiment(&by);
    if (args->seeds)
        return ASSAY_OK;
    return assay_op_visit_set(s->op, set ? args->set : ASSAY_BENCH, collect, &by);
}

assay_status bench_jobs_init(bench_jobs *jobs, const assay_cli_args *args) {
    *jobs = (bench_jobs){0};
    if (args->n_targets == 0 && !args->seeds)
        return assay_fail(ASSAY_ERR_USAGE, "bench: name an operator, or all published experiments "
                                           "by --set seeds");
    assay_status status = cli_cases_select(args, &jobs->cases);
    for (int32_t i = 0; status == ASSAY_OK && i < jobs->cases.n_selections; ++i)
        status = collect_selection(jobs, args, &jobs->cases.selection[i]);
    if (status == ASSAY_OK && jobs->count == 0)
        status = assay_fail(ASSAY_ERR_USAGE, "bench: these words name no case");
    return status;
}

void bench_jobs_clear(bench_jobs *jobs) {
    cli_cases_clear(&jobs->cases);
    free(jobs->job);
    *jobs = (bench_jobs){0};
}

int32_t bench_job_stages(const bench_job *job, const assay_cli_args *args,
                         bench_stage stage[EXPERIMENT_STAGES]) {
    static const bench_stage all[] = {BENCH_FORWARD, BENCH_BACKWARD, BENCH_BOTH};
    const bool usual = !args->stage && job->experiment;
    const bench_stage *from = usual ? job->experiment->stage : all;
    const int32_t count = usual ? job->experiment->n_stages : args->stage ? 3 : 2;
    int32_t n = 0;
    for (int32_t i = 0; i < count; ++i)
        if (!args->stage || strcmp(args->stage, bench_stage_name(from[i])) == 0)
            stage[n++] = from[i];
    return n;
}
