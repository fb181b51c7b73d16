/* assay fuzz */
#include "cli/fuzz.h"
#include "core/clock.h"
#include "device/choose.h"
#include "fuzz/search/big.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

/* Of one run; of a variant's own memory; of the search where nothing is said. */
static const double run_seconds = 60, run_gib = 8, default_seconds = 60;

/* Multiply-adds of a case, about: some milliseconds, on a GPU those of the oracle. */
static const double sim_budget = FUZZ_SIM_BUDGET, cuda_budget = 1048576;

/* Cases of one operator in a row: a guest takes some milliseconds to start. */
enum { STRETCH = 16 };

/* ---- devices ---- */

static void tell_gpu(const fuzz_campaign *f) {
    const char *list = getenv(ASSAY_GPUS);
    fprintf(f->args->out.stream, ASSAY_GPUS "%s%s\n", list != NULL ? "=" : " is not set: the first",
            list != NULL ? list : "");
}

/* This process's GPU is chosen before any other is started, so that all of them have the same. */
static assay_status choose_device(fuzz_campaign *f) {
    const assay_device *device;
    const assay_status status = assay_gpu_take();
    if (status != ASSAY_OK)
        return status;
    f->device = f->args->device;
    if (f->device == NULL)
        f->device = assay_cli_capability() > 0 ? "cuda" : "sim";
    const bool cuda = strcmp(f->device, "cuda") == 0;
    f->simulated = !cuda;
    f->twin = cuda && f->args->kernel == NULL ? "sim" : NULL;
    if (cuda && f->args->verbose)
        tell_gpu(f);
    return cuda ? ASSAY_OK : assay_device_open(f->device, &device);
}

/* ---- the campaign ---- */

static assay_status no_memory(void) {
    return assay_fail(ASSAY_ERR_MEMORY, "no memory for the campaign");
}

bool fuzz_names_cases(const assay_cli_args *args) {
    for (int32_t i = 0; i < args->n_words; ++i)
        if (strncmp(args->word[i], "seed=", 5) == 0)
            return true;
    return false;
}

static assay_status make_targets(fuzz_campaign *f) {
    const assay_cli_args *args = f->args;
    const size_t count = (size_t)f->cases.n_selections;
    const assay_device *table; /* the same kernels for either device, and no context */
    f->target = calloc(count, sizeof *f->target);
    f->source = calloc(count, sizeof *f->source);
    if (f->target == NULL || f->source == NULL)
        return no_memory();
    const assay_status status = assay_device_open("sim", &table);
    for (size_t i = 0; status == ASSAY_OK && i < count; ++i) {
        const cli_selection *s = &f->cases.selection[i];
        f->target[i] =
            (fuzz_target){.op = s->op, .variant = s->variant, .n_variants = s->n_variants};
        f->source[i] = (fuzz_source){.op = s->op,
                                     .seed = args->seed,
                                     .budget = f->simulated ? sim_budget : cuda_budget,
                                     .fixed = args->word,
                                     .n_fixed = args->n_words,
                                     .sampled = f->rows > 0,
                                     .big = args->big};
        fuzz_source_edges(&f->source[i], table, s->variant, s->n_variants);
    }
    return status;
}

/* Only operators whose rows stand alone; those that were not named are left out. */
static assay_status choose_rows(fuzz_campaign *f) {
    const assay_cli_args *args = f->args;
    cli_cases *cases = &f->cases;
    int32_t kept = 0;
    f->rows = args->rows > 0 ? args->rows : args->big ? FUZZ_BIG_ROWS : 0;
    if (f->rows == 0)
        return ASSAY_OK;
    for (int32_t i = 0; i < cases->n_selections; ++i) {
        const assay_op *op = cases->selection[i].op;
        if (!op->by_rows && (args->n_targets > 0 || fuzz_names_cases(args)))
            return assay_fail(ASSAY_ERR_USAGE,
                              "%s: the rows of its results depend on each other; leave it out, "
                              "or --rows and --big",
                              op->name);
        if (op->by_rows)
            cases->selection[kept++] = cases->selection[i];
        else
            free(cases->selection[i].variant);
    }
    cases->n_selections = kept;
    return ASSAY_OK;
}

static assay_status check_big(const fuzz_campaign *f) {
    if (f->args->big && f->simulated)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "--big is for a GPU: 2^31 elements take hours on %s; --rows checks "
                          "small cases in the same way",
                          f->device);
    return ASSAY_OK;
}

/* Words that fit no case show before any work. */
static assay_status try_words(const fuzz_campaign *f) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < f->cases.n_selections; ++i) {
        assay_case c;
        status = fuzz_source_draw(&f->source[i], 0, &c);
    }
    return status;
}

