/*
 * A file with a test of its own is first checked by that: tests/sim/X.cu of kernels/common/X.h, and
 * tests/sim/v3_OP.cu of all files of kernels/OP/ whose names begin with v3. It checks the
 * promises of their comments, which are stricter than bounds of operators.
 */
#ifndef ASSAY_MUTANTS_UNIT_CHECK_H
#define ASSAY_MUTANTS_UNIT_CHECK_H

#include "mutants/checker.h"

#include <stdio.h>

/* A mutant that this check has nothing to say about stays MUTANT_PENDING. */
assay_status check_unit(const checker *k, const mutant *m, mutant_result *result) ASSAY_MUST_CHECK;

enum { UNIT_NAME = 64 };

/* X, of the file `path`, and whether tests/sim/X.cu of the tree has tests. */
assay_status unit_find(const char *root, const char *path, char name[UNIT_NAME],
                       bool *found) ASSAY_MUST_CHECK;

/* From the output of a run of tests that failed: the test that was running, "" if none began; and
 * the last line. */
void unit_read_log(FILE *log, char test[ASSAY_CASE_TEXT], char reason[LAYER_REASON]);

#endif
