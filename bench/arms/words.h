/* A line, word by word. */
#ifndef ASSAY_BENCH_ARMS_WORDS_H
#define ASSAY_BENCH_ARMS_WORDS_H

#include "assay/status.h"

#include <stdint.h>

typedef struct words {
    char *rest; /* of the line, which is cut up */
} words;

/* NULL: there is none. */
char *words_next(words *w);

/* Each fails with a line that says which value is expected under the name `what`. */
assay_status words_text(words *w, const char *what, char **text) ASSAY_MUST_CHECK;
assay_status words_integer(words *w, const char *what, int64_t low, int64_t high,
                           int64_t *value) ASSAY_MUST_CHECK;
/* Nothing may follow. */
assay_status words_end(words *w) ASSAY_MUST_CHECK;

#endif
