#include "cli/join.h"
#include "cli/text_file.h"
#include "core/json.h"
#include "core/sink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 30 };

static void nothing(FILE *to) {
    (void)to;
}

/* ---- JSON: a list of reports ---- */

static void json_begin(FILE *to) {
    fputs("{\"kernels\": [", to);
}

static void json_add(FILE *to, const joined_run *run, const char *text, bool first) {
    fputs(first ? "\n{\"kernel\": " : ",\n{\"kernel\": ", to);
    json_string(to, run->kernel);
    fputs(", \"file\": ", to);
    json_string(to, run->file);
    fprintf(to, ", \"exit\": %d, \"report\": %s}", (int)run->code, text != NULL ? text : "null");
}

static void json_end(FILE *to) {
    fputs("\n]}\n", to);
}

/* ---- CSV: one header ---- */

static void csv_add(FILE *to, const joined_run *run, const char *text, bool first) {
    (void)run;
    if (text == NULL)
        return;
    const char *const rows = strchr(text, '\n');
    fputs(first || rows == NULL ? text : rows + 1, to);
}

/* ---- JUnit XML: one list of suites ---- */

static void junit_begin(FILE *to) {
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay\">\n", to);
}

static void put_attribute(FILE *to, const char *name, const char *text) {
    fprintf(to, " %s=\"", name);
    for (; *text != '\0'; ++text) {
        const char *const entity = *text == '&'   ? "&amp;"
                                   : *text == '<' ? "&lt;"
                                   : *text == '"' ? "&quot;"
                                                  : NULL;
        if (entity != NULL)
            fputs(entity, to);
        else
            putc((unsigned char)*text < 0x20 ? ' ' : *text, to);
    }
    putc('"', to);
}

/* A run that left no report is an error, not a kernel without tests. */
static void junit_missing(FILE *to, const joined_run *run) {
    fputs("  <testsuite", to);
    put_attribute(to, "name", run->kernel);
    fputs(" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n    <testcase", to);
    put_attribute(to, "classname", run->kernel);
    put_attribute(to, "name", run->file);
    fprintf(to,
            "><error message=\"it was not judged: exit code %d\"/></testcase>\n  </testsuite>\n",
            (int)run->code);
}

static void junit_add(FILE *to, const joined_run *run, const char *text, bool first) {
    static const char open[] = "<testsuites", close[] = "</testsuites>";
    (void)first;
    const char *from = text != NULL ? strstr(text, open) : NULL;
    const char *const end = text != NULL ? strstr(text, close) : NULL;
    from = from != NULL ? strchr(from, '\n') : NULL;
    if (from == NULL || end == NULL || end < from)
        junit_missing(to, run);
    else
        fwrite(from + 1, 1, (size_t)(end - from - 1), to);
}

static void junit_end(FILE *to) {
    fputs("</testsuites>\n", to);
}

/* ---- Markdown: one after the other ---- */

static void markdown_add(FILE *to, const joined_run *run, const char *text, bool first) {
    fprintf(to, "%s## %s: %s\n\n", first ? "" : "\n", run->kernel, run->file);
    if (text != NULL)
        fputs(text, to);
    else
        fprintf(to, "It was not judged: exit code %d.\n", (int)run->code);
}

/* ---- all ---- */

const report_format report_formats[REPORT_FORMATS] = {
    {"--json", "report.json", json_begin, json_add, json_end},
    {"--csv", "report.csv", nothing, csv_add, nothing},
    {"--junit", "report.xml", junit_begin, junit_add, junit_end},
    {"--markdown", "report.md", nothing, markdown_add, nothing},
};

const char *report_path(const assay_cli_args *args, const report_format *format) {
    const char *const paths[REPORT_FORMATS] = {args->json, args->csv, args->junit, args->markdown};
    return paths[format - report_formats];
}

assay_status join_reports(const report_format *format, const char *path, const joined_run *runs,
                          int32_t count) {
    cli_sink sink = {0};
    assay_status status = sink_open(&sink, path);
    if (status == ASSAY_OK)
        format->begin(sink.stream);
    for (int32_t i = 0; status == ASSAY_OK && i < count; ++i) {
        char from[PATH_MAX], *text = NULL;
        size_t size;
        snprintf(from, sizeof from, "%.3000s/%s", runs[i].folder, format->name);
        status = text_file_read(from, "report", MOST, &text, &size);
        if (status == ASSAY_OK)
            format->add(sink.stream, &runs[i], text, i == 0);
        free(text);
    }
    if (status == ASSAY_OK) {
        format->end(sink.stream);
        status = sink_commit(&sink);
    }
    sink_discard(&sink);
    return status;
}
