/*
 * What guides a campaign: cases that brought something new, a branch of a kernel that none before
 * had taken, or a tensor nearer to its bound than any before by an octave. They breed.
 *
 * A pool only grows, in the order of the cases: what it was after some case is its first so many
 * members.
 */
#ifndef ASSAY_FUZZ_SEARCH_POOL_H
#define ASSAY_FUZZ_SEARCH_POOL_H

#include "fuzz/search/judge.h"

typedef struct fuzz_member {
    int32_t target; /* which operator of the campaign it is of */
    assay_case c;
} fuzz_member;

typedef struct fuzz_pool {
    fuzz_member *member;
    int32_t count, room;
    fuzz_mark *mark; /* the best octave of each key, in no order */
    int32_t n_marks, mark_room;
    uint8_t edges[FRAME_EDGES]; /* 1: was ever taken */
} fuzz_pool;

void fuzz_pool_clear(fuzz_pool *pool);

/* Looks at a case's result, and keeps the case if it brought something new. */
assay_status fuzz_pool_offer(fuzz_pool *pool, int32_t target, const assay_case *c,
                             const fuzz_result *result) ASSAY_MUST_CHECK;

assay_status fuzz_pool_add(fuzz_pool *pool, int32_t target, const assay_case *c) ASSAY_MUST_CHECK;
assay_status fuzz_pool_mark(fuzz_pool *pool, const fuzz_mark *mark, bool *best) ASSAY_MUST_CHECK;

/* A member of that target among the first `count`, later ones sooner; NULL: there is none. */
const fuzz_member *fuzz_pool_choose(const fuzz_pool *pool, int32_t target, int32_t count,
                                    assay_rng *rng);

/* Branches taken so far. */
int32_t fuzz_pool_edges(const fuzz_pool *pool);

#endif
