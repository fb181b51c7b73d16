/* assay check */
#include "cli/annotate.h"
#include "cli/cases.h"
#include "cli/certify.h"
#include "cli/check_jobs.h"
#include "cli/last_failed.h"
#include "cli/project.h"
#include "cli/report.h"
#include "cli/spread.h"
#include "core/clock.h"
#include "core/sink.h"
#include "engine/isolate.h"
#include "engine/process/pool.h"
#include "engine/variant_run.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { FULL_CASES = 4, REPORTS = 4 };

typedef struct run {
    const assay_cli_args *args;
    const assay_device *device; /* isolated */
    cli_environment environment;
    cli_cases cases;
    cli_results results;
    cli_sink sink[REPORTS];
    report_writer writer[REPORTS];
    int n_sinks;
    certificate_subject subject; /* for --certify */
    bool refused;                /* certify.h */
    bool usage;                  /* a case turned out to be none of the variants' */
    int32_t processes;
    pid_t pid; /* of the process that prints */
} run;

/* ---- before ---- */

static assay_status check_variants(const cli_cases *cases, const assay_device *device) {
    for (int32_t i = 0; i < cases->n_selections; ++i) {
        const cli_selection *s = &cases->selection[i];
        for (int32_t v = 0; v < s->n_variants && !s->excluded; ++v)
            if (!variant_find(device, s->op->name, s->variant[v]))
                return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s/%s is not compiled for %s",
                                  s->op->name, s->variant[v], device->name);
    }
    return ASSAY_OK;
}

/* All files are tried before the first case, which may be hours before they are written. */
static assay_status open_reports(run *r) {
    const struct {
        const char *path;
        report_writer writer;
    } reports[REPORTS] = {{r->args->json, cli_report_json},
                          {r->args->csv, cli_report_csv},
                          {r->args->junit, cli_report_junit},
                          {r->args->markdown, cli_report_markdown}};
    for (int i = 0; i < REPORTS; ++i) {
        if (reports[i].path == NULL)
            continue;
        const assay_status status = sink_open(&r->sink[r->n_sinks], reports[i].path);
        if (status != ASSAY_OK)
            return status;
        r->writer[r->n_sinks++] = reports[i].writer;
    }
    return ASSAY_OK;
}

static assay_status gather(run *r) {
    const assay_status status = cli_cases_gather(r->args, &r->cases);
    return status == ASSAY_OK && r->args->exclude != NULL
               ? cli_cases_exclude(r->args->exclude, &r->cases)
               : status;
}

/* Processes on one GPU would wait for each other, and a context does not outlive fork(). */
static assay_status choose_processes(run *r) {
    const bool cuda = strcmp(r->device->name, "cuda") == 0;
    /* Each process of a reference's has another that imports its library, which takes seconds. */
    const int64_t usual = r->args->reference != NULL ? 1 : check_processors();
    const int64_t wanted = r->args->jobs > 0 ? r->args->jobs : usual;
    if (wanted > POOL_MOST_WORKERS)
        return assay_fail(ASSAY_ERR_USAGE, "--jobs %" PRId64 ": must be a number in 1..%d", wanted,
                          POOL_MOST_WORKERS);
    if (cuda && r->args->jobs > 1)
        return assay_fail(ASSAY_ERR_USAGE,
                          "check --jobs %" PRId64 ": cases of one GPU run one "
                          "after the other; leave --jobs out",
                          r->args->jobs);
    r->processes = (int32_t)(cuda || (r->args->in_process && r->args->jobs == 0) ? 1 : wanted);
    if (r->processes > r->cases.n_jobs)
        r->processes = (int32_t)r->cases.n_jobs;
    return ASSAY_OK;
}

static assay_status prepare(run *r) {
    assay_status status = r->args->last_failed ? last_failed_gather(r->args, &r->cases) : gather(r);
    const assay_device *device;
    if (status == ASSAY_OK)
        status = assay_cli_open_device(r->args, &device);
    if (status == ASSAY_OK)
        status = assay_cli_isolate(r->args, device, &r->device);
    if (status == ASSAY_OK)
        status = check_variants(&r->cases, r->device);
    if (status == ASSAY_OK)
        status = choose_processes(r);
    if (status == ASSAY_OK && r->cases.n_jobs == 0 && r->args->case_file != NULL)
        status = assay_fail(ASSAY_ERR_UNSUPPORTED, "no case to run: %.300s has none%s",
                            r->args->case_file,
                            r->args->exclude != NULL ? " that --exclude leaves" : "");
    else if (status == ASSAY_OK && r->cases.n_jobs == 0)
        status = assay_fail(
            ASSAY_ERR_UNSUPPORTED, "no case to run: the set %s has no case of these operators%s",
            assay_set_name(r->args->set), r->args->exclude != NULL ? " that --exclude leaves" : "");
    if (status == ASSAY_OK)
        status = open_reports(r);
    if (status == ASSAY_OK && r->args->certify)
        status = certify_begin(&r->cases, r->device, &r->subject);
    if (status == ASSAY_OK)
        environment_init(&r->environment, r->device);
    return status;
}

