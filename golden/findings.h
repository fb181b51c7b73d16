/*
 * Findings files: the failures that `assay fuzz` found, with tensors, in the formats of state files
 * (state.h): a group for each finding, 0001 and on, with the texts (writer.h)
 *
 *     case      the smallest case that fails so     variant, device   of what
 *     kind      what kind of failure it is          relation, tensor  "" where there is none
 *     reason    a line: where, and by how much      found             the case as it was met
 *
 * and the smallest case's tensors, "0001/in/x":
 *
 *     in, cot                    inputs and cotangents
 *     out, grad                  the variant's results; missing where it gave none
 *     want_out, want_grad        the oracle's results, fp64
 *     bound_out, bound_grad      by how much each element may be off, fp64
 *
 * The first four are those of a state file, and are read as one: assay_state_read("f.npz:1").
 */
#ifndef ASSAY_FINDINGS_H
#define ASSAY_FINDINGS_H

#include "assay/problem.h"
#include "golden/writer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct assay_finding_record {
    const char *variant, *device, *kind, *relation, *tensor, *reason, *found;
    const assay_problem *problem;     /* of the smallest case */
    const assay_results *got;         /* NULL: none */
    const assay_reference *reference; /* NULL: none */
} assay_finding_record;

/* Findings are numbered from 1. */
assay_status assay_findings_add(tensor_writer *w, int32_t number,
                                const assay_finding_record *record) ASSAY_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
