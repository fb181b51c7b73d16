#include "bench/processes.h"
#include "bench/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPIN = 200 /* us */, SPINS = 31, COPIES = 11, COPY_BYTES = 1 << 30 };

static assay_status numbers(const char *answer, double *number, int count) {
    for (int i = 0; i < count; ++i) {
        char *end;
        number[i] = strtod(answer, &end);
        if (end == answer || !(number[i] > 0 && number[i] < INFINITY))
            return assay_fail(ASSAY_ERR_KERNEL, "the clock gave %d times of %d", i, count);
        answer = end;
    }
    return ASSAY_OK;
}

/* A kernel of known duration, as the timer sees it. */
static assay_status spin(arm_process *a, bench_environment *e) {
    double sample[SPINS];
    bench_summary summary;
    assay_status status = arm_process_ask(a, PROCESS_ANSWER, "spin %d %d", SPIN, SPINS);
    if (status == ASSAY_OK)
        status = numbers(a->answer, sample, SPINS);
    if (status == ASSAY_OK)
        status = bench_summarise(sample, SPINS, &summary);
    if (status != ASSAY_OK)
        return status;
    e->known = SPIN;
    e->measured = summary.median;
    e->noise = summary.p90 / summary.p10 - 1;
    return ASSAY_OK;
}

/* Bytes read and written. */
static assay_status copy(arm_process *a, bench_environment *e) {
    double sample[COPIES];
    assay_status status = arm_process_ask(a, PROCESS_ANSWER, "copy %d %d", COPY_BYTES, COPIES);
    if (status == ASSAY_OK)
        status = numbers(a->answer, sample, COPIES);
    if (status == ASSAY_OK)
        e->copy_bytes = 2e6 * (double)COPY_BYTES / bench_median(sample, COPIES);
    return status;
}

assay_status bench_session_calibrate(bench_session *s) {
    const bench_arm clock = {.name = "clock", .program = BENCH_PROGRAM_OURS};
    char *argv[BENCH_ARGV];
    arm_process a;
    assay_status status = bench_arm_command(&clock, NULL, argv);
    if (status == ASSAY_OK)
        status = arm_process_start(&a, argv, s->memory.file);
    if (status != ASSAY_OK)
        return status;
    status = arm_process_ask(&a, PROCESS_START, "hello %s", s->device->name);
    if (status == ASSAY_OK)
        status = spin(&a, &s->results->environment);
    if (status == ASSAY_OK)
        status = copy(&a, &s->results->environment);
    arm_process_end(&a);
    return status;
}
