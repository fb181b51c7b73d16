/*
 * Plumbing errors: what went wrong around the numbers, never the numbers themselves (those get an
 * assay_verdict, see verdict.h). Every failing function leaves one line that names the thing and
 * the remedy; the line belongs to the calling thread and lives until its next assay_fail().
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

/* The line that the last assay_fail() of this thread recorded; "" if there was none. */
const char *assay_error(void);

#ifdef __cplusplus
}
#endif

#endif
