/*
 * Golden files made wrong: one case after the other with one tensor changed, written anew so that
 * every hash in the file is right, and then verified as `assay golden verify` does. Where an edit
 * lies within the difference that two fp64 computations may have, the oracle cannot tell it from
 * the truth; only the digest of the whole file does (golden/SHA256SUMS).
 */
#ifndef ASSAY_MUTANTS_GOLDEN_EDIT_H
#define ASSAY_MUTANTS_GOLDEN_EDIT_H

#include "assay/op.h"

typedef enum golden_edit {
    GOLDEN_ULP,     /* the next double, in the middle of the tensor */
    GOLDEN_ELEMENT, /* the largest element 3 % larger */
    GOLDEN_ROW,     /* the last row zero */
    GOLDEN_SWAP,    /* exchanged with another tensor of its group */
} golden_edit;
enum { GOLDEN_EDITS = 4 };

/* "ulp": stable words. */
const char *golden_edit_name(golden_edit edit);

typedef struct golden_score {
    int64_t made;
    int64_t refused; /* the reader does not take it */
    int64_t wrong;   /* it disagrees with our oracle */
    int64_t within;  /* only the file's digest tells */
} golden_score;

/* One result of one case that was changed without the numbers telling. Inputs that were are another
 * problem, with answers that are right all the same: the terms of a sum, swapped. */
typedef void (*golden_edit_visitor)(const char *case_text, const char *tensor, golden_edit edit,
                                    void *context);

/* All edits of the operator's file, in a file below `folder`; adds to the scores. */
assay_status golden_edits_check(const assay_op *op, const char *folder,
                                golden_score score[GOLDEN_EDITS], golden_edit_visitor visit,
                                void *context) ASSAY_MUST_CHECK;

#endif
