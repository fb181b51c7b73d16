/* assay exec: a CUDA program on the simulated device. */
#ifndef ASSAY_CLI_EXEC_H
#define ASSAY_CLI_EXEC_H

#include "cli/cli.h"
#include "sim/exec/report.h"

#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

/* As env(1) and timeout(1) have them, apart from programs' own exit codes. */
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

/* Puts `value` in front of a variable of the environment; false: no memory. */
bool exec_prepend(const char *variable, const char *value);

/* How the program ended: its exit code, or the signal that ended it. */
typedef struct exec_end {
    int code, signal;
} exec_end;

void exec_summary(const exec_report *report, FILE *to);

/* The whole of it for other programs: our own JSON, JUnit's XML, SARIF 2.1.0. */
typedef void exec_writer(const exec_report *report, const assay_cli_args *args, exec_end end,
                         FILE *to);
exec_writer exec_json, exec_junit, exec_sarif;

/* Kernels are also known that the program only asked about. */
bool exec_is_used(const report_kernel *k);

/* The problems that are told, or those that --suppress leaves out. */
uint64_t exec_count(const exec_report *report, bool told);
/* Of those that are told, the ones that are errors. */
uint64_t exec_count_errors(const exec_report *report);

/* "add<float>" of "void add<float>(float*, int)": without types of result and parameters. */
void exec_short_name(const char *mangled, char *to, size_t room);

/* The rules of --suppress, for free(), and at the end a line for each rule that suppressed nothing.
 */
assay_status exec_rules_read(const char *path, char **rules) ASSAY_MUST_CHECK;
void exec_rules_unused(const exec_report *report, const char *path, const char *rules);

/* Waits for the program; on a terminal it shows meanwhile which kernel runs. Returns waitpid's
 * status. */
int exec_wait(const assay_cli_args *args, pid_t child, exec_report *report);

/* A kernel's name as C++ has it, for free(); NULL: it is not a name of C++'s, or no memory. */
char *exec_demangle(const char *name);

#endif
