/* assay profile: the case, the gate, the device's turn. */
#include "cli/profile.h"

#include "cli/bench_gate.h"
#include "cli/cases.h"
#include "engine/isolate.h"
#include "engine/oracle_pace.h"
#include "engine/runner.h"
#include "engine/variant_run.h"

#include <inttypes.h>
#include <string.h>

/* ---- before ---- */

static assay_status choose_case(profile *p) {
    const assay_cli_args *args = p->args;
    if (args->n_targets != 1 || args->target->variant == NULL || args->n_words == 0)
        return assay_fail(ASSAY_ERR_USAGE, "profile: name one variant and its case, as in "
                                           "weighted_sum/v1 n=64 d=128");
    cli_cases cases = {0};
    assay_status status = cli_cases_gather(args, &cases);
    if (status == ASSAY_OK && cases.n_jobs != 1)
        status = assay_fail(ASSAY_ERR_USAGE,
                            "profile takes one case, and these words name %" PRId64 "; name one",
                            cases.n_jobs);
    if (status == ASSAY_OK)
        status = assay_case_parse(cases.job[0].text, &p->c);
    if (status == ASSAY_OK)
        assay_case_format(&p->c, p->text);
    cli_cases_clear(&cases);
    return status;
}

static assay_status choose_device(profile *p) {
    const assay_cli_target *target = p->args->target;
    assay_status status = assay_cli_open_device(p->args, &p->device);
    if (status == ASSAY_OK)
        status = p->device->simulated ? profile_counting(p->args) : profile_cuda_before();
    if (status != ASSAY_OK)
        return status;
    p->variant = variant_find(p->device, target->op->name, target->variant);
    if (p->variant == NULL)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s/%s is not compiled for %s", target->op->name,
                          target->variant, p->device->name);
    return ASSAY_OK;
}

/* Before the gate, which may take minutes. */
static assay_status open_files(profile *p) {
    const struct {
        const char *path;
        cli_sink *sink;
    } files[] = {{p->args->json, &p->json}, {p->args->csv, &p->csv}, {p->args->trace, &p->trace}};
    assay_status status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < sizeof files / sizeof *files; ++i)
        if (files[i].path != NULL)
            status = sink_open(files[i].sink, files[i].path);
    return status;
}

const char *profile_title(const profile *p, char title[PROFILE_TITLE]) {
    snprintf(title, PROFILE_TITLE, "%s/%s%s on %s", p->c.op->name, p->variant->name,
             p->text + strcspn(p->text, " "), p->device->name);
    return title;
}

/* ---- the gate ---- */

/* The row that says why a report is no pass. */
static const assay_row *worst_row(const assay_report *report) {
    for (int32_t r = 0; r < report->n_rows; ++r)
        if (report->rows[r].verdict == report->verdict)
            return &report->rows[r];
    return NULL;
}

static assay_exit refuse(const profile *p, const assay_report *report) {
    const assay_row *row = worst_row(report);
    const char *reason = row != NULL ? row->reason : "no tensor was compared";
    char title[PROFILE_TITLE];
    if (report->verdict == ASSAY_SKIP)
        return assay_cli_complain(assay_fail(ASSAY_ERR_UNSUPPORTED, "%s", reason));
    fprintf(stderr, "assay: refused: %s: %s%s%s: %s\n", profile_title(p, title),
            assay_verdict_name(report->verdict), row != NULL && row->tensor[0] != '\0' ? ": " : "",
            row != NULL ? row->tensor : "", reason);
    return ASSAY_EXIT_REFUSED;
}

static assay_exit check_case(const profile *p, const assay_device *isolated) {
    assay_report report = {0};
    const assay_status status = assay_check(&p->c, isolated, &p->variant->name, 1, &report);
    assay_exit code = ASSAY_EXIT_PASSED;
    if (status != ASSAY_OK)
        code = assay_cli_complain(status);
    else if (report.verdict != ASSAY_PASS)
        code = refuse(p, &report);
    assay_report_clear(&report);
    return code;
}

/* As assay bench asks: a certificate that holds, or a set of cases that pass. */
static assay_exit check_others(const profile *p, const assay_device *isolated) {
    bench_gate_state state = {.args = p->args, .isolated = isolated};
    char title[PROFILE_TITLE], why[BENCH_REASON];
    const bool open = bench_gate_open(&state, &p->c, p->variant->name, why);
    bench_gate_clear(&state);
    fprintf(stderr, "assay: %s%s: %s\n", open ? "" : "refused: ", profile_title(p, title),
            open ? "not compared at this size, for which the oracle takes too long; certified, or "
                   "passed a set of smaller cases"
                 : why);
    return open ? ASSAY_EXIT_PASSED : ASSAY_EXIT_REFUSED;
}

/* Only a variant that passes this very case is profiled, or smaller ones where its oracle takes
 * minutes. */
static assay_exit gate(const profile *p) {
    const assay_device *isolated = NULL;
    oracle_pace pace = ORACLE_QUICK;
    assay_status status = assay_cli_isolate(p->args, p->device, &isolated);
    if (status == ASSAY_OK)
        status = oracle_pace_of(&p->c, p->device, p->variant->backward != NULL, &pace);
    const assay_exit code = status != ASSAY_OK       ? assay_cli_complain(status)
                            : pace == ORACLE_MINUTES ? check_others(p, isolated)
                                                     : check_case(p, isolated);
    assay_isolate_end(isolated);
    return code;
}

/* ---- after ---- */

assay_status profile_run(const profile *p, const assay_variant *around) {
    assay_problem problem = {0};
    assay_results got = {0};
    assay_status status = assay_problem_load(&problem, &p->c);
    if (status == ASSAY_OK)
        status = assay_results_init(&got, &problem.sig);
    if (status == ASSAY_OK)
        status = assay_run(around, p->device, &problem, &got);
    assay_results_clear(&got);
    assay_problem_clear(&problem);
    return status;
}

static assay_status commit(profile *p) {
    cli_sink *const sinks[] = {&p->json, &p->csv, &p->trace};
    assay_status status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < sizeof sinks / sizeof *sinks; ++i)
        if (sinks[i]->stream != NULL)
            status = sink_commit(sinks[i]);
    return status;
}

assay_exit assay_cli_profile(const assay_cli_args *args) {
    profile p = {.args = args};
    assay_status status = choose_case(&p);
    if (status == ASSAY_OK)
        status = choose_device(&p);
    if (status == ASSAY_OK)
        status = open_files(&p);
    assay_exit code = status == ASSAY_OK ? gate(&p) : assay_cli_complain(status);
    if (code == ASSAY_EXIT_PASSED && assay_cli_interrupted())
        code = ASSAY_EXIT_INTERRUPTED;
    if (code == ASSAY_EXIT_PASSED) {
        status = p.device->simulated ? profile_sim(&p) : profile_cuda(&p);
        if (status == ASSAY_OK)
            status = commit(&p);
        if (status != ASSAY_OK)
            code = assay_cli_complain(status);
    }
    sink_discard(&p.json);
    sink_discard(&p.csv);
    sink_discard(&p.trace);
    return code;
}
