/*
 * One case in a benchmark, from its data to its rows: session.c calls it, and the files beside it
 * are its parts. Each arm that takes part is a runner; a failure is the runner's status and reason,
 * and that runner is then left out of the rest of the stage.
 */
#ifndef ASSAY_BENCH_CASE_RUN_H
#define ASSAY_BENCH_CASE_RUN_H

#include "bench/processes.h"

/* Input sets: the first proves an arm before it is timed, and is never timed. */
enum { CASE_RUN_SETS = 3 };

typedef struct runner {
    const bench_arm *what;
    bench_process *p;    /* NULL: not needed, all of its rows are there */
    bool loaded;         /* it knows the case */
    bench_status barred; /* BENCH_OK: it may run */
    char bar[BENCH_REASON];
    bench_status status; /* of the stage at hand */
    char reason[BENCH_REASON];
    char remark[BENCH_REASON]; /* the row's remark although all is well */
    bench_row row;             /* the cold one; the warm one is made of it */
    double *warm;
    int64_t n_warm;
    double wall;
} runner;

typedef struct case_run {
    bench_session *s;
    const bench_plan *plan;
    char text[ASSAY_CASE_TEXT];
    int32_t sets;
    bool backward; /* the operator has gradients here */
    bool knowable; /* an oracle can give the right results, in reasonable time */
    assay_problem problem[CASE_RUN_SETS];
    assay_reference reference[CASE_RUN_SETS]; /* made when first asked for */
    runner *runner;
    int32_t n_runners;
} case_run;

/* Announces the next step, of the case ("") or of a stage; false: the user wants it to end. */
bool case_run_go_on(const case_run *k, const char *stage, const char *what);

/* ---- runner.c: the steps of one arm ---- */

bool runner_goes(const runner *r);
void runner_stop(runner *r, bench_status status, const char *reason);
/* Whether its last step went well; otherwise the arm stops for that reason. */
bool runner_is_fine(runner *r, assay_status status);
void runner_drop_samples(runner *r);

/* Tells it the case and where the sets lie; has it forget both, and free its memory. */
void runner_tell(const case_run *k, runner *r);
void runner_forget(const case_run *k, runner *r);

/* ---- case_run_data.c ---- */

/* Decides how many input sets there are and whether an oracle can check them, draws them, and puts
 * them into the memory that arms share. ASSAY_ERR_MEMORY: the host has less than that takes. */
assay_status case_run_prepare(case_run *k) ASSAY_MUST_CHECK;

/* ---- case_run_verify.c ---- */

bool case_run_has_stage(bench_stage stage, assay_stage part);
/* Has all runners get ready and run the first set once, and compares the results. */
assay_status case_run_prove(case_run *k, bench_stage stage) ASSAY_MUST_CHECK;
/* Compares the timed calls' results: their last calls saw the data as they were given. */
assay_status case_run_prove_timed(case_run *k, runner *r, bench_stage stage) ASSAY_MUST_CHECK;

/* ---- case_run_time.c ---- */

/* All runners in turn, with cold caches. */
assay_status case_run_time_cold(case_run *k) ASSAY_MUST_CHECK;
/* One with warm caches, by its own clock and by this process's. */
assay_status case_run_time_warm(const case_run *k, runner *r) ASSAY_MUST_CHECK;
/* Asks for the memory that it held, and for the time by a peer's customary timer. */
void case_run_ask_memory(runner *r);
void case_run_ask_customary(runner *r);

/* ---- case_run_rows.c ---- */

assay_status case_run_work(const assay_case *c, bench_stage stage,
                           assay_work *work) ASSAY_MUST_CHECK;
void case_run_start_row(const case_run *k, runner *r, bench_stage stage, const assay_work *work);
/* Faster than the device can be: it has not done the work. */
void case_run_hold_to_floor(runner *r);
/* Adds the cold row, and where all is well the warm one beside it. */
assay_status case_run_finish_rows(case_run *k, runner *r) ASSAY_MUST_CHECK;

#endif
