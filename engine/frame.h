/*
 * One run of a variant as memory that two processes share: who is to run on which problem, and room
 * for what it leaves. Tensors are dense fp64 arrays, as in a problem: the process that runs the
 * variant builds the buffers, guard zones and all, and a whole from the small problem that stands
 * for it. Nothing of the oracle is in here.
 */
#ifndef ASSAY_ENGINE_FRAME_H
#define ASSAY_ENGINE_FRAME_H

#include "assay/problem.h"
#include "engine/sample.h"

#include <stdbool.h>

enum { FRAME_NAME = 64, FRAME_LINE = 512 };

/* Which branches of the kernels' code were taken, by a hash of where they are: 1, otherwise 0; in
 * builds with -DASSAY_COVERAGE=ON, for `assay fuzz`. */
#if defined(ASSAY_COVERAGE)
enum { FRAME_EDGES = 1 << 16 };
#else
enum { FRAME_EDGES = 1 };
#endif

typedef struct frame_head {
    char op[FRAME_NAME], variant[FRAME_NAME];
    char key[ASSAY_MAX_KEYS][FRAME_NAME]; /* what the names in `params` point to */
    assay_params params;
    int64_t pad, misalign;
    assay_schedule schedule;
    int32_t multiprocessors;
    uint64_t seed; /* of the schedule */
    int32_t n_in, n_out;
    /* Where the problem stands for a larger one, which the other side runs (sample.h). */
    bool sampled;
    int64_t n_rows; /* the problem's own */
    assay_params whole;
    int32_t rehearsals; /* runs on other data before the one that counts */
    bool backward;

    /* The answer. */
    bool answered;
    assay_status status;
    assay_failure failure;
    char line[FRAME_LINE];
    uint8_t edges[FRAME_EDGES];
} frame_head;

typedef struct frame {
    frame_head *head;
    size_t bytes; /* of the mapping */
    int file;
    /* Views of the mapping; `problem` has no fill, and an operator with no more than a name. */
    assay_problem problem;
    assay_results results;
    assay_op op;
    sample origin; /* what `problem` stands for */
} frame;

/* A new frame with the problem's data in it, and NaN where results go. */
assay_status frame_init(frame *f, const char *variant, const assay_problem *problem,
                        int32_t rehearsals) ASSAY_MUST_CHECK;

/* Maps the frame that another process made; takes `file` over. */
assay_status frame_open(frame *f, int file) ASSAY_MUST_CHECK;
void frame_clear(frame *f);

/* Copies the results out of the frame. */
void frame_results(const frame *f, assay_results *got);

#endif
