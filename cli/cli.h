/*
 * The assay command: `assay VERB [OP[/VARIANT]...] [key=value...] [--flags]`. main.c parses the
 * words once (args.c); each verb gets them as they are here and returns its exit code.
 */
#ifndef ASSAY_CLI_H
#define ASSAY_CLI_H

#include "assay/case.h"
#include "assay/device.h"
#include "assay/op.h"
#include "assay/status.h"
#include "assay/verdict.h"
#include "engine/operator_library.h"
#include "engine/scope.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum assay_exit {
    ASSAY_EXIT_PASSED = 0,
    ASSAY_EXIT_FAILED = 1,        /* something failed or was mistrusted */
    ASSAY_EXIT_USAGE = 2,         /* the words of the command */
    ASSAY_EXIT_ERROR = 3,         /* harness, file or device */
    ASSAY_EXIT_REFUSED = 4,       /* unverified */
    ASSAY_EXIT_NOTHING = 77,      /* nothing could run here */
    ASSAY_EXIT_INTERRUPTED = 130, /* SIGINT or SIGTERM */
} assay_exit;

/* One OP or OP/VARIANT word; kronecker/v1 kronecker/v3 are two. */
typedef struct assay_cli_target {
    const assay_op *op;
    const char *variant; /* NULL: all */
} assay_cli_target;      /* while words are read: no op, and the word in place of the variant */

/* Where text for people goes: standard output, or standard error while a report takes the former.
 */
typedef struct assay_cli_out {
    FILE *stream;
    bool color;
    check_scope scope; /* that verdicts are named with */
} assay_cli_out;

/* Part `part` of 1..parts; 0: all. */
typedef struct cli_share {
    int64_t part, parts;
} cli_share;

typedef struct assay_cli_args {
    const char *verb;    /* "check" */
    const char *subverb; /* "generate", of a verb that has some and got one; otherwise NULL */
    assay_cli_target *target;
    int32_t n_targets; /* 0: no operator was named */
    const char **word; /* key=value, unchecked, as assay_case_expand takes them */
    int32_t n_words;
    char *line; /* the whole command, as it would be typed */
    int argc;   /* and its words */
    char *const *argv;
    assay_cli_out out;

    /* Flags; NULL or false where they are not given. */
    const char *device;
    const char *json, *csv, *junit, *markdown; /* "-": standard output */
    const char *trace;
    const char *file;
    const char *input, *output; /* --in, --out */
    const char *got;
    const char *kernel;           /* a shared object, once cli_kernel_prepare() has seen it */
    const char *kernel_source;    /* the file that it was made of; NULL: none */
    char kernel_folder[PATH_MAX]; /* that it lies in, to be removed; "": none */
    const char *binding_file;     /* --binding */
    char
        *binding; /* its text, or that of the kernel's own; NULL: the kernel is written for assay */
    const char *python;        /* the interpreter of a Python file; NULL: it is none */
    char *kernel_words;        /* the words after --kernel in commands that are printed */
    const char *reference;     /* --reference */
    const char *operator_file; /* --operator */
    char *operator_object;     /* the object that it was compiled to; NULL: it is no source */
    operator_library library;  /* it, once loaded */
    const char *source;        /* of build */
    const char *case_file, *exclude;
    const char *require;             /* "sandbox" */
    double time_limit, memory_limit; /* seconds, GiB */
    const char *set_name;
    bool set_given;
    assay_set set; /* ASSAY_SMOKE by default */
    bool seed_given;
    uint64_t seed;
    int64_t rows;   /* different ones that make up a case; 0: not given */
    int64_t random; /* cases per operator; 0: not given */
    int64_t sample; /* mutants; 0: all */
    cli_share share;
    int64_t jobs; /* 0: not given */
    const char *resume, *survivors, *under;
    double seconds; /* --time; 0: not given */
    int64_t cases;  /* --cases; 0: not given */
    const char *findings, *corpus;
    const char *stage, *layout;
    check_scope scope;                            /* the part of a check that these two leave */
    const char *report, *compare, *merge, *peers; /* of bench */
    int64_t samples;                              /* 0: not given */
    bool seeds;                                   /* --set seeds: the published experiments */
    bool oracles, golden;                         /* mutants are made of these */
    int64_t planted;                              /* faults at each place; 0: not given */
    double rate;                                  /* cases a second; 0: not given */
    double at_least;                              /* percent */
    char *const *program;                         /* of exec: its words, as execv takes them */
    const char *launches, *sched, *streams, *sarif, *suppress;
    int64_t error_exitcode; /* 0: not given */
    bool big, no_guide, race, no_race, first, no_run, in_process, certify, quiet, verbose, no_color,
        help, version, man, fail_fast, last_failed, no_sandbox;
} assay_cli_args;

/* Parses argv. ASSAY_ERR_USAGE with a line that names the word at fault and the nearest legal one.
 * Strings point into argv or are freed by assay_cli_args_clear, which a failure needs as well. */
assay_status assay_cli_args_parse(int argc, char *const *argv,
                                  assay_cli_args *args) ASSAY_MUST_CHECK;
void assay_cli_args_clear(assay_cli_args *args);

/* The device of --device; without it cuda if that can run here, otherwise sim. */
assay_status assay_cli_open_device(const assay_cli_args *args,
                                   const assay_device **device) ASSAY_MUST_CHECK;

/* The compute capability of the GPU, 90 for 9.0; 0: none can run here. Asked in a process of its
 * own: a GPU's context does not outlive fork(). */
int32_t assay_cli_capability(void);

/* `device` with variants in processes of their own, --kernel's among them, or `device` itself for
 * --in-process; for assay_isolate_end(). */
assay_status assay_cli_isolate(const assay_cli_args *args, const assay_device *device,
                               const assay_device **isolated) ASSAY_MUST_CHECK;

/* Prints "assay: " and the line of the last assay_fail to standard error; returns the exit code
 * that `status` stands for (ASSAY_ERR_UNSUPPORTED: ASSAY_EXIT_NOTHING). */
assay_exit assay_cli_complain(assay_status status);

/* The verdict's word, in colour where that is on, filled with blanks to `width`. */
void assay_cli_print_verdict(const assay_cli_out *out, assay_verdict verdict, int width);

/* A line that the next one overwrites, on standard error and only on a terminal; "" wipes it. */
void assay_cli_progress(const char *format, ...) ASSAY_PRINTF(1, 2);

/* True after SIGINT or SIGTERM: a verb then ends with the results that it has and
 * ASSAY_EXIT_INTERRUPTED. */
bool assay_cli_interrupted(void);

assay_exit assay_cli_list(const assay_cli_args *args);
assay_exit assay_cli_check(const assay_cli_args *args);
assay_exit assay_cli_golden(const assay_cli_args *args);
assay_exit assay_cli_certificate(const assay_cli_args *args);
assay_exit assay_cli_new(const assay_cli_args *args);
assay_exit assay_cli_build(const assay_cli_args *args);
assay_exit assay_cli_judge(const assay_cli_args *args);
assay_exit assay_cli_run(const assay_cli_args *args);
assay_exit assay_cli_mutants(const assay_cli_args *args);
assay_exit assay_cli_fuzz(const assay_cli_args *args);
assay_exit assay_cli_bench(const assay_cli_args *args);
assay_exit assay_cli_profile(const assay_cli_args *args);
assay_exit assay_cli_exec(const assay_cli_args *args);
assay_exit assay_cli_completion(const assay_cli_args *args);
assay_exit assay_cli_help(const assay_cli_args *args);

/* The whole command: main() calls it, and tests do too. */
assay_exit assay_cli_main(int argc, char *const *argv);

#endif
