#include "assay/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 1024 };

static _Thread_local char last_line[LINE];
static _Thread_local assay_failure last_failure;

static void record(assay_failure failure, const char *format, va_list args) {
    /* Formatted aside first: the arguments may hold the line of the call that failed before. */
    char line[LINE];
    if (vsnprintf(line, sizeof line, format, args) < 0)
        line[0] = '\0';
    for (char *c = line; *c != '\0'; ++c)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    memcpy(last_line, line, strlen(line) + 1);
    last_failure = failure;
}

assay_status assay_fail(assay_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    record(ASSAY_FAILURE_OTHER, format, args);
    va_end(args);
    return status;
}

assay_status assay_fail_as(assay_status status, assay_failure failure, const char *format, ...) {
    va_list args;
    va_start(args, format);
    record(failure, format, args);
    va_end(args);
    return status;
}

const char *assay_error(void) {
    return last_line;
}

assay_failure assay_error_failure(void) {
    return last_failure;
}
