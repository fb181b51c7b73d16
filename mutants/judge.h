/*
 * One mutant before all judges, in the order of what they cost: a shared header's own test, where
 * there is one; then kernels, compiled without optimisation and run on the smoke cases; what
 * survives, as the build compiles kernels, on all cases of ci and edge, relations, determinism,
 * golden files and random cases; what survives that, with AddressSanitizer and with the race
 * recorder.
 *
 * Nobody is killed by a judge who would kill the original too: what found a mutant is asked about
 * the unchanged kernel, or header, built likewise, and must find nothing.
 */
#ifndef ASSAY_MUTANTS_JUDGE_H
#define ASSAY_MUTANTS_JUDGE_H

#include "mutants/build.h"
#include "mutants/mutant.h"
#include "mutants/trial.h"

enum { MUTANT_VARIANT = 64 };

typedef enum mutant_outcome {
    MUTANT_PENDING,
    MUTANT_KILLED,
    MUTANT_SURVIVED,
    MUTANT_SAME_CODE,  /* the compiler makes the original's program of it: no mutant at all */
    MUTANT_NO_PROGRAM, /* it does not compile: no mutant either */
    MUTANT_BROKEN,     /* the judge failed: nothing is known */
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
typedef struct judge_cases {
    const assay_op *op;
    trial *trial; /* in the order in which they are tried */
    int32_t n_trials;
} judge_cases;

typedef struct judge {
    const builder *builder;
    judge_cases *cases; /* of each operator that has mutants */
    int32_t n_cases;
    char place[BUILD_FOLDER + 32]; /* a folder of this judge's own */
    uint64_t *cleared;             /* questions that an original has passed, as hashes */
    int32_t n_cleared, room;
} judge;

/* `number` tells judges that work at once apart. */
assay_status judge_init(judge *j, const builder *b, judge_cases *cases, int32_t n_cases,
                        int32_t number) ASSAY_MUST_CHECK;
void judge_clear(judge *j);

/* Trouble around the mutant is an outcome too: MUTANT_BROKEN, with the line. */
void judge_mutant(judge *j, const mutant *m, mutant_result *result);

#endif
