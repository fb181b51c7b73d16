/*
 * Plumbing errors: failures around the numbers, never wrong numbers (those get an assay_verdict,
 * see verdict.h). Every failing function leaves one line that names the thing and the remedy; the
 * line belongs to the calling thread and lives until its next assay_fail().
 */
#ifndef ASSAY_STATUS_H
#define ASSAY_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum assay_status {
    ASSAY_OK = 0,
    ASSAY_ERR_USAGE,       /* the caller's words: unknown operator or key, malformed case */
    ASSAY_ERR_UNSUPPORTED, /* legal, but cannot run here; becomes the verdict skip */
    ASSAY_ERR_MEMORY,      /* an allocation failed, on the host or on the device */
    ASSAY_ERR_FILE,        /* missing, damaged, unreadable or unwritable file */
    ASSAY_ERR_DEVICE,      /* the device or its driver refused a call */
    ASSAY_ERR_KERNEL,      /* the kernel broke a rule: race, wrong mask, out of bounds, deadlock */
} assay_status;

/* The kind of a kernel's failure, where its status does not tell. */
typedef enum assay_failure {
    ASSAY_FAILURE_OTHER,   /* a defect that the device reports; or not the kernel's failure */
    ASSAY_FAILURE_WRONG,   /* a number that is wrong under any bound, or no number at all */
    ASSAY_FAILURE_STRAY,   /* it wrote outside its tensors, or changed an input */
    ASSAY_FAILURE_CRASH,   /* its process ended, by a signal or an exit */
    ASSAY_FAILURE_HANG,    /* no answer within the time limit */
    ASSAY_FAILURE_MEMORY,  /* more host memory than its limit */
    ASSAY_FAILURE_UNEQUAL, /* two runs of it gave different bits */
} assay_failure;

#if defined(__GNUC__)
#define ASSAY_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define ASSAY_MUST_CHECK          __attribute__((warn_unused_result))
#else
#define ASSAY_PRINTF(text, first)
#define ASSAY_MUST_CHECK
#endif

/* Records one line for this thread and returns `status`, so that callers write
 * `return assay_fail(ASSAY_ERR_FILE, "%s: %s", path, strerror(errno));`. */
assay_status assay_fail(assay_status status, const char *format, ...) ASSAY_PRINTF(2, 3);

/* The same for a kernel's failure of a known kind. */
assay_status assay_fail_as(assay_status status, assay_failure failure, const char *format, ...)
    ASSAY_PRINTF(3, 4);

/* The line that the last assay_fail() of this thread recorded, "" if there was none, and the kind
 * of failure that it was given: assay_fail() itself gives ASSAY_FAILURE_OTHER. */
const char *assay_error(void);
assay_failure assay_error_failure(void);

#ifdef __cplusplus
}
#endif

#endif
