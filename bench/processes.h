/* The arms' processes: started when first needed, kept from case to case. */
#ifndef ASSAY_BENCH_PROCESSES_H
#define ASSAY_BENCH_PROCESSES_H

#include "bench/arm_process.h"
#include "bench/session.h"

/* Limits of one answer, seconds: a framework that is loaded or compiles takes minutes. */
enum { PROCESS_START = 180, PROCESS_COMPILE = 300, PROCESS_ANSWER = 120 };

typedef struct bench_process {
    char op[BENCH_NAME]; /* of ours: its operator; of a peer, which does all: "" */
    bench_arm what;
    arm_process process;
    bool started;
    assay_status status; /* of its start */
    char line[BENCH_REASON], versions[BENCH_VERSIONS];
} bench_process;

/* Starts those arms that have no process yet, side by side, and waits for their hello. Each process
 * holds its own failure. Ends processes of ours that are of another operator. */
assay_status bench_processes_need(bench_session *s, const char *op,
                                  const bench_arms *arms) ASSAY_MUST_CHECK;

/* The arm's process; NULL: it was never needed. */
bench_process *bench_processes_find(const bench_session *s, const char *op, const bench_arm *what);
void bench_processes_end(bench_session *s);

#endif
