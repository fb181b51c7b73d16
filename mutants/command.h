/* A compiler's command line, and running it. */
#ifndef ASSAY_MUTANTS_COMMAND_H
#define ASSAY_MUTANTS_COMMAND_H

#include "assay/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct command {
    char **word; /* NULL after the last */
    int32_t count, room;
    bool failed; /* no memory for a word */
} command;

void command_add(command *c, const char *word);
void command_clear(command *c);

/* The words of the command that compile_commands.json (its text) has for the file that ends in
 * `file`. ASSAY_ERR_FILE: none. */
assay_status command_find(command *c, const char *json, const char *file) ASSAY_MUST_CHECK;

/* Runs it. ASSAY_ERR_KERNEL, with the first line that says "error" or
 * "FAILED": it failed.
 * ASSAY_ERR_UNSUPPORTED: it took longer, which of a compiler says nothing. */
assay_status command_run(const command *c, const char *log, double seconds) ASSAY_MUST_CHECK;

#endif
