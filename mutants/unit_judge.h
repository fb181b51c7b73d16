/*
 * Who judges a header that kernels share before any kernel does: its own test, tests/sim/X.cu of
 * kernels/common/X.h, where there is one. It knows what the header promises, which is more than
 * bounds of operators can tell.
 */
#ifndef ASSAY_MUTANTS_UNIT_JUDGE_H
#define ASSAY_MUTANTS_UNIT_JUDGE_H

#include "mutants/judge.h"

#include <stdio.h>

/* A mutant that this judge has nothing to say about stays MUTANT_PENDING. */
assay_status judge_unit(const judge *j, const mutant *m, mutant_result *result) ASSAY_MUST_CHECK;

enum { UNIT_NAME = 64 };

/* X, of the file `path`, and whether tests/sim/X.cu of the tree has tests. */
assay_status unit_find(const char *root, const char *path, char name[UNIT_NAME],
                       bool *found) ASSAY_MUST_CHECK;

/* What a run of tests that failed was doing, from its output: the test that was running, "" if none
 * began; and its last line. */
void unit_read_log(FILE *log, char test[ASSAY_CASE_TEXT], char reason[LAYER_REASON]);

#endif
