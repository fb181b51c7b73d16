/* What errors and faults are caught, by this project's comparison and by others'. */
#ifndef ASSAY_EVIDENCE_SENSITIVITY_H
#define ASSAY_EVIDENCE_SENSITIVITY_H

#include "tests/evidence/faults.h"
#include "tests/evidence/methods.h"
#include "tests/evidence/workers.h"

/* For each method: whether it rejects the correct kernel (1) or not; the smallest size at which it
 * catches each kind of error; whether it catches each kind of fault. Errors are sought where the
 * method accepts the correct kernel. A fault that changes no result is not counted, nor are cases
 * in which zeros would pass for a tensor: the suite calls them mistrusted. */
enum {
    SENSITIVITY_PER_METHOD = 1 + ERROR_KINDS + FAULT_KINDS,
    SENSITIVITY_SERIES = METHODS * SENSITIVITY_PER_METHOD,
};
int32_t sensitivity_alarm(method m);
int32_t sensitivity_error(method m, error_kind kind);
int32_t sensitivity_fault(method m, fault_kind kind);
const char *const *sensitivity_names(void);

/* An examiner; without a variant it takes v1. */
assay_status sensitivity_examine(const assay_case *c, const assay_device *device,
                                 const char *variant, histogram *page);

/* Markdown: what is caught of each fault, and the smallest sizes, for each mode. */
void sensitivity_table(const ledger *l, FILE *to);

#endif
