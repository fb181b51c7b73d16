/*
 * One problem of a variant as memory that two processes share: the call, its data, and room for its
 * results. Tensors are dense fp64 arrays, as in a problem: the process that runs
 * the variant builds the buffers, guard zones and all, and a whole from the small problem that
 * stands for it. Nothing of the oracle is in here.
 *
 * The variant's process can write all of it, so the other process trusts nothing in it: the file's
 * size is sealed, sizes and places come from that side's own problem, and an answer is copied once
 * and refused outside of its range (frame_answer).
 */
#ifndef ASSAY_ENGINE_FRAME_H
#define ASSAY_ENGINE_FRAME_H

#include "assay/problem.h"
#include "assay/rng.h"
#include "engine/sample.h"

#include <stdbool.h>

enum { FRAME_NAME = 64, FRAME_LINE = 512 };

/* Messages about a frame, a byte each. All but the last are answered. */
enum {
    FRAME_LOAD = 'l',  /* before any frame: can the kernel file be loaded? */
    FRAME_SHARE = 's', /* with a socket: such messages, of others, come through that, too */
    FRAME_OFFER = 'o', /* with its file, before there are any data: is the problem supported? */
    FRAME_RUN = 'r',   /* the data are there */
    FRAME_END = 'e',
};

/* Which branches of the kernels' code were taken, by a hash of where they are: 1, otherwise 0; in
 * builds with -DASSAY_COVERAGE=ON, for `assay fuzz`. */
#if defined(ASSAY_COVERAGE)
enum { FRAME_EDGES = 1 << 16 };
#else
enum { FRAME_EDGES = 1 };
#endif

typedef struct frame_head {
    char op[FRAME_NAME], variant[FRAME_NAME];
    char key[ASSAY_MAX_KEYS][FRAME_NAME]; /* storage of the names in `params` */
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
    bool same_places; /* tensors lie at the same addresses in every run of this problem */
    bool backward;
    bool keep_memory; /* the device may keep released memory, see device.h; from then on */

    /* The answer. */
    int32_t answered; /* 0: not yet */
    assay_status status;
    assay_failure failure;
    char line[FRAME_LINE];
    int32_t any_order; /* 0: no */
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
    sample origin; /* the whole that `problem` stands for */
} frame;

/* A new frame for the problem, as yet without its data. */
assay_status frame_init(frame *f, const char *variant, const assay_problem *problem,
                        bool same_places) ASSAY_MUST_CHECK;

/* A rehearsal's data for a tensor: the same elements in another order, so that they are legal. */
typedef void (*frame_rearranger)(assay_rng *rng, const double *from, double *to, int64_t count);

/* The problem's data go in, rearranged unless `how` is NULL; NaN where results go, no answer. */
void frame_fill(frame *f, const assay_problem *problem, frame_rearranger how, assay_rng *rng);

/* Maps the frame that another process made; takes `file` over. */
assay_status frame_open(frame *f, int file) ASSAY_MUST_CHECK;
void frame_clear(frame *f);

/* The other side's answer: how the run ended. ASSAY_ERR_KERNEL where that answer is not a legal
 * one. */
assay_status frame_answer(const frame *f) ASSAY_MUST_CHECK;

/* Copies the results out of the frame. */
void frame_results(const frame *f, assay_results *got);

#endif
