/*
 * Golden files: problems with the answers of a named source, in HDF5. docs/golden-format.md gives
 * the layout. Files are written whole: to a temporary file, read back, verified, then renamed.
 */
#ifndef ASSAY_GOLDEN_H
#define ASSAY_GOLDEN_H

#include "assay/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ASSAY_GOLDEN_SOURCE = 256 };

typedef struct assay_golden {
    assay_problem problem;
    assay_results want;               /* absent arrays: the source did not give that tensor */
    char source[ASSAY_GOLDEN_SOURCE]; /* its origin: library, version, machine */
    bool foreign;                     /* not computed by assay's own oracle */
} assay_golden;

/* Reads and checks one case: schema, dtype, shapes, SHA-256 of every input. ASSAY_ERR_FILE names
 * the file, the place in it and what to do. */
assay_status assay_golden_read(const char *path, const assay_case *c,
                               assay_golden *golden) ASSAY_MUST_CHECK;
void assay_golden_clear(assay_golden *golden);

/* Hands the canonical text of each case in the file to `visit`, in the file's order (by name). */
typedef assay_status (*assay_golden_visitor)(const char *case_text, const char *source,
                                             bool foreign, void *context);
assay_status assay_golden_visit(const char *path, assay_golden_visitor visit,
                                void *context) ASSAY_MUST_CHECK;

/* Compares a golden file with the list SHA256SUMS beside it: ASSAY_ERR_FILE when its digest is
 * another. Without a list, or a line for the file, *listed is false and nothing is compared. */
assay_status assay_golden_check_listed(const char *path, bool *listed) ASSAY_MUST_CHECK;

/* Adds or replaces one case made by our own oracle; all others stay. Creates the file if absent,
 * and keeps the list SHA256SUMS beside it true if there is one. */
assay_status assay_golden_write(const char *path, const assay_problem *problem,
                                const assay_reference *reference) ASSAY_MUST_CHECK;

/* The same for the answers of another program, named by `source`: a foreign case, without bounds. A
 * case that is there already is not replaced. */
assay_status assay_golden_import(const char *path, const assay_problem *problem,
                                 const assay_results *want, const char *source) ASSAY_MUST_CHECK;

/* "<directory>/<op>.h5": the directory is $ASSAY_GOLDEN_DIR, or the golden files of
 * this build tree or of the installed tree. */
assay_status assay_golden_path(const assay_op *op, char *path, size_t size) ASSAY_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
