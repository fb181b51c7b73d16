/* The commands that are run with faults: small ones, that together come through all of the code. */
#ifndef ASSAY_TESTS_FAULTS_COMMANDS_H
#define ASSAY_TESTS_FAULTS_COMMANDS_H

#include "tests/faults/command/sandbox.h"

enum { COMMAND_SETUPS = 2, COMMAND_FILES = 6 };

typedef struct command {
    const char *name;
    const char *setup[COMMAND_SETUPS]; /* run first, without faults: they make the old files */
    const char *words;                 /* of the command itself, separated by blanks */
    int each;    /* of one that takes long: only each n-th way, and the first to any function */
    bool random; /* what it prints depends on a secret seed */
    int code;    /* its exit when nothing failed */
} command;

/* Those that leave files, and the others; NULL behind the last. */
const command *command_that_writes(int i);
const command *command_that_reads(int i);
/* Those that need a GPU. */
const command *command_on_gpu(int i);

/* A file before the command, and after it when nothing failed. */
typedef struct command_file {
    char name[64];
    file_bytes old, fresh; /* no data: it is not there */
    bool timed;            /* each run writes its own times into it */
} command_file;

/* A command in its sandbox. */
typedef struct stage {
    const command *command;
    sandbox box;
    command_file file[COMMAND_FILES];
    int n_files;
    char fresh_out[SANDBOX_TEXT]; /* what it prints when nothing failed */
    outcome outcome;              /* of the last run */
} stage;

/* For the commands of this process: the calls of the GPU's driver are not ours, they differ from
 * run to run, and where one fails there is no GPU. */
void hide_gpu(void);

/* Runs the setup, and the command once without a fault: that must succeed. */
void stage_init(stage *s, const command *c);
void stage_clear(stage *s);

/* Puts the old files back and runs the command. */
void stage_run(stage *s, inject_mode mode, int64_t at, double milliseconds);

/* Once more, without a fault, on the files that the last run left. */
void stage_run_again(stage *s);

/* What is wrong with the files that the last run left: each must be the old one or the new one,
 * whole, and no other may be there. NULL: nothing. `text` holds the answer. */
enum { STAGE_FAULT = 4096 };
const char *stage_fault(const stage *s, bool strays_allowed, char text[STAGE_FAULT]);

/* What of a command's work the last run did not do: every file must be new, and all of the text
 * printed. NULL: nothing. */
const char *stage_lack(const stage *s, char text[STAGE_FAULT]);

#endif
