#include "bench/arms/form.h"
#include "engine/process.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
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

/* 0, or an errno; what it writes is then read from `*output`. */
static int start(const char *case_text, pid_t *pid, FILE **output) {
    char path[PATH_MAX];
    int ends[2];
    int error = find_reader(path);
    if (error == 0 && pipe2(ends, O_CLOEXEC) != 0)
        error = errno;
    if (error != 0)
        return error;
    char *const argv[] = {path, (char *)case_text, NULL};
    error = process_start(pid, argv, (const int[PROCESS_FILES]){-1, ends[1], STDERR_FILENO, -1});
    (void)close(ends[1]);
    *output = error == 0 ? fdopen(ends[0], "r") : NULL;
    if (error == 0 && !*output) {
        error = errno;
        process_end(*pid);
    }
    if (!*output)
        (void)close(ends[0]);
    return error;
}

assay_status form_ask(const char *case_text, form *f) {
    FILE *output = NULL;
    pid_t pid;
    *f = (form){0};
    const int error = start(case_text, &pid, &output);
    if (error != 0)
        return no_reader(error);
    const assay_status status = form_read(output, f);
    fclose(output);
    process_end(pid);
    return status;
}
