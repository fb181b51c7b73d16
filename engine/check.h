/* The check engine: one case, some variants, one device; every tensor compared with the oracle. */
#ifndef ASSAY_ENGINE_CHECK_H
#define ASSAY_ENGINE_CHECK_H

#include "assay/compare.h"
#include "assay/device.h"
#include "assay/problem.h"

#include <stdbool.h>
#include <stdint.h>

enum { ASSAY_REASON = 416, ASSAY_REPRO = 1024 };

/* One tensor of one variant, or, when the variant gave no numbers (skip, error), one line for the
 * variant with tensor "". */
typedef struct assay_row {
    const char *variant;                /* "v1" */
    assay_stage stage;                  /* which call produced the tensor */
    char tensor[ASSAY_TENSOR_NAME + 1]; /* "y", "dx", "dw1_2" */
    assay_dtype dtype;
    int32_t rank;
    int64_t shape[ASSAY_MAX_RANK];
    assay_verdict verdict;
    assay_comparison cmp;      /* all zero for a skip or an error */
    const double *got, *want;  /* cmp.count elements of a series; NULL for other tensors */
    char why[ASSAY_WHY];       /* where the bound comes from */
    char reason[ASSAY_REASON]; /* why it is not a pass; "" for a pass */
    assay_failure failure;     /* of what kind an error is */
    char repro[ASSAY_REPRO];   /* a command that shows it again */
} assay_row;

/* Two variants' results for one tensor: they must be equal within the sum of both bounds. */
typedef struct assay_pair {
    const char *a, *b; /* variant names */
    char tensor[ASSAY_TENSOR_NAME + 1];
    bool agree;
    double distance; /* ‖a - b‖₂ */
} assay_pair;

typedef struct assay_report {
    assay_case c;
    char case_text[ASSAY_CASE_TEXT];
    const char *device; /* "sim" */
    int64_t sampled;    /* different rows that make up the case; 0: all are */
    assay_row *rows;    /* by variant, then in the signature's order: outputs, gradients */
    int32_t n_rows;
    assay_pair *pairs; /* by tensor, then v1-v2, v1-v3, v2-v3 */
    int32_t n_pairs;
    double *series;        /* storage of the rows' got and want */
    assay_verdict verdict; /* of all rows; an empty report is an error */
    double seconds;        /* wall time of the whole check */
    bool usage;            /* the words of the case were at fault: no variant could take it */
} assay_report;

/*
 * Checks `c`. `variants` names those wanted, `n_variants` of them; 0: all that the device has for
 * this operator. Returns an error only when there is nothing to report: unknown variant, bad golden
 * file, out of memory. A variant's own failure is a row.
 */
assay_status assay_check(const assay_case *c, const assay_device *device,
                         const char *const *variants, int32_t n_variants,
                         assay_report *report) ASSAY_MUST_CHECK;
void assay_report_clear(assay_report *report);

/* Of a forward_only case of a set: the sets' data tell every wrong kernel, some by its gradients
 * alone. A case that is mistrusted only because it has no gradients becomes a skip. */
void assay_report_excuse(assay_report *report);

/* The same, but it does not ask what the case's data prove. A wrong kernel may then pass on data
 * that assay_check() mistrusts; no right kernel fails. For a search for failures, in half of the
 * time or less. */
assay_status assay_check_numbers(const assay_case *c, const assay_device *device,
                                 const char *const *variants, int32_t n_variants,
                                 assay_report *report) ASSAY_MUST_CHECK;

/* The same of a case that may be too large for an oracle: it is made up of `sampled` different rows
 * (sample.h). `numbers`: it does not ask what their data prove. */
assay_status assay_check_rows(const assay_case *c, const assay_device *device,
                              const char *const *variants, int32_t n_variants, int64_t sampled,
                              bool numbers, assay_report *report) ASSAY_MUST_CHECK;

/*
 * Judges another program's answers to a problem, as one variant called "got" on a device called
 * "elsewhere". `device` helps the oracle, and runs v1 where that is the baseline. `repro` is the
 * command that shows it again.
 */
assay_status assay_judge(const assay_problem *p, const assay_results *got, const char *repro,
                         const assay_device *device, assay_report *report) ASSAY_MUST_CHECK;

/* The data of a case, from its golden file when it says fill=golden. */
assay_status assay_problem_load(assay_problem *p, const assay_case *c) ASSAY_MUST_CHECK;

/* "(3, 0, 17)" for element `index` of an array of that shape; "" when index is negative. */
const char *assay_index_text(int32_t rank, const int64_t *shape, int64_t index, char text[128]);

#endif
