/* assay judge: answers that any program wrote, held to the oracle's bounds. */
#include "assay/state.h"
#include "cli/cases.h"
#include "cli/report.h"
#include "core/sink.h"
#include "engine/memory.h"

#include <inttypes.h>
#include <string.h>

enum { REPORTS = 4 };

typedef struct judgement {
    const assay_cli_args *args;
    assay_case c;
    const assay_device *device; /* of the baseline, and of the oracle's help */
    assay_problem problem;
    assay_results got;
    cli_environment environment;
    cli_results results;
} judgement;

static assay_status check_words(const assay_cli_args *args) {
    if (args->n_targets != 1 || args->n_words == 0)
        return assay_fail(ASSAY_ERR_USAGE,
                          "judge: name one operator and its case by key=value words");
    if (args->target->variant != NULL)
        return assay_fail(ASSAY_ERR_USAGE, "judge: %s alone: the answers are in the file of --got",
                          args->target->op->name);
    if (args->got == NULL)
        return assay_fail(ASSAY_ERR_USAGE, "judge: --got FILE names the answers");
    return ASSAY_OK;
}

static assay_status check_memory(const assay_case *c) {
    assay_signature sig;
    assay_status status = assay_case_signature(c, &sig);
    if (status != ASSAY_OK)
        return status;
    status = assay_memory_suffices(&sig, 1);
    assay_signature_clear(&sig);
    return status;
}

static assay_status load(judgement *j) {
    const assay_cli_args *args = j->args;
    int32_t taken;
    assay_status status = check_memory(&j->c);
    if (status == ASSAY_OK)
        status = assay_problem_load(&j->problem, &j->c);
    if (status == ASSAY_OK && args->input != NULL)
        status = assay_state_read(args->input, &j->problem, &taken);
    if (status == ASSAY_OK)
        status = assay_results_init(&j->got, &j->problem.sig);
    return status == ASSAY_OK ? assay_state_read_results(args->got, &j->problem, &j->got) : status;
}

static void write_repro(const judgement *j, char repro[ASSAY_REPRO]) {
    char text[ASSAY_CASE_TEXT];
    const char *input = j->args->input, *op = j->args->operator_file;
    snprintf(repro, ASSAY_REPRO, "assay judge %s%s --got %s%s%s%s%s",
             assay_case_format(&j->c, text), scope_flags(j->args->scope), j->args->got,
             input != NULL ? " --in " : "", input != NULL ? input : "",
             op != NULL ? " --operator " : "", op != NULL ? op : "");
}

static assay_status judge(judgement *j) {
    char repro[ASSAY_REPRO];
    assay_report report;
    write_repro(j, repro);
    assay_status status = assay_judge(&j->problem, &j->got, repro, j->device, &report);
    if (status != ASSAY_OK)
        return status;
    j->results.seconds = report.seconds;
    status = results_add(&j->results, &report);
    if (status != ASSAY_OK)
        assay_report_clear(&report);
    return status;
}

static void print(const judgement *j) {
    const assay_cli_out *out = &j->args->out;
    if (j->args->quiet)
        report_text_problems(out, j->results.report);
    else
        report_text_full(out, j->results.report);
    report_text_summary(out, &j->results);
}

static assay_status write_reports(judgement *j) {
    const struct {
        const char *path;
        report_writer writer;
    } reports[REPORTS] = {{j->args->json, cli_report_json},
                          {j->args->csv, cli_report_csv},
                          {j->args->junit, cli_report_junit},
                          {j->args->markdown, cli_report_markdown}};
    assay_status status = ASSAY_OK;
    environment_init(&j->environment, j->device);
    j->results.environment = &j->environment;
    for (int i = 0; status == ASSAY_OK && i < REPORTS; ++i) {
        cli_sink sink = {0};
        if (reports[i].path == NULL)
            continue;
        status = sink_open(&sink, reports[i].path);
        if (status == ASSAY_OK) {
            reports[i].writer(sink.stream, &j->results);
            status = sink_commit(&sink);
        }
        sink_discard(&sink);
    }
    return status;
}

assay_exit assay_cli_judge(const assay_cli_args *args) {
    judgement j = {.args = args, .results.scope = args->scope};
    assay_status status = check_words(args);
    if (status == ASSAY_OK)
        status = cli_cases_choose_one(args, &j.c);
    if (status == ASSAY_OK)
        status = assay_cli_open_device(args, &j.device);
    if (status == ASSAY_OK)
        status = load(&j);
    if (status == ASSAY_OK)
        status = judge(&j);
    if (status == ASSAY_OK) {
        print(&j);
        status = write_reports(&j);
    }
    assay_exit code = ASSAY_EXIT_PASSED;
    if (status != ASSAY_OK) {
        code = assay_cli_complain(status);
    } else {
        const cli_tally tally = results_tally(&j.results);
        code = tally_exit(&tally);
    }
    results_clear(&j.results);
    assay_results_clear(&j.got);
    assay_problem_clear(&j.problem);
    return code;
}
