/* Many mutants, many checkers: processes that take the next mutant when they are done. */
#ifndef ASSAY_MUTANTS_CAMPAIGN_H
#define ASSAY_MUTANTS_CAMPAIGN_H

#include "mutants/checker.h"

typedef struct campaign {
    const builder *builder;
    operator_cases *cases;
    int32_t n_cases;
    const mutant *const *mutant; /* those to check, neighbours of one operator */
    int32_t count;
    int32_t jobs;   /* processes */
    double seconds; /* after which no mutant is begun; 0: all are */

    /* Hears of each when it is checked, `done` of them by then. */
    void (*visit)(const mutant *m, const mutant_result *result, int32_t done, void *context);
    void *context;
    bool (*interrupted)(void); /* true: end with the results so far */
} campaign;

/* *begun: how many were, from the first on. ASSAY_ERR_*: it could not go on, because no process can
 * be started, say; mutants that were not visited are not checked. */
assay_status campaign_run(const campaign *c, int32_t *begun) ASSAY_MUST_CHECK;

#endif
