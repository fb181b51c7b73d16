/*
 * A process that runs arms, as docs/bench.md has it: asked one line at a time, ended by force when
 * it does not answer.
 */
#ifndef ASSAY_BENCH_ARM_PROCESS_H
#define ASSAY_BENCH_ARM_PROCESS_H

#include "assay/status.h"
#include "engine/process/process.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct arm_process {
    /* The caller's, to be set once it is started: asked while an answer is waited for; false ends
     * the process. NULL: never. */
    bool (*go_on)(void *context);
    void *context;

    process process;
    char *heard; /* bytes that came and are not yet a line */
    size_t heard_bytes, heard_room;
    char *answer; /* the last answer's text behind "ok "; "" if it had no text */
} arm_process;

/* argv as for execvp, NULL at its end; `memory` becomes its descriptor 3. */
assay_status arm_process_start(arm_process *a, char *const argv[], int memory) ASSAY_MUST_CHECK;

/*
 * Sends one line and waits for the answer, which is then in a->answer.
 *   ASSAY_ERR_UNSUPPORTED, ASSAY_ERR_MEMORY, ASSAY_ERR_KERNEL   it said no: unavailable, memory,
 * error ASSAY_ERR_DEVICE   it broke, or did not answer within `seconds`; it has been ended
 */
assay_status arm_process_ask(arm_process *a, double seconds, const char *format, ...)
    ASSAY_PRINTF(3, 4) ASSAY_MUST_CHECK;

/* The same in two parts, so that several arms can be at work. */
assay_status arm_process_send(arm_process *a, const char *format, ...)
    ASSAY_PRINTF(2, 3) ASSAY_MUST_CHECK;
assay_status arm_process_receive(arm_process *a, double seconds) ASSAY_MUST_CHECK;

bool arm_process_runs(const arm_process *a);

/* Ends it with all that it started. */
void arm_process_end(arm_process *a);

#endif
