/*
 * A mutated oracle is checked by the suite's own tests. The oracle, compiled as a shared object,
 * takes the place of the one in assay_tests (graft.c), and some test of its operator must then
 * fail.
 */
#ifndef ASSAY_MUTANTS_ORACLE_CHECK_H
#define ASSAY_MUTANTS_ORACLE_CHECK_H

#include "mutants/checker.h"

assay_status check_oracle(const checker *k, const mutant *m,
                          mutant_result *result) ASSAY_MUST_CHECK;

#endif
