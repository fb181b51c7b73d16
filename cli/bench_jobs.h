/* The cases that assay bench is to time: those that words or a set name, or published experiments.
 */
#ifndef ASSAY_CLI_BENCH_JOBS_H
#define ASSAY_CLI_BENCH_JOBS_H

#include "bench/experiments.h"
#include "cli/cases.h"

typedef struct bench_job {
    const bench_experiment *experiment; /* NULL: of no experiment */
    const cli_selection *selection;
    bool without_v1; /* unless it was asked for by name */
    char text[ASSAY_CASE_TEXT];
} bench_job;

typedef struct bench_jobs {
    cli_cases cases; /* holds the selections */
    bench_job *job;
    int64_t count, room;
} bench_jobs;

/* `jobs` needs bench_jobs_clear after a failure as well. */
assay_status bench_jobs_init(bench_jobs *jobs, const assay_cli_args *args) ASSAY_MUST_CHECK;
void bench_jobs_clear(bench_jobs *jobs);

/* The stages of a job that --stage leaves. */
int32_t bench_job_stages(const bench_job *job, const assay_cli_args *args,
                         bench_stage stage[EXPERIMENT_STAGES]);

#endif
