/* Whole cases between a record and an open file. */
#ifndef ASSAY_GOLDEN_STORE_H
#define ASSAY_GOLDEN_STORE_H

#include "golden/file.h"
#include "golden/record.h"

/* Reads the case that is stored under `c` (golden_stored_case) and verifies all of it. */
assay_status golden_load(const golden_file *file, const assay_case *c,
                         golden_record *record) ASSAY_MUST_CHECK;

/* Writes a case, every tensor that is there, and sets the record's digests. */
assay_status golden_save(const golden_file *file, golden_record *record) ASSAY_MUST_CHECK;

/* The same as assay_golden_visit, of an open file. */
assay_status golden_visit(const golden_file *file, assay_golden_visitor visit,
                          void *context) ASSAY_MUST_CHECK;

/* Opens the group called `name`; `place` is its full name. */
assay_status golden_open_group(const golden_file *file, hid_t parent, const char *name,
                               const char *place, hid_t *group) ASSAY_MUST_CHECK;

#endif
