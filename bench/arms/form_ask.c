#include "bench/arms/form.h"
#include "engine/process/process.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READER "assay_arm_case"

static assay_status no_reader(int error) {
    return assay_fail(ASSAY_ERR_FILE,
                      READER ", which reads cases, cannot be started: %s; build it beside this "
                             "program",
                      strerror(error));
}

/* 0, or an errno. */
static int find_reader(char path[PATH_MAX]) {
    char program[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n < 0)
        return errno;
    program[n] = '\0';
    const int length = snprintf(path, PATH_MAX, "%s/" READER, dirname(program));
    return length < PATH_MAX ? 0 : ENAMETOOLONG;
}

assay_status form_ask(const char *case_text, form *f) {
    static const process_limits limits = {.seconds = 60, .bytes = INFINITY};
    char path[PATH_MAX];
    process reader;
    char *const argv[] = {path, (char *)case_text, NULL};
    *f = (form){0};
    FILE *output = tmpfile();
    int error = output ? find_reader(path) : errno;
    if (error == 0)
        error = process_start(&reader, argv, PROCESS_SILENT, fileno(output));
    if (error == 0)
        process_finish(&reader, &limits);
    if (output)
        rewind(output);
    const assay_status status = error == 0 ? form_read(output, f) : no_reader(error);
    if (output)
        fclose(output);
    return status;
}
