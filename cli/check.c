/* assay check */
#include "cli/cases.h"
#include "cli/certify.h"
#include "cli/report.h"
#include "cli/spread.h"
#include "core/clock.h"
#include "core/sink.h"
#include "engine/isolate.h"
#include "engine/variant_run.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

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
    bool usage;                  /* a case turned out to be none of the variants' */
} run;

/* ---- before ---- */

static assay_status check_variants(const cli_cases *cases, const assay_device *device) {
    for (int32_t i = 0; i < cases->n_selections; ++i) {
        const cli_selection *s = &cases->selection[i];
        for (int32_t v = 0; v < s->n_variants; ++v)
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

static assay_status prepare(run *r) {
    assay_status status = cli_cases_gather(r->args, &r->cases);
    const assay_device *device;
    if (status == ASSAY_OK)
        status = assay_cli_open_device(r->args, &device);
    if (status == ASSAY_OK)
        status = assay_cli_isolate(r->args, device, &r->device);
    if (status == ASSAY_OK)
        status = check_variants(&r->cases, r->device);
    if (status == ASSAY_OK && r->cases.n_jobs == 0)
        status = assay_fail(ASSAY_ERR_UNSUPPORTED, "the set %s has no cases of these operators",
                            assay_set_name(r->args->set));
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

/* A case that the engine could not begin is a result too: the others still run. */
static assay_status check_case(run *r, const cli_job *job, assay_report *report) {
    assay_case c;
    assay_status status = assay_case_parse(job->text, &c);
    if (status != ASSAY_OK)
        return status;
    const cli_selection *s = job->selection;
    status = r->args->rows > 0 ? assay_check_rows(&c, r->device, s->variant, s->n_variants,
                                                  r->args->rows, false, report)
                               : assay_check(&c, r->device, s->variant, s->n_variants, report);
    if (status == ASSAY_OK)
        return status;
    char reason[ASSAY_REASON];
    snprintf(reason, sizeof reason, "%s", assay_error());
    r->usage = r->usage || status == ASSAY_ERR_USAGE;
    status = report_of_failure(report, &c, r->device->name,
                               status == ASSAY_ERR_UNSUPPORTED ? ASSAY_SKIP : ASSAY_ERROR, reason);
    if (status == ASSAY_OK && r->args->rows > 0)
        add_rows(report->rows->repro, r->args->rows);
    return status;
}

/* Standard output that takes no more text ends the run. */
static assay_status print_case(const run *r, const assay_report *report) {
    const assay_cli_out *out = &r->args->out;
    assay_cli_progress("%s", "");
    if (!r->args->quiet && r->cases.n_jobs <= FULL_CASES)
        report_text_full(out, report);
    else
        report_text_brief(out, report);
    if (fflush(out->stream) != 0)
        return assay_fail(ASSAY_ERR_FILE, "the results cannot be printed: %s", strerror(errno));
    return ASSAY_OK;
}

static assay_status check_all(run *r) {
    const double start = now();
    for (int64_t i = 0; i < r->cases.n_jobs && !assay_cli_interrupted(); ++i) {
        const cli_job *job = &r->cases.job[i];
        assay_report report;
        assay_cli_progress("[%" PRId64 "/%" PRId64 "] %s", i + 1, r->cases.n_jobs, job->text);
        assay_status status = check_case(r, job, &report);
        if (status != ASSAY_OK)
            return status;
        status = results_add(&r->results, &report);
        if (status != ASSAY_OK) {
            assay_report_clear(&report);
            return status;
        }
        status = print_case(r, &report);
        if (status != ASSAY_OK)
            return status;
    }
    assay_cli_progress("%s", "");
    r->results.seconds = now() - start;
    return ASSAY_OK;
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

static assay_status conclude(run *r) {
    FILE *to = r->args->out.stream;
    assay_status status = ASSAY_OK;
    r->results.environment = &r->environment;
    if (r->args->random > 0 && !r->args->quiet)
        status = spread_print(to, &r->results);
    if (assay_cli_interrupted())
        fprintf(to, "interrupted after %" PRId64 " of %" PRId64 " cases\n", r->results.count,
                r->cases.n_jobs);
    if (status == ASSAY_OK && r->args->certify && !assay_cli_interrupted())
        status = certify_end(r->args, &r->cases, &r->results, r->device, &r->subject, to);
    report_text_summary(&r->args->out, &r->results);
    return status == ASSAY_OK ? write_reports(r) : status;
}

/* Variants of cases that were drawn, and whose data prove nothing: no one's fault. */
static int64_t drawn_in_vain(const run *r) {
    int64_t count = 0;
    for (int64_t i = 0; i < r->results.count; ++i) {
        cli_part part = {0};
        while ((r->args->random > 0 || r->cases.job[i].secret) &&
               report_next_part(&r->results.report[i], &part))
            count += part.verdict == ASSAY_MISTRUSTED;
    }
    return count;
}

static assay_exit exit_code(const run *r) {
    cli_tally tally = results_tally(&r->results);
    tally.verdicts[ASSAY_MISTRUSTED] -= drawn_in_vain(r);
    if (assay_cli_interrupted())
        return ASSAY_EXIT_INTERRUPTED;
    return r->usage ? ASSAY_EXIT_USAGE : tally_exit(&tally);
}

assay_exit assay_cli_check(const assay_cli_args *args) {
    run r = {.args = args};
    assay_status status = prepare(&r);
    if (status == ASSAY_OK)
        status = check_all(&r);
    if (status == ASSAY_OK)
        status = conclude(&r);
    const assay_exit code = status == ASSAY_OK ? exit_code(&r) : assay_cli_complain(status);
    for (int i = 0; i < r.n_sinks; ++i)
        sink_discard(&r.sink[i]);
    assay_isolate_end(r.device);
    results_clear(&r.results);
    cli_cases_clear(&r.cases);
    return code;
}
