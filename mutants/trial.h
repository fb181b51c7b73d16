/*
 * What mutants are judged by, an operator's cases with the oracle's answers: made once, used for
 * every mutant. Verdicts are those of the check engine (engine/check.h): each element within
 * its bound, exact data to the bit, and against v1 where the operator has that tier.
 */
#ifndef ASSAY_MUTANTS_TRIAL_H
#define ASSAY_MUTANTS_TRIAL_H

#include "assay/device.h"
#include "assay/problem.h"
#include "mutants/layer.h"

/* Where a case comes from; in this order they are tried. */
typedef enum trial_set { TRIAL_SMOKE, TRIAL_CI, TRIAL_EDGE, TRIAL_RANDOM } trial_set;
enum { TRIAL_SETS = 4 };

typedef struct trial {
    trial_set set;
    const char *text; /* the case's, the caller's own */
    assay_problem problem;
    assay_reference reference;
    assay_results v1; /* the baseline's; empty where that tier does not apply */
    bool ready;
} trial;

/* Makes the data and the answers, unless they are there. */
assay_status trial_prepare(trial *t) ASSAY_MUST_CHECK;
void trial_clear(trial *t);

/* Which layer finds the results wrong, with the reason; LAYER_NONE: none does. */
mutant_layer trial_judge(const trial *t, const assay_results *got, char reason[LAYER_REASON]);

#endif
