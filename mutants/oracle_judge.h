/*
 * Who judges a mutated oracle: the suite's own tests. The oracle, compiled as a shared object,
 * takes the place of the one in assay_tests (graft.c), and some test of its operator must then
 * fail.
 */
#ifndef ASSAY_MUTANTS_ORACLE_JUDGE_H
#define ASSAY_MUTANTS_ORACLE_JUDGE_H

#include "mutants/judge.h"

assay_status judge_oracle(const judge *j, const mutant *m, mutant_result *result) ASSAY_MUST_CHECK;

#endif
