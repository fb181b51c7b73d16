/* Where the cases come from: drawn at random, or those of a set. */
#ifndef ASSAY_EVIDENCE_SOURCE_H
#define ASSAY_EVIDENCE_SOURCE_H

#include "tests/evidence/mode.h"

typedef struct source {
    bool from_set;
    assay_set set;
    uint64_t seed; /* of the draws */
    double budget; /* multiply-adds of one drawn case */
} source;

/* The fills that a case may have, as a mask. */
enum {
    FILLS_ALL = (1 << ASSAY_FILLS) - 1,
    FILLS_EXACT = ASSAY_FILL_BIT(ASSAY_FILL_EXACT),
    /* Random data of one scale, whose bounds are the tightest. */
    FILLS_PLAIN = ASSAY_FILL_BIT(ASSAY_FILL_NORMAL) | ASSAY_FILL_BIT(ASSAY_FILL_UNIFORM) |
                  ASSAY_FILL_BIT(ASSAY_FILL_POSITIVE),
};

/* Case `index` of the mode; ASSAY_ERR_UNSUPPORTED when there is none, nor will be a later one. */
assay_status source_case(const source *s, const mode *m, unsigned fills, int64_t index,
                         assay_case *c) ASSAY_MUST_CHECK;

#endif