/* ---- the cases ---- */

static void add_rows(char repro[ASSAY_REPRO], int64_t rows) {
    const size_t used = strlen(repro);
    snprintf(repro + used, ASSAY_REPRO - used, " --rows %" PRId64, rows);
}

/* A row in place of those of a case that the engine could not begin. */
static assay_status note_failure(run *r, const assay_case *c, assay_verdict verdict,
                                 const char *reason, assay_report *report) {
    const assay_status status = report_of_failure(report, c, r->device->name, verdict, reason);
    if (status == ASSAY_OK && r->args->rows > 0)
        add_rows(report->rows->repro, r->args->rows);
    return status;
}

static bool is_of_a_set(const assay_cli_args *args) {
    return args->n_words == 0 && args->random == 0 && args->set != ASSAY_EDGE;
}

/* A case that the engine could not begin is a result too: the others still run. In a process that
 * shares the memory with others, too little of it is none: the case runs again, alone. */
static assay_status judge(void *context, int64_t i, assay_report *report) {
    run *r = context;
    const cli_job *job = &r->cases.job[i];
    assay_case c;
    assay_status status = assay_case_parse(job->text, &c);
    if (status != ASSAY_OK)
        return status;
    scope_apply(r->args->scope, &c);
    const cli_selection *s = job->selection;
    status = r->args->rows > 0 ? assay_check_rows(&c, r->device, s->variant, s->n_variants,
                                                  r->args->rows, false, report)
                               : assay_check(&c, r->device, s->variant, s->n_variants, report);
    if (status == ASSAY_OK && is_of_a_set(r->args))
        assay_report_excuse(report);
    if (status == ASSAY_OK || (status == ASSAY_ERR_MEMORY && getpid() != r->pid))
        return status;
    char reason[ASSAY_REASON];
    snprintf(reason, sizeof reason, "%s", assay_error());
    const assay_verdict verdict = status == ASSAY_ERR_UNSUPPORTED ? ASSAY_SKIP : ASSAY_ERROR;
    const bool usage = status == ASSAY_ERR_USAGE;
    status = note_failure(r, &c, verdict, reason, report);
    if (status == ASSAY_OK)
        report->usage = usage;
    return status;
}

static assay_status note_broken(void *context, int64_t i, const char *reason,
                                assay_report *report) {
    run *r = context;
    assay_case c;
    const assay_status status = assay_case_parse(r->cases.job[i].text, &c);
    scope_apply(r->args->scope, &c);
    return status == ASSAY_OK ? note_failure(r, &c, ASSAY_ERROR, reason, report) : status;
}

/* Standard output that takes no more text ends the run. */
static assay_status print_case(const run *r, const assay_report *report) {
    const assay_cli_out *out = &r->args->out;
    assay_cli_progress("%s", "");
    if (r->results.edge)
        report_text_edge(out, report, r->args->quiet);
    else if (r->args->quiet)
        report_text_problems(out, report);
    else if (r->cases.n_jobs <= FULL_CASES)
        report_text_full(out, report);
    else
        report_text_brief(out, &r->results);
    if (fflush(out->stream) != 0)
        return assay_fail(ASSAY_ERR_FILE, "the results cannot be printed: %s", strerror(errno));
    return ASSAY_OK;
}

static assay_status take(void *context, int64_t i, assay_report *report, bool *more) {
    run *r = context;
    r->usage = r->usage || report->usage;
    assay_status status = results_add(&r->results, report);
    if (status != ASSAY_OK) {
        assay_report_clear(report);
        return status;
    }
    status = print_case(r, &r->results.report[r->results.count - 1]);
    if (r->args->fail_fast && report_failed(&r->results, r->results.count - 1))
        *more = false;
    if (*more && i + 1 < r->cases.n_jobs)
        assay_cli_progress("[%" PRId64 "/%" PRId64 "] %s", i + 2, r->cases.n_jobs,
                           r->cases.job[i + 1].text);
    return status;
}

static assay_status check_all(run *r) {
    const double start = now();
    const check_pool checks = {.cases = r->cases.n_jobs,
                               .processes = r->processes,
                               .judge = judge,
                               .broken = note_broken,
                               .take = take,
                               .context = r};
    const assay_status status = check_pool_run(&checks);
    assay_cli_progress("%s", "");
    r->results.seconds = now() - start;
    return status;
}