static void isolate_how(fuzz_campaign *f) {
    const assay_cli_args *args = f->args;
    const assay_cli_target *target = args->kernel != NULL ? &args->target[0] : NULL;
    f->how = (assay_isolation){
        .kernel = args->kernel,
        .open = args->no_sandbox,
        .source = args->kernel_words,
        .python = args->python,
        .binding = args->binding,
        .op = target != NULL ? target->op->name : NULL,
        .variant = target != NULL ? target->variant : NULL,
        .seconds = args->time_limit > 0 ? args->time_limit : run_seconds,
        .gib = args->memory_limit > 0 ? args->memory_limit : run_gib,
        .together = !f->simulated && args->kernel == NULL,
    };
}

void fuzz_describe(const fuzz_campaign *f, int64_t shard, char about[FUZZ_ABOUT]) {
    const char *kernel = f->args->kernel_words;
    size_t used = (size_t)snprintf(
        about, FUZZ_ABOUT, "seed %" PRIu64 " share %" PRId64 "/%" PRId64 " %s %s%s%s",
        f->args->seed, shard + 1, f->shards, f->args->no_guide ? "unguided" : "guided", f->device,
        kernel != NULL ? " " : "", kernel != NULL ? kernel : "");
    if (f->rows > 0 && used < FUZZ_ABOUT)
        used += (size_t)snprintf(about + used, FUZZ_ABOUT - used, " rows %" PRId64 "%s", f->rows,
                                 f->args->big ? " big" : "");
    if (*scope_words(f->args->scope) != '\0' && used < FUZZ_ABOUT)
        used +=
            (size_t)snprintf(about + used, FUZZ_ABOUT - used, " %s", scope_words(f->args->scope));
    for (int32_t i = 0; i < f->cases.n_selections && used < FUZZ_ABOUT; ++i) {
        const cli_selection *s = &f->cases.selection[i];
        used += (size_t)snprintf(about + used, FUZZ_ABOUT - used, " %s", s->op->name);
        for (int32_t v = 0; v < s->n_variants && used < FUZZ_ABOUT; ++v)
            used += (size_t)snprintf(about + used, FUZZ_ABOUT - used, "/%s", s->variant[v]);
    }
    for (int32_t i = 0; i < f->args->n_words && used < FUZZ_ABOUT; ++i)
        used += (size_t)snprintf(about + used, FUZZ_ABOUT - used, " %s", f->args->word[i]);
}

static assay_status name_state(fuzz_campaign *f, const fuzz_ranks *ranks) {
    const char *resume = f->args->resume;
    char end[24] = "";
    if (resume == NULL)
        return ASSAY_OK;
    if (ranks->count > 1)
        snprintf(end, sizeof end, ".%" PRId64, ranks->rank);
    if (snprintf(f->resume, sizeof f->resume, "%s%s", resume, end) < PATH_MAX)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_USAGE, "--resume: the path is too long");
}

static assay_status read_own_state(fuzz_campaign *f) {
    char about[FUZZ_ABOUT];
    if (f->resume[0] == '\0')
        return ASSAY_OK;
    fuzz_describe(f, f->shard, about);
    return fuzz_state_read(f, f->resume, about, &f->state);
}

static assay_status prepare(fuzz_campaign *f, const fuzz_ranks *ranks) {
    const assay_cli_args *args = f->args;
    f->shard = ranks->count > 1 ? ranks->rank : args->share.parts > 0 ? args->share.part - 1 : 0;
    f->shards = ranks->count > 1 ? ranks->count : args->share.parts > 0 ? args->share.parts : 1;
    if (args->jobs > FUZZ_MOST_JOBS)
        return assay_fail(ASSAY_ERR_USAGE, "--jobs %" PRId64 ": must be a number in 1..%d",
                          args->jobs, FUZZ_MOST_JOBS);
    if (ranks->count > 1 && args->findings == NULL)
        return assay_fail(ASSAY_ERR_USAGE, "fuzz on several ranks needs --findings FILE, in a "
                                           "folder that all of them see");
    assay_status status = fuzz_names_cases(args) ? cli_cases_gather(args, &f->cases)
                                                 : cli_cases_select(args, &f->cases);
    if (status == ASSAY_OK)
        status = choose_rows(f);
    if (status == ASSAY_OK)
        status = choose_device(f);
    if (status == ASSAY_OK)
        status = check_big(f);
    if (status == ASSAY_OK)
        status = make_targets(f);
    if (status == ASSAY_OK && !fuzz_names_cases(args))
        status = try_words(f);
    if (status == ASSAY_OK)
        status = name_state(f, ranks);
    if (status == ASSAY_OK)
        status = fuzz_files_try(f);
    if (status != ASSAY_OK)
        return status;
    isolate_how(f);
    return read_own_state(f);
}

