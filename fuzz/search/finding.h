/* The findings of a campaign: different failures, each with its smallest case. */
#ifndef ASSAY_FUZZ_SEARCH_FINDING_H
#define ASSAY_FUZZ_SEARCH_FINDING_H

#include "fuzz/search/check.h"

typedef struct fuzz_finding {
    int32_t target;
    fuzz_failure failure;
    int64_t first;                /* the case that showed it first */
    double seconds;               /* of the campaign until then */
    char found[ASSAY_CASE_TEXT];  /* that case */
    char shrunk[ASSAY_CASE_TEXT]; /* the smallest one */
    bool again;                   /* it failed again when it was shrunk */
    bool smallest;                /* shrinking came to its end */
} fuzz_finding;

typedef struct fuzz_findings {
    fuzz_finding *finding;
    int32_t count, room;
} fuzz_findings;

void fuzz_findings_clear(fuzz_findings *all);

/* Adds one that no other is: by variant, kind, relation and smallest case. */
assay_status fuzz_findings_add(fuzz_findings *all, const fuzz_finding *finding) ASSAY_MUST_CHECK;

#endif
