/*
 * The check of one case: the variants against the oracle, as assay_check() does it, and one or
 * all checks that need no oracle: the operator's metamorphic relations, determinism under every
 * schedule, and the same bits on another device.
 */
#ifndef ASSAY_FUZZ_SEARCH_CHECK_H
#define ASSAY_FUZZ_SEARCH_CHECK_H

#include "engine/check.h"
#include "engine/frame.h"
#include "engine/scope.h"

enum { FUZZ_VARIANT = 32, FUZZ_RELATION = 48, FUZZ_FAILURES = 8, FUZZ_MARKS = 96 };

/* The kind of a failure. A smaller case shows the same failure only if it has the same kind. */
typedef enum fuzz_kind {
    FUZZ_WRONG,       /* a number beyond its bound */
    FUZZ_UNEQUAL,     /* a relation does not hold */
    FUZZ_STRAY,       /* it wrote outside, or changed an input */
    FUZZ_CRASH,       /* a signal, or an exit */
    FUZZ_HANG,        /* no answer within the limit */
    FUZZ_MEMORY,      /* more than the limit */
    FUZZ_FAULT,       /* the device reports a defect, or the kernel another error */
    FUZZ_WORKER_DIED, /* the process that checks died: trouble of ours */
} fuzz_kind;
enum { FUZZ_KINDS = 8 };
const char *fuzz_kind_name(fuzz_kind kind); /* "wrong" */
bool fuzz_kind_find(const char *name, fuzz_kind *kind);

typedef struct fuzz_failure {
    char variant[FUZZ_VARIANT];
    fuzz_kind kind;
    char relation[FUZZ_RELATION]; /* FUZZ_UNEQUAL: which */
    char tensor[ASSAY_TENSOR_NAME + 1];
    char reason[ASSAY_REASON];
} fuzz_failure;

/* How near one tensor of one variant came to its bound: floor(log2(ratio)). */
typedef struct fuzz_mark {
    uint32_t key; /* of variant, tensor and dtype */
    int32_t octave;
} fuzz_mark;

typedef struct fuzz_result {
    bool declined;                       /* no case after all: too large for this host, no data */
    int32_t passed, mistrusted, skipped; /* variants */
    int32_t n_failures, n_marks;
    fuzz_failure failure[FUZZ_FAILURES]; /* one for each variant and kind, the first tensor's */
    fuzz_mark mark[FUZZ_MARKS];
    uint8_t edges[FRAME_EDGES]; /* of kernels' code, see frame.h; all 0 in builds without */
} fuzz_result;

/* The kernels under test, and their device. */
typedef struct fuzz_subject {
    const assay_device *device; /* isolated */
    const assay_device *twin;   /* another one that must give the same bits; NULL: no such device */
    const char *const *variant; /* as assay_check() takes them */
    int32_t n_variants;
    check_scope scope;
    int64_t rows; /* that make up each case, as assay_check_rows() has it, and no relation; 0: all
                     rows are different */
    bool spares_plans; /* of all variants, those with `plans` check one case in 32 */
} fuzz_subject;

/* Which relations: none, all, or one for one variant, chosen by a number. */
enum { FUZZ_NO_RELATION = -1, FUZZ_ALL_RELATIONS = -2 };

/* An error is a failure of the harness, which the next case would meet too. */
assay_status fuzz_check(const fuzz_subject *subject, const assay_case *c, int64_t relation,
                        fuzz_result *result) ASSAY_MUST_CHECK;

/* Whether the case fails in the same way: the same variant, kind and relation. */
assay_status fuzz_fails_alike(const fuzz_subject *subject, const assay_case *c,
                              const fuzz_failure *failure, bool *alike) ASSAY_MUST_CHECK;

#endif
