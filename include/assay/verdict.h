/* The verdicts on numbers. Only ASSAY_PASS counts as a pass. */
#ifndef ASSAY_VERDICT_H
#define ASSAY_VERDICT_H

#ifdef __cplusplus
extern "C" {
#endif

/* Ordered by how much they weigh when verdicts are merged: the worst one wins. */
typedef enum assay_verdict {
    ASSAY_PASS,       /* every element within its bound */
    ASSAY_SKIP,       /* could not run here; the reason says why */
    ASSAY_MISTRUSTED, /* passed, but a wrong kernel would have passed as well */
    ASSAY_FAIL,       /* at least one wrong number */
    ASSAY_ERROR,      /* the harness or the kernel broke */
} assay_verdict;

/* "pass", "skip", "mistrusted", "fail", "error": stable words, used in every report format. */
const char *assay_verdict_name(assay_verdict verdict);

/* The verdict of a whole from the verdicts of its parts. A skip beside a pass leaves the pass:
 * it says that less was proven, not that something is wrong. */
assay_verdict assay_verdict_merge(assay_verdict a, assay_verdict b);

#ifdef __cplusplus
}
#endif

#endif