/* ---- after ---- */

static assay_status write_reports(run *r) {
    for (int i = 0; i < r->n_sinks; ++i) {
        r->writer[i](r->sink[i].stream, &r->results);
        const assay_status status = sink_commit(&r->sink[i]);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* A kernel file may be hostile; where the system allows less than a sandbox, that is said. */
static void note_walls(run *r) {
    char text[SANDBOX_TEXT];
    const sandbox_walls left = sandbox_required() & ~environment_walls(&r->environment, r->device);
    if (left != 0 && (r->args->kernel != NULL || r->args->certify))
        fprintf(r->args->out.stream, "sandbox: without %s%s\n", sandbox_text(left, text),
                r->args->no_sandbox ? ", as --no-sandbox asks"
                                    : ": this system allows no more; see docs/exploits.md");
}

static assay_status conclude(run *r) {
    FILE *to = r->args->out.stream;
    assay_status status = ASSAY_OK;
    note_walls(r);
    r->results.environment = &r->environment;
    if (r->args->random > 0 && !r->args->quiet)
        status = spread_print(to, &r->results);
    if (assay_cli_interrupted())
        fprintf(to, "interrupted after %" PRId64 " of %" PRId64 " cases\n", r->results.count,
                r->cases.n_jobs);
    else if (r->results.count < r->cases.n_jobs)
        fprintf(to, "ended by --fail-fast after %" PRId64 " of %" PRId64 " cases\n",
                r->results.count, r->cases.n_jobs);
    if (r->results.edge && !r->args->quiet)
        fputs("Cases of the set edge are degenerate and prove no number: each is expected to be "
              "mistrusted.\n",
              to);
    if (!assay_cli_interrupted() && !r->args->certify)
        last_failed_write(r->args, &r->cases, &r->results);
    if (status == ASSAY_OK && r->args->certify && !assay_cli_interrupted())
        status =
            certify_end(r->args, &r->cases, &r->results, r->device, &r->subject, to, &r->refused);
    report_text_summary(&r->args->out, &r->results);
    annotate(r->args, &r->results);
    return status == ASSAY_OK ? write_reports(r) : status;
}

/* Variants of cases whose data prove nothing, through no one's fault: they were drawn, or one
 * operand has a size at which results vanish, or the definition ends. */
static int64_t mistrusted_in_vain(const run *r) {
    int64_t count = 0;
    for (int64_t i = 0; i < r->results.count; ++i) {
        cli_part part = {0};
        while ((r->args->random > 0 || r->cases.job[i].secret || r->cases.job[i].drawn ||
                r->results.report[i].c.exponent != 0) &&
               report_next_part(&r->results.report[i], &part))
            count += part.verdict == ASSAY_MISTRUSTED;
    }
    return count;
}

static assay_exit exit_code(const run *r) {
    cli_tally tally = results_tally(&r->results);
    if (r->results.edge) { /* a pass there is the failure: see report_text_edge() */
        tally.verdicts[ASSAY_FAIL] += tally.verdicts[ASSAY_PASS];
        tally.verdicts[ASSAY_PASS] = tally.verdicts[ASSAY_MISTRUSTED];
        tally.verdicts[ASSAY_MISTRUSTED] = 0;
    }
    tally.verdicts[ASSAY_MISTRUSTED] -= mistrusted_in_vain(r);
    if (assay_cli_interrupted())
        return ASSAY_EXIT_INTERRUPTED;
    const assay_exit code = r->usage ? ASSAY_EXIT_USAGE : tally_exit(&tally);
    return code == ASSAY_EXIT_PASSED && r->refused ? ASSAY_EXIT_REFUSED : code;
}

assay_exit assay_cli_check(const assay_cli_args *args) {
    if (project_applies(args))
        return project_check(args);
    run r = {.args = args, .pid = getpid()};
    r.results.scope = args->scope;
    r.results.edge = args->set_given && args->set == ASSAY_EDGE;
    assay_status status = prepare(&r);
    if (status == ASSAY_OK)
        status = check_all(&r);
    if (status == ASSAY_OK)
        status = conclude(&r);
    const assay_exit code = status == ASSAY_OK ? exit_code(&r) : assay_cli_complain(status);
    if (status != ASSAY_OK)
        annotate_unjudged(args);
    for (int i = 0; i < r.n_sinks; ++i)
        sink_discard(&r.sink[i]);
    assay_isolate_end(r.device);
    results_clear(&r.results);
    cli_cases_clear(&r.cases);
    return code;
}
