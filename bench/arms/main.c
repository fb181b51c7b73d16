/*
 * assay_arm [--kernel FILE.so [--binding TEXT]] OP/VARIANT | clock: runs a variant of ours for a
 * benchmark, in a process of its own that holds no oracle. It gets commands line by line
 * (docs/bench.md, "How an arm talks") and ends with its input.
 */
#include "bench/arms/arm.h"
#include "engine/inside.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Devices' tables name their oracles; here there are none. */
const assay_device_oracle *const assay_sim_oracles[] = {NULL};
const int32_t assay_sim_n_oracles = 0;

/* Standard output for answers alone: what a kernel prints goes where errors go. */
static FILE *take_output(void) {
    const int file = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, SHARED_FILE + 1);
    if (file < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return NULL;
    return fdopen(file, "w");
}

/* Answers are one line, whatever an error's text holds. */
static void say_no(FILE *to, assay_status status, const char *line) {
    fprintf(to, "no %s ", arm_class(status));
    for (; *line; ++line)
        fputc(*line == '\n' ? ' ' : *line, to);
    fputc('\n', to);
}

static assay_status answer(arm_state *a, char *line, FILE *to) {
    char *text = NULL;
    size_t length = 0;
    FILE *more = open_memstream(&text, &length);
    if (!more)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for an answer");
    const assay_status status = arm_obey(a, line, more);
    if (fclose(more) != 0 || status != ASSAY_OK)
        say_no(to, status, assay_error());
    else
        fprintf(to, length > 0 ? "ok %s\n" : "ok\n", text);
    free(text);
    return fflush(to) == 0 ? ASSAY_OK
                           : assay_fail(ASSAY_ERR_FILE, "the reader of the answers is gone");
}

static bool parse(int argc, char **argv, char **word, inside_kernel *kernel) {
    *kernel = (inside_kernel){0};
    if (argc >= 4 && strcmp(argv[1], "--kernel") == 0)
        kernel->file = argv[2];
    if (argc == 6 && kernel->file && strcmp(argv[3], "--binding") == 0)
        kernel->binding = argv[4];
    if (argc != (kernel->binding ? 6 : kernel->file ? 4 : 2))
        return false;
    *word = argv[argc - 1];
    return true;
}

int main(int argc, char **argv) {
    static arm_state a;
    inside_kernel kernel;
    char *word, *line = NULL;
    size_t room = 0;
    if (!parse(argc, argv, &word, &kernel)) {
        fprintf(stderr, "assay_arm is started by assay: see docs/bench.md\n");
        return 2;
    }
    inside_settle();
    FILE *to = take_output();
    assay_status status =
        to ? ASSAY_OK : assay_fail(ASSAY_ERR_FILE, "assay_arm: no standard output");
    arm_init(&a, word, &kernel);
    while (status == ASSAY_OK && getline(&line, &room, stdin) >= 0) {
        line[strcspn(line, "\r\n")] = '\0';
        status = answer(&a, line, to);
        arm_rest(&a);
    }
    if (status != ASSAY_OK)
        fprintf(stderr, "%s\n", assay_error());
    arm_clear(&a);
    free(line);
    return status == ASSAY_OK ? 0 : 2;
}
