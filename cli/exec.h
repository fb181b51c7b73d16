/* assay exec: a CUDA program on the simulated device. */
#ifndef ASSAY_CLI_EXEC_H
#define ASSAY_CLI_EXEC_H

#include "cli/cli.h"
#include "sim/exec/report.h"

#include <limits.h>
#include <stdio.h>

/* As env(1) and timeout(1) have them, apart from what programs return. */
enum {
    EXEC_EXIT_TROUBLE = 125, /* of assay itself */
    EXEC_EXIT_CANNOT = 126,  /* the program cannot run here */
    EXEC_EXIT_NO_PROGRAM = 127,
    EXEC_EXIT_SIGNAL = 128, /* and the signal's number */
};

/* Finds the program as a shell does and looks at its file. 0: it can run; otherwise the exit code,
 * and the line is in assay_error(). */
int exec_program_check(const char *name, char path[PATH_MAX]);

/* Whether the file names `library` as one that it needs. */
bool exec_program_needs(const char *path, const char *library);

/* The folder of the stand-ins for CUDA's libraries. ASSAY_ERR_FILE: this build has none. */
assay_status exec_stand_ins(char folder[PATH_MAX]) ASSAY_MUST_CHECK;

/* Puts `value` before what a variable of the environment holds; false: no memory. */
bool exec_prepend(const char *variable, const char *value);

/* How the program ended: what it returned, or the signal that ended it. */
typedef struct exec_end {
    int code, signal;
} exec_end;

void exec_summary(const exec_report *report, FILE *to);
void exec_json(const exec_report *report, const assay_cli_args *args, exec_end end, FILE *to);

/* A kernel's name as C++ has it, for free(); NULL: it is none of C++'s, or no memory. */
char *exec_demangle(const char *name);

#endif
