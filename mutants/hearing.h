/* A mutant of one variant, compiled at one level, and the questions of that level. */
#ifndef ASSAY_MUTANTS_HEARING_H
#define ASSAY_MUTANTS_HEARING_H

#include "mutants/judge.h"
#include "mutants/seat.h"

typedef struct hearing {
    judge *j;
    build_level level;
    const source_user *user;
    seat seat; /* open */
    mutant_result *result;
} hearing;

/* Until one of them finds it wrong: the result's outcome is then no longer pending. */
assay_status hearing_ask_all(hearing *h) ASSAY_MUST_CHECK;

#endif
