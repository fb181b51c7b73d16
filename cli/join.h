/* Reports of several runs of check, made one. */
#ifndef ASSAY_CLI_JOIN_H
#define ASSAY_CLI_JOIN_H

#include "cli/cli.h"

/* A run, and the folder its reports lie in: report.json and so on, where it got so far. */
typedef struct joined_run {
    const char *kernel, *file; /* "rmsnorm/fast", "rms_norm.cu" */
    const char *folder;
    assay_exit code;
} joined_run;

typedef struct report_format {
    const char *flag, *name; /* "--json", "report.json" */
    void (*begin)(FILE *to);
    /* `text` is NULL where the run left no text. */
    void (*add)(FILE *to, const joined_run *run, const char *text, bool first);
    void (*end)(FILE *to);
} report_format;

enum { REPORT_FORMATS = 4 };
extern const report_format report_formats[REPORT_FORMATS];

/* The path that the command line gives a format; NULL: no path. */
const char *report_path(const assay_cli_args *args, const report_format *format);

assay_status join_reports(const report_format *format, const char *path, const joined_run *runs,
                          int32_t count) ASSAY_MUST_CHECK;

#endif