/* Unless --jobs says. Each process has a context on a GPU, for large oracles, which takes memory. A
 * big case takes half of its memory, and all processors. */
static int32_t usual_jobs(const fuzz_campaign *f) {
    enum { SHARING = 16 };
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const long most = f->args->big ? 1 : f->simulated ? FUZZ_MOST_JOBS : SHARING;
    return processors < 1 ? 1 : (int32_t)(processors < most ? processors : most);
}

static assay_status start_workers(fuzz_campaign *f) {
    f->workers = (fuzz_workers){
        .device = f->device,
        .twin = f->twin,
        .how = &f->how,
        .target = f->target,
        .n_targets = f->cases.n_selections,
        .rows = f->rows,
        .scope = f->args->scope,
        .jobs = f->args->jobs > 0 ? (int32_t)f->args->jobs : usual_jobs(f),
    };
    return fuzz_workers_start(&f->workers);
}

/* ---- looking ---- */

typedef struct listener {
    fuzz_campaign *f;
    const fuzz_ranks *ranks;
    int64_t shard; /* whose cases they are: this process's own, or those of a rank that is lost */
} listener;

static void show_progress(const fuzz_state *state, void *context) {
    (void)context;
    assay_cli_progress("%" PRId64 " cases in %.0f s, %" PRId32 " findings", state->settled,
                       state->seconds, state->findings.count);
}

static void show_finding(const fuzz_finding *finding, void *context) {
    const listener *l = context;
    fuzz_print_finding(l->f, finding);
}

static assay_status keep(const fuzz_state *state, void *context) {
    const listener *l = context;
    assay_status status = ASSAY_OK;
    if (l->shard != l->f->shard)
        return fuzz_ranks_keep(l->f, l->ranks, l->shard, FUZZ_TAKEN, state);
    if (l->f->resume[0] != '\0')
        status = fuzz_state_write(l->f, l->shard, l->f->resume, state);
    return status == ASSAY_OK ? fuzz_ranks_keep(l->f, l->ranks, l->shard, FUZZ_STATE, state)
                              : status;
}

/* Of N cases, those whose number is the share's. */
static int64_t cases_of(const fuzz_campaign *f, int64_t shard) {
    return (f->args->cases - shard + f->shards - 1) / f->shards;
}

bool fuzz_share_is_done(const fuzz_campaign *f, int64_t shard, const fuzz_state *state) {
    if (f->args->first && state->findings.count > 0)
        return true;
    return f->args->cases > 0 && state->settled >= cases_of(f, shard);
}

/* 0: there is no limit. */
static double time_limit(const fuzz_campaign *f) {
    const double otherwise = f->args->cases > 0 ? 0 : default_seconds;
    return f->args->seconds > 0 ? f->args->seconds : otherwise;
}

double fuzz_time_left(const fuzz_campaign *f) {
    return time_limit(f) > 0 ? time_limit(f) - (now() - f->began) : INFINITY;
}

assay_status fuzz_look(fuzz_campaign *f, const fuzz_ranks *ranks, int64_t shard,
                       fuzz_state *state) {
    const assay_cli_args *args = f->args;
    listener l = {.f = f, .ranks = ranks, .shard = shard};
    const fuzz_hunt hunt = {
        .workers = &f->workers,
        .source = f->source,
        .seed = args->seed,
        .shard = shard,
        .shards = f->shards,
        .stretch = STRETCH,
        .cases = args->cases > 0 ? cases_of(f, shard) : 0,
        /* At least a moment: 0 stands for no limit. */
        .seconds = time_limit(f) > 0 ? state->seconds + fmax(fuzz_time_left(f), 1e-3) : 0,
        .guided = !args->no_guide && !args->big, /* children would be small */
        .first = args->first,
        .progress = show_progress,
        .found = show_finding,
        .keep = keep,
        .context = &l,
        .interrupted = assay_cli_interrupted,
    };
    if (args->cases > 0 && hunt.cases <= 0)
        return ASSAY_OK; /* fewer cases than shares */
    return fuzz_hunt_run(&hunt, state);
}

/* ---- cases that are named ---- */

/* Each as it is: a case that is named is wanted as it stands. */
static assay_status add_findings(fuzz_campaign *f, listener *l, const fuzz_job *done) {
    const fuzz_task *task = &done->task;
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < done->result.n_failures; ++i) {
        fuzz_finding finding = {.target = task->target,
                                .failure = done->result.failure[i],
                                .first = task->number,
                                .again = true,
                                .smallest = true};
        assay_case_format(&task->c, finding.found);
        assay_case_format(&task->c, finding.shrunk);
        status = fuzz_findings_add(&f->state.findings, &finding);
        show_finding(&finding, l);
    }
    return status;
}

