/*
 * An arm of our own: the case that it was given, and the commands that it obeys (docs/bench.md,
 * "How an arm talks").
 */
#ifndef ASSAY_BENCH_ARMS_ARM_H
#define ASSAY_BENCH_ARMS_ARM_H

#include "bench/arms/set.h"
#include "bench/arms/shared.h"
#include "bench/arms/words.h"
#include "bench/arms/work.h"
#include "engine/inside.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { ARM_MOST_SETS = 64, ARM_MOST_COUNT = 1000000 };

typedef struct arm_state {
    const char *op, *name; /* "kronecker", "v3"; of the arm that times the timer: NULL, "clock" */
    inside_kernel kernel;  /* the file that the variant is in; NULL: built in */
    work_place place;      /* device NULL: no hello yet */
    shared memory;
    form form;
    bool has_case;
    set sets[ARM_MOST_SETS];
    int64_t n_sets, set; /* the one that is being described */
    work work;
    bool ready;
} arm_state;

/* Cuts the word up, OP/VARIANT or "clock"; any other is refused at hello. */
void arm_init(arm_state *a, char *word, const inside_kernel *kernel);
void arm_clear(arm_state *a);

/* One line; the answer's text behind `ok` is written to `answer`. */
assay_status arm_obey(arm_state *a, char *line, FILE *answer) ASSAY_MUST_CHECK;

/* Called when the answer is out: work that may take time now. */
void arm_rest(arm_state *a);

/* "unavailable", "memory" or "error": the class of an answer that is not ok. */
const char *arm_class(assay_status status);

/* ---- the commands, for arm.c ---- */

typedef assay_status (*arm_action)(arm_state *a, words *w, FILE *answer);

/* The step that a command needs before it. */
typedef enum arm_phase {
    ARM_STARTED,
    ARM_HAS_DEVICE,
    ARM_HAS_CASE,
    ARM_HAS_SET,
    ARM_READY
} arm_phase;

typedef struct arm_command {
    const char *name;
    arm_phase phase;
    bool last_phase; /* not any more once it is ready */
    arm_action act;
} arm_command;

/* Ends with one without a name. */
extern const arm_command arm_variant_commands[], arm_clock_commands[];

assay_status arm_hello(arm_state *a, words *w, FILE *answer) ASSAY_MUST_CHECK;

#endif
