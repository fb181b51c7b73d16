/* A mutant of one variant, compiled at one level, and the questions of that level. */
#ifndef ASSAY_MUTANTS_MUTANT_RUN_H
#define ASSAY_MUTANTS_MUTANT_RUN_H

#include "mutants/checker.h"
#include "mutants/subject.h"

typedef struct mutant_run {
    checker *checker;
    build_level level;
    const source_user *user;
    subject subject; /* open */
    mutant_result *result;
} mutant_run;

/* Until one of them finds it wrong: the result's outcome is then no longer pending. */
assay_status mutant_run_ask_all(mutant_run *run) ASSAY_MUST_CHECK;

#endif