static assay_status check_job(fuzz_campaign *f, listener *l, int64_t i) {
    const cli_job *job = &f->cases.job[i];
    const fuzz_job *done = NULL;
    fuzz_task task = {.number = i,
                      .target = (int32_t)(job->selection - f->cases.selection),
                      .relation = FUZZ_ALL_RELATIONS};
    assay_status status = assay_case_parse(job->text, &task.c);
    if (status == ASSAY_OK)
        status = fuzz_workers_give(&f->workers, &task);
    while (status == ASSAY_OK && done == NULL && !assay_cli_interrupted())
        status = fuzz_workers_wait(&f->workers, -1, &done);
    if (status != ASSAY_OK || done == NULL)
        return status;
    fuzz_state_count(&f->state, &done->result);
    return add_findings(f, l, done);
}

static assay_status check_named(fuzz_campaign *f, const fuzz_ranks *ranks) {
    listener l = {.f = f, .ranks = ranks, .shard = f->shard};
    assay_status status = ASSAY_OK;
    for (int64_t i = 0; status == ASSAY_OK && i < f->cases.n_jobs && !assay_cli_interrupted(); ++i)
        status = check_job(f, &l, i);
    return status;
}

/* ---- the verb ---- */

/* Of cases that cannot be judged here nothing is known, and no variant may be missed for it. */
static assay_exit checked_nothing(const fuzz_campaign *f) {
    if (f->state.declined == 0)
        return ASSAY_EXIT_NOTHING;
    return assay_cli_complain(assay_fail(
        ASSAY_ERR_MEMORY, "fuzz: no case could be checked: there is no memory for them, or "
                          "no data of that fill; give key=value words that make them smaller"));
}

static assay_exit exit_code(const fuzz_campaign *f, int32_t lost) {
    if (assay_cli_interrupted())
        return ASSAY_EXIT_INTERRUPTED;
    if (f->state.findings.count > 0)
        return ASSAY_EXIT_FAILED;
    if (lost > 0)
        return ASSAY_EXIT_ERROR;
    return f->state.passed + f->state.mistrusted > 0 ? ASSAY_EXIT_PASSED : checked_nothing(f);
}

/* The workers are gone when files are written: they may take the device's memory. */
static assay_status conclude(fuzz_campaign *f, const fuzz_ranks *ranks, int32_t *lost) {
    assay_status status = ASSAY_OK;
    fuzz_workers_end(&f->workers);
    if (f->resume[0] != '\0' && !fuzz_names_cases(f->args))
        status = fuzz_state_write(f, f->shard, f->resume, &f->state);
    if (status == ASSAY_OK)
        status = fuzz_ranks_keep(f, ranks, f->shard, FUZZ_DONE, &f->state);
    if (status == ASSAY_OK && ranks->count > 1 && ranks->rank == 0 && !assay_cli_interrupted())
        status = fuzz_ranks_gather(f, ranks, lost);
    if (status == ASSAY_OK && ranks->rank == 0)
        status = fuzz_findings_write(f, &f->state.findings);
    if (ranks->rank == 0)
        fuzz_print_summary(f, &f->state, assay_cli_interrupted() ? "interrupted after " : "");
    return status;
}

static void clear(fuzz_campaign *f) {
    fuzz_workers_end(&f->workers);
    fuzz_state_clear(&f->state);
    free(f->target);
    free(f->source);
    cli_cases_clear(&f->cases);
}

assay_exit assay_cli_fuzz(const assay_cli_args *args) {
    const fuzz_ranks ranks = fuzz_ranks_find();
    fuzz_campaign f = {.args = args};
    int32_t lost = 0;
    assay_status status = prepare(&f, &ranks);
    if (status == ASSAY_OK)
        status = fuzz_ranks_begin(&f, &ranks);
    if (status == ASSAY_OK)
        status = start_workers(&f);
    f.began = now() - f.state.seconds;
    if (status == ASSAY_OK)
        status = fuzz_names_cases(args) ? check_named(&f, &ranks)
                                        : fuzz_look(&f, &ranks, f.shard, &f.state);
    if (status == ASSAY_OK)
        status = conclude(&f, &ranks, &lost);
    if (status != ASSAY_OK)
        fuzz_ranks_give_up(&f, &ranks);
    const assay_exit code = status == ASSAY_OK ? exit_code(&f, lost) : assay_cli_complain(status);
    clear(&f);
    /* Rank 0 speaks for all: mpirun ends the others when one fails. */
    return ranks.rank == 0 ? code : ASSAY_EXIT_PASSED;
}
