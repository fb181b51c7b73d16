/* Looks for planted faults: by the cases of a set, and by those that `assay fuzz` draws. */
#ifndef ASSAY_MUTANTS_PLANTED_SEARCH_H
#define ASSAY_MUTANTS_PLANTED_SEARCH_H

#include "mutants/planted.h"

/* In the order of the table's columns: the set ci, the set nightly, a short campaign of fuzz, and a
 * long one, whose first cases are those of the short one. */
typedef enum planted_finder {
    PLANTED_CI,
    PLANTED_NIGHTLY,
    PLANTED_SHORT,
    PLANTED_LONG,
} planted_finder;
enum { PLANTED_FINDERS = 4 };

/* One fault, and the searches that found it. */
typedef struct planted_row {
    planted fault;
    planted_site site;
    bool found[PLANTED_FINDERS];
} planted_row;

typedef struct planted_plan {
    const assay_device *device; /* the simulated one, not isolated */
    uint64_t seed;
    int32_t each;                   /* faults at each site */
    int64_t cases[PLANTED_FINDERS]; /* of the campaigns */
    bool (*interrupted)(void);
} planted_plan;

/* Plants faults in the operator and looks for them: *row gets *count rows, to be freed. A campaign
 * is one that is not guided, of v1 alone. */
assay_status planted_search(const planted_plan *plan, const assay_op *op, planted_row **row,
                            int32_t *count) ASSAY_MUST_CHECK;

#endif
