/*
 * All checks of one mutant, the cheapest first: a shared header's own test, where there is one;
 * then kernels, compiled without optimisation and run on the smoke cases. A mutant that survives is
 * compiled as the build compiles kernels, and goes through all cases of ci and edge, relations,
 * determinism, golden files and random cases. One that survives that as well is run with
 * AddressSanitizer and with the race recorder.
 *
 * No mutant is killed by a check that would kill the original too: the check that found a mutant is
 * repeated on the unchanged kernel, or header, built likewise, and must find nothing.
 */
#ifndef ASSAY_MUTANTS_CHECKER_H
#define ASSAY_MUTANTS_CHECKER_H

#include "mutants/build.h"
#include "mutants/mutant.h"
#include "mutants/test_case.h"

enum { MUTANT_VARIANT = 64 };

typedef enum mutant_outcome {
    MUTANT_PENDING,
    MUTANT_KILLED,
    MUTANT_SURVIVED,
    MUTANT_SAME_CODE,  /* the compiler makes the original's program of it: no mutant at all */
    MUTANT_NO_PROGRAM, /* it does not compile: no mutant either */
    MUTANT_BROKEN,     /* the check failed: nothing is known */
} mutant_outcome;
enum { MUTANT_OUTCOMES = 6 };

/* "killed": stable words. */
const char *mutant_outcome_name(mutant_outcome outcome);
/* MUTANT_OUTCOMES when there is none of that name. */
mutant_outcome mutant_outcome_find(const char *name);

/* Of one size, to lie in memory that processes share. */
typedef struct mutant_result {
    mutant_outcome outcome;
    mutant_layer layer;           /* that killed it */
    char variant[MUTANT_VARIANT]; /* op/variant that was found wrong */
    char by[ASSAY_CASE_TEXT];     /* the case, or the relation and the case */
    char reason[LAYER_REASON];
    double seconds; /* wall clock, of everything */
} mutant_result;

/* An operator's cases. */
typedef struct operator_cases {
    const assay_op *op;
    test_case *test; /* in the order in which they are tried */
    int32_t n_tests;
} operator_cases;

typedef struct checker {
    const builder *builder;
    operator_cases *cases; /* of each operator that has mutants */
    int32_t n_cases;
    char place[BUILD_FOLDER + 32]; /* a folder of this checker's own */
    uint64_t *cleared;             /* questions that an original has passed, as hashes */
    int32_t n_cleared, room;
} checker;

/* `number` tells checkers that work at once apart. A checker lasts as long as its process. */
assay_status checker_init(checker *k, const builder *b, operator_cases *cases, int32_t n_cases,
                          int32_t number) ASSAY_MUST_CHECK;

/* Trouble around the mutant is an outcome too: MUTANT_BROKEN, with the line. */
void check_mutant(checker *k, const mutant *m, mutant_result *result);

#endif
