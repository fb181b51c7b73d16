#include "bench/case_run.h"

#include "bench/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of both stages: operands once, since the second reading may find them in a cache. */
assay_status case_run_work(const assay_case *c, bench_stage stage, assay_work *work) {
    assay_work other = {0};
    *work = other;
    assay_status status = ASSAY_OK;
    if (case_run_has_stage(stage, ASSAY_FORWARD))
        status = assay_op_work(c->op, &c->params, ASSAY_FORWARD, work);
    if (status == ASSAY_OK && case_run_has_stage(stage, ASSAY_BACKWARD))
        status = assay_op_work(c->op, &c->params, ASSAY_BACKWARD, &other);
    work->read = fmax(work->read, other.read);
    work->written += other.written;
    work->flops += other.flops;
    work->least += other.least;
    return status;
}

void case_run_start_row(const case_run *k, runner *r, bench_stage stage, const assay_work *work) {
    bench_row *row = &r->row;
    const bool ours = bench_arm_is_ours(r->what);
    *row = (bench_row){.ours = ours,
                       .stage = stage,
                       .cache = BENCH_COLD,
                       .wall = NAN,
                       .customary = NAN,
                       .ratio = NAN,
                       .bytes = work->read + work->written,
                       .flops = work->flops,
                       .floor = bench_floor(&k->s->ceilings, &k->plan->c->params, work)};
    snprintf(row->experiment, sizeof row->experiment, "%s", k->plan->experiment);
    snprintf(row->case_text, sizeof row->case_text, "%s", k->text);
    snprintf(row->arm, sizeof row->arm, "%s", r->what->name);
    snprintf(row->label, sizeof row->label, "%s", r->what->label);
    snprintf(row->versions, sizeof row->versions, "%s", r->p ? r->p->versions : "");
    const char *words = strchr(k->text, ' ');
    snprintf(row->repro, sizeof row->repro, "assay bench %s%s%s%s --device %s%s%s",
             k->plan->c->op->name, ours ? "/" : "", ours ? r->what->name : "", words ? words : "",
             k->s->device->name, ours ? " --peers none" : " --peers ", ours ? "" : r->what->name);
    r->warm = NULL;
    r->n_warm = 0;
    r->wall = NAN;
    r->remark[0] = '\0';
}

void case_run_hold_to_floor(runner *r) {
    char reason[BENCH_REASON];
    const double median = bench_median(r->row.sample, r->row.n_samples);
    if (!(median < r->row.floor))
        return;
    snprintf(reason, sizeof reason,
             "%.4g us is less than the %.4g us that the device needs at least for this work",
             median, r->row.floor);
    runner_stop(r, BENCH_ERROR, reason);
}

assay_status case_run_finish_rows(case_run *k, runner *r) {
    if (r->status != BENCH_OK)
        runner_drop_samples(r);
    r->row.status = r->status;
    memcpy(r->row.reason, r->status == BENCH_OK ? r->remark : r->reason, sizeof r->row.reason);
    bench_row warm = r->row;
    warm.cache = BENCH_WARM;
    warm.sample = r->warm;
    warm.n_samples = r->n_warm;
    warm.wall = r->wall;
    warm.customary = NAN;
    warm.floor = NAN; /* a cache may hold what would have to be read */
    assay_status status = bench_results_add(k->s->results, &r->row);
    if (status != ASSAY_OK) {
        runner_drop_samples(r);
        return status;
    }
    r->row.sample = NULL;
    if (r->status == BENCH_OK)
        status = bench_results_add(k->s->results, &warm);
    else
        bench_results_remove(k->s->results, &warm); /* an earlier run's */
    if (r->status != BENCH_OK || status != ASSAY_OK)
        free(r->warm);
    r->warm = NULL;
    return status;
}
