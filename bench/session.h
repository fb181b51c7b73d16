/*
 * A whole benchmark: the arms' processes, and for each case the steps of docs/bench.md. Every arm
 * gets the same input sets, answers are compared in full before and after timing, and the arms are
 * timed in turn.
 */
#ifndef ASSAY_BENCH_SESSION_H
#define ASSAY_BENCH_SESSION_H

#include "assay/device.h"
#include "bench/catalogue.h"
#include "bench/ceilings.h"
#include "bench/exchange.h"
#include "bench/result.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Whether a variant of ours may be timed in that case: proven, by a certificate or now. `why` when
 * not. */
typedef bool (*bench_gate)(void *context, const assay_case *c, const char *variant,
                           char why[BENCH_REASON]);

/* Called with the current step, "" for nothing new; false: the user wants it to end. */
typedef bool (*bench_progress)(void *context, const char *line);

typedef struct bench_session {
    const assay_device *device; /* its oracles give the right results; no arm runs here */
    bench_gate gate;
    void *gate_context;
    bench_progress progress;
    void *progress_context;
    bench_results *results; /* where the rows go */
    int32_t samples;        /* cold ones of each row; 0: as many as take about half a second */

    /* Its own. */
    _Atomic bool timing; /* while arms are timed */
    bool first;          /* until a case is done: its peers time themselves, too */
    bench_ceilings ceilings;
    exchange memory;
    struct bench_process *process;
    int32_t n_processes;
} bench_session;

/* The parts of one case that are timed. */
typedef struct bench_plan {
    const char *experiment;
    const assay_case *c;
    const bench_stage *stage;
    int32_t n_stages;
    const bench_arms *arms;
} bench_plan;

/* The members before `timing` are the caller's. */
assay_status bench_session_init(bench_session *s) ASSAY_MUST_CHECK;
void bench_session_clear(bench_session *s);

/* Adds a row for each arm, stage and cache state. An arm's trouble is a row; an error is ours. */
assay_status bench_session_run(bench_session *s, const bench_plan *plan) ASSAY_MUST_CHECK;

/* Times two things into the results' environment: a kernel whose duration the GPU's own clock
 * tells, which shows the timer's error, and a copy, which is a ceiling. */
assay_status bench_session_calibrate(bench_session *s) ASSAY_MUST_CHECK;

#endif
