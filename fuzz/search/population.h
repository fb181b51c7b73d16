/*
 * The cases that a campaign breeds from: each took a branch of a kernel for the first time, or came
 * nearer to the bound of a tensor than all cases before it by an octave.
 *
 * A population only grows, in the order of the cases: its state after some case is its first so
 * many members.
 */
#ifndef ASSAY_FUZZ_SEARCH_POPULATION_H
#define ASSAY_FUZZ_SEARCH_POPULATION_H

#include "fuzz/search/check.h"

typedef struct fuzz_member {
    int32_t target; /* which operator of the campaign it is of */
    assay_case c;
} fuzz_member;

typedef struct fuzz_population {
    fuzz_member *member;
    int32_t count, room;
    fuzz_mark *mark; /* the best octave of each key, in no order */
    int32_t n_marks, mark_room;
    uint8_t edges[FRAME_EDGES]; /* 1: was ever taken */
} fuzz_population;

void fuzz_population_clear(fuzz_population *population);

/* Looks at a case's result, and keeps the case if it brought something new. */
assay_status fuzz_population_offer(fuzz_population *population, int32_t target, const assay_case *c,
                                   const fuzz_result *result) ASSAY_MUST_CHECK;

assay_status fuzz_population_add(fuzz_population *population, int32_t target,
                                 const assay_case *c) ASSAY_MUST_CHECK;
assay_status fuzz_population_mark(fuzz_population *population, const fuzz_mark *mark,
                                  bool *best) ASSAY_MUST_CHECK;

/* A member of that target among the first `count`, later ones sooner; NULL: there is no such
 * member. */
const fuzz_member *fuzz_population_choose(const fuzz_population *population, int32_t target,
                                          int32_t count, assay_rng *rng);

/* Branches taken so far. */
int32_t fuzz_population_edges(const fuzz_population *population);

#endif
