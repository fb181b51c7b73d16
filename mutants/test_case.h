/*
 * The cases that mutants are checked by: an operator's, with the oracle's answers, made once and
 * used for every mutant. Verdicts are those of the check engine (engine/check.h): each element
 * within its bound, exact data to the bit, and against v1 where the operator has that tier.
 */
#ifndef ASSAY_MUTANTS_TEST_CASE_H
#define ASSAY_MUTANTS_TEST_CASE_H

#include "assay/device.h"
#include "assay/problem.h"
#include "engine/baseline_tier.h"
#include "mutants/layer.h"

/* Where a case comes from; in this order they are tried. */
typedef enum test_case_set {
    TEST_CASE_SMOKE,
    TEST_CASE_CI,
    TEST_CASE_EDGE,
    TEST_CASE_RANDOM
} test_case_set;
enum { TEST_CASE_SETS = 4 };

typedef struct test_case {
    test_case_set set;
    const char *text; /* the case's, the caller's own */
    assay_problem problem;
    assay_reference reference;
    assay_results v1; /* the baseline's; empty where that tier does not apply */
    baseline_tier tier;
    bool ready;
} test_case;

/* Makes the data and the answers, unless they are there. */
assay_status test_case_prepare(test_case *t) ASSAY_MUST_CHECK;
void test_case_clear(test_case *t);

/* Which layer finds the results wrong, with the reason; LAYER_NONE: none does. */
mutant_layer test_case_check(test_case *t, const assay_results *got, char reason[LAYER_REASON]);

#endif
