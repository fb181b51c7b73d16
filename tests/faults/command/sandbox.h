/* A folder in which the command runs, in a process of its own, with faults where they are asked
 * for. */
#ifndef ASSAY_TESTS_FAULTS_SANDBOX_H
#define ASSAY_TESTS_FAULTS_SANDBOX_H

#include "tests/faults/inject/inject.h"

#include <stddef.h>

enum { SANDBOX_PATH = 256, SANDBOX_TEXT = 1 << 16, SANDBOX_WORDS = 20 };

typedef struct sandbox {
    char folder[SANDBOX_PATH];
    inject_record *record;
} sandbox;

typedef struct file_bytes {
    unsigned char *data; /* with a zero behind them; NULL: no such file */
    size_t size;
} file_bytes;

typedef struct outcome {
    int code;           /* of exit; -1: it died */
    int died;           /* of this signal; 0: it did not */
    int64_t calls;      /* that could have failed */
    const char *failed; /* the function that did; NULL: none */
    char out[SANDBOX_TEXT], err[SANDBOX_TEXT];
} outcome;

void sandbox_init(sandbox *s);
void sandbox_clear(sandbox *s);

/* Runs `assay WORDS...`, up to a NULL, in the folder. `milliseconds` >= 0: kills it after so long.
 */
void sandbox_run(const sandbox *s, const char *const *words, inject_mode mode, int64_t at,
                 double milliseconds, outcome *o);

file_bytes sandbox_read(const sandbox *s, const char *file);
/* Absent bytes remove the file. */
void sandbox_write(const sandbox *s, const char *file, const file_bytes *bytes);
bool bytes_equal(const file_bytes *a, const file_bytes *b);

/* Calls `visit` for each file, and removes those for which it is false. */
void sandbox_visit(const sandbox *s, bool (*visit)(const char *file, void *context), void *context);

#endif
