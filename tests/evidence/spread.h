/* How far correct kernels stay from their bounds, and that none of them is called wrong. */
#ifndef ASSAY_EVIDENCE_SPREAD_H
#define ASSAY_EVIDENCE_SPREAD_H

#include "tests/evidence/workers.h"

/* Of each result, one variant's in one case, but for the seconds. */
enum spread_series {
    SPREAD_RATIO,      /* the worst of its elements: error / bound; not in the exact tier */
    SPREAD_EXACT,      /* 1: in the exact tier */
    SPREAD_ALARM,      /* 1: called wrong */
    SPREAD_MISTRUSTED, /* 1: right on data that prove nothing */
    SPREAD_SKIPPED,    /* 1: the variant cannot do the case */
    SPREAD_SECONDS,    /* of the whole check of a case */
    SPREAD_SERIES,
};
extern const char *const spread_names[SPREAD_SERIES];

/* An examiner. Alarms go to stderr, each with the command that shows it again. */
assay_status spread_examine(const assay_case *c, const assay_device *device, const char *variant,
                            histogram *page);

/* A Markdown table of all modes. */
void spread_table(const ledger *l, FILE *to);
int64_t spread_alarms(const ledger *l);

#endif
