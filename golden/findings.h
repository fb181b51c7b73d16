/*
 * Findings files: the failures that `assay fuzz` found, with tensors, in plain HDF5. A group for
 * each finding, /0001 and on, has as attributes
 *
 *     case      the smallest case that fails so     variant, device   of what
 *     kind      what kind of failure it is          relation, tensor  "" where there is none
 *     reason    a line: where, and by how much      found             the case as it was met
 *
 * and holds the smallest case's tensors, in groups as state files have them (state.h):
 *
 *     in, cot                    inputs and cotangents
 *     out, grad                  the variant's results; missing where it gave none
 *     want_out, want_grad        the oracle's results, fp64
 *     bound_out, bound_grad      by how much each element may be off, fp64
 */
#ifndef ASSAY_FINDINGS_H
#define ASSAY_FINDINGS_H

#include "assay/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct assay_finding_record {
    const char *variant, *device, *kind, *relation, *tensor, *reason, *found;
    const assay_problem *problem;     /* of the smallest case */
    const assay_results *got;         /* NULL: none */
    const assay_reference *reference; /* NULL: none */
} assay_finding_record;

typedef struct assay_findings_file assay_findings_file;

/* Begins a file beside its place. ASSAY_ERR_FILE when nothing can be written there. */
assay_status assay_findings_begin(assay_findings_file **file, const char *path) ASSAY_MUST_CHECK;
assay_status assay_findings_add(assay_findings_file *file,
                                const assay_finding_record *record) ASSAY_MUST_CHECK;

/* Puts it into its place; ends it either way. */
assay_status assay_findings_commit(assay_findings_file *file) ASSAY_MUST_CHECK;

/* Leaves nothing of a file that was not committed; NULL does nothing. */
void assay_findings_discard(assay_findings_file *file);

#ifdef __cplusplus
}
#endif

#endif
