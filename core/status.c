#include "assay/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 1024 };

static _Thread_local char last_line[LINE];

assay_status assay_fail(assay_status status, const char *format, ...) {
    /* Formatted aside first: the arguments may hold the line of the call that failed before. */
    char line[LINE];
    va_list args;
    va_start(args, format);
    if (vsnprintf(line, sizeof line, format, args) < 0)
        line[0] = '\0';
    va_end(args);

    for (char *c = line; *c != '\0'; ++c)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    memcpy(last_line, line, strlen(line) + 1);
    return status;
}

const char *assay_error(void) {
    return last_line;
}
