/*
 * What was counted: a histogram for each mode (an operator in a dtype, strict or TF32) and each
 * series of it. A ledger lies in memory that processes share, and in CSV files that add up.
 */
#ifndef ASSAY_EVIDENCE_LEDGER_H
#define ASSAY_EVIDENCE_LEDGER_H

#include "tests/evidence/histogram.h"
#include "tests/evidence/mode.h"

#include <stdio.h>

typedef struct ledger {
    const modes *modes;
    int32_t n_series;
    const char *const *series; /* their names: words without commas */
    histogram *page;           /* n_modes * n_series */
} ledger;

/* All zero. ledger_clear() when done, also after an error. */
assay_status ledger_init(ledger *l, const modes *m, const char *const *series,
                         int32_t n_series) ASSAY_MUST_CHECK;
void ledger_clear(ledger *l);

histogram *ledger_at(const ledger *l, int32_t place, int32_t series);
void ledger_merge(ledger *to, const ledger *from);

/* Lines of op,dtype,math,series,value,count; the value is a bin's, but with a count of 0 it is the
 * largest of all. */
void ledger_write(const ledger *l, FILE *to);
/* Adds a file to the ledger; lines of modes that it does not have are passed over. */
assay_status ledger_read(ledger *l, const char *path) ASSAY_MUST_CHECK;

#endif
