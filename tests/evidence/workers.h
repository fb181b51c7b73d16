/* Many cases, shared out among processes; each has a device of its own. */
#ifndef ASSAY_EVIDENCE_WORKERS_H
#define ASSAY_EVIDENCE_WORKERS_H

#include "assay/device.h"
#include "tests/evidence/ledger.h"
#include "tests/evidence/source.h"

/* Looks at one case; `page`: the mode's series. */
typedef assay_status (*examiner)(const assay_case *c, const assay_device *device,
                                 const char *variant, histogram *page);

typedef struct work {
    source from;
    unsigned fills;
    const char *device;   /* its name */
    const char *variant;  /* NULL: all */
    int64_t first, cases; /* those first..first + cases - 1 of each mode */
    double seconds;       /* stop after that; modes share what is left of it evenly */
    int32_t jobs;
    examiner examine;
} work;

/* Adds what was found to `total`. An error of one process is the error of all. */
assay_status workers_run(const work *w, ledger *total) ASSAY_MUST_CHECK;

#endif
