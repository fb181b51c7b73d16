/*
 * Where a campaign's cases come from: case i of an operator, drawn afresh or made from another by a
 * small change. Either is a function of the operator, the seed and i alone (and of that other
 * case).
 *
 * A fresh case is one of random.h; every second one then gets edges: extents on both sides of the
 * sizes at which kernels change their behaviour (a warp, a tile of the kernels under test, powers
 * of two, primes, 0, 1, 2), within about the same work.
 */
#ifndef ASSAY_FUZZ_SEARCH_SOURCE_H
#define ASSAY_FUZZ_SEARCH_SOURCE_H

#include "assay/device.h"
#include "engine/random.h"

enum { FUZZ_EDGES = 512 };

/* Multiply-adds of a case on the simulated device. */
#define FUZZ_SIM_BUDGET 65536.0

typedef struct fuzz_source {
    const assay_op *op;
    uint64_t seed;
    double budget;            /* multiply-adds of a case, about */
    const char *const *fixed; /* key=value words that hold for every case; a,b,c: one of them */
    int32_t n_fixed;
    bool sampled; /* cases are made up of few rows: only such are drawn */
    bool big;     /* of these, only ones of more than 2^31 elements or 2^32 bytes (big.h) */
    int64_t edge[FUZZ_EDGES]; /* extents worth a try */
    int32_t n_edges;
} fuzz_source;

/* Adds the extents that are worth a try for every kernel, and the tiles of these variants of the
 * operator (variant.h); `variants` as assay_check() takes them. */
void fuzz_source_edges(fuzz_source *s, const assay_device *device, const char *const *variants,
                       int32_t n_variants);

/* ASSAY_ERR_USAGE when no drawn case fits the fixed words, with the reason. */
assay_status fuzz_source_draw(const fuzz_source *s, int64_t index, assay_case *c) ASSAY_MUST_CHECK;

/* A case of small extents but one, that of key `k`, which is as large as a case of a few seconds
 * may have it, or up to twice as large; so many times halved. ASSAY_ERR_USAGE: there is none. */
assay_status fuzz_source_longest(const fuzz_source *s, int32_t k, int32_t halvings, int64_t index,
                                 assay_case *c) ASSAY_MUST_CHECK;

/* `parent` with one or two things changed; a fresh case where the parent is more work than the
 * budget of case `index`. */
assay_status fuzz_source_alter(const fuzz_source *s, int64_t index, const assay_case *parent,
                               assay_case *c) ASSAY_MUST_CHECK;

#endif
