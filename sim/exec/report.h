/*
 * The report of a program to `assay exec`: a block of memory. The program's process fills it, and
 * its parent reads it when the program has ended, in any way. It is a file that both map;
 * EXEC_REPORT_VARIABLE names it. Without one the block is the process's own.
 *
 * A problem is also printed to standard error, at once and once.
 */
#ifndef ASSAY_SIM_EXEC_REPORT_H
#define ASSAY_SIM_EXEC_REPORT_H

#include "assay/status.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define EXEC_REPORT_VARIABLE "ASSAY_EXEC_REPORT"
/* "late": exec_streams_set(). "random:7": a schedule of assay_schedule, and its seed. */
#define EXEC_ORDER_VARIABLE    "ASSAY_EXEC_STREAMS"
#define EXEC_SCHEDULE_VARIABLE "ASSAY_EXEC_SCHED"
/* The variable of the environment with the name that messages give to images without one. */
#define EXEC_NAME_VARIABLE "ASSAY_EXEC_NAME"
#define EXEC_REPORT_MAGIC  UINT32_C(0xa55a7e01)

enum { REPORT_KERNELS = 1024, REPORT_PROBLEMS = 512, REPORT_NAME = 512, REPORT_LINE = 512 };

typedef enum exec_problem_kind {
    EXEC_PROBLEM_KERNEL,        /* a kernel broke a rule, or trapped */
    EXEC_PROBLEM_RACE,          /* accesses that nothing orders */
    EXEC_PROBLEM_STREAMS,       /* work of streams, or the host beside it, that nothing orders */
    EXEC_PROBLEM_EQUAL,         /* writes of equal values that nothing orders; no error */
    EXEC_PROBLEM_GUESS,         /* a plain read that a compare-and-swap checks; no error */
    EXEC_PROBLEM_UNINITIALISED, /* shared memory is read that was never written */
    EXEC_PROBLEM_COPY,          /* a copy outside of an allocation, or of freed memory */
    EXEC_PROBLEM_FREE,          /* not an allocation, or freed twice */
    EXEC_PROBLEM_MISUSE,        /* a wrong call that CUDA lets pass */
    EXEC_PROBLEM_IGNORED,       /* an error that the program did not look at */
    EXEC_PROBLEM_LEAK,          /* device memory that is not freed at the end */
    EXEC_PROBLEM_NOT_SIMULATED, /* a function of CUDA that the stand-ins lack */
    EXEC_PROBLEM_OPCODE,        /* an instruction that is not known; reached, it traps */
    EXEC_PROBLEM_NO_PTX,        /* no PTX that the device can take */
    EXEC_PROBLEM_KINDS,
} exec_problem_kind;

/* "kernel", "leak", as JSON has it, and its word in the summary. */
const char *exec_problem_name(exec_problem_kind kind);
const char *exec_problem_noun(exec_problem_kind kind);

/* Worth a line, but no error: EXEC_PROBLEM_EQUAL and EXEC_PROBLEM_GUESS. */
bool exec_problem_is_note(exec_problem_kind kind);

typedef struct report_kernel {
    char name[REPORT_NAME]; /* mangled */
    uint64_t launches, skipped, blocks, threads;
    double seconds;
} report_kernel;

typedef struct report_problem {
    exec_problem_kind kind;
    int32_t rule; /* by which it is suppressed, as suppress.h counts them; 0: it is not */
    uint64_t key; /* 0: its text is */
    uint64_t times;
    char kernel[REPORT_NAME]; /* mangled; "": it is no kernel's */
    char file[REPORT_NAME];   /* the source's path, where the text has only its name; "" */
    char text[REPORT_LINE];
} report_problem;

/* The launch that runs, for a progress line. */
typedef struct report_now {
    char kernel[REPORT_NAME]; /* "": there is none */
    uint64_t launch;          /* from 1 on */
    uint64_t blocks, begun;
    double since; /* by the monotonic clock */
    bool shown;   /* on the terminal, where it is wiped before anything else is written */
} report_now;

typedef struct exec_report {
    uint32_t magic;
    pthread_mutex_t lock; /* between processes */
    uint64_t calls;       /* of CUDA, but for questions about errors */
    uint64_t allocations, most_bytes;
    uint32_t n_kernels, n_problems;
    uint64_t lost; /* kernels and problems for which there is no room */
    /* The last error that the program has not looked at; the parent counts it when the program ends
     * with 0. */
    int32_t unseen;
    char unseen_call[64];
    report_now now;
    report_kernel kernel[REPORT_KERNELS];
    report_problem problem[REPORT_PROBLEMS];
} exec_report;

/* The parent's: makes the block, and the text for EXEC_REPORT_VARIABLE. */
assay_status exec_report_create(char variable[64], exec_report **report) ASSAY_MUST_CHECK;
void exec_report_unmap(exec_report *report);

/* The program's. */
exec_report *exec_report_get(void);

/* The value of EXEC_NAME_VARIABLE, if there is one. */
const char *exec_image_name(const char *otherwise);
void exec_report_add(exec_report *report, exec_problem_kind kind, const char *format, ...)
    ASSAY_PRINTF(3, 4);
void exec_problem(exec_problem_kind kind, const char *format, ...) ASSAY_PRINTF(2, 3);
/* Of a kernel, by its mangled name; `file`: as in report_problem. */
void exec_problem_in(const char *kernel, const char *file, exec_problem_kind kind,
                     const char *format, ...) ASSAY_PRINTF(4, 5);
/* The same, where the text may differ from time to time: `key`, not 0, tells which it is. */
void exec_problem_keyed(const char *kernel, const char *file, exec_problem_kind kind, uint64_t key,
                        const char *format, ...) ASSAY_PRINTF(5, 6);

/* The source's file and line, with which the text begins; false: it does not. */
bool exec_problem_place(const report_problem *problem, char file[REPORT_LINE], int32_t *line);

/* Around a launch. */
void exec_report_begin(const char *kernel, uint64_t blocks);
void exec_report_end(void);

/* For a progress line: calls `show` while a launch runs, which nothing else is written during. */
void exec_report_show(exec_report *report, void (*show)(const report_now *now));

/* A line that explains an error which the program gets: no problem unless the program ignores it.
 */
void exec_remark(const char *format, ...) ASSAY_PRINTF(1, 2);

/* The row of a kernel; NULL: there is no room. */
report_kernel *exec_report_kernel(const char *name);

#endif
