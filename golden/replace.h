/* A file that takes another's place once it is complete. */
#ifndef ASSAY_GOLDEN_REPLACE_H
#define ASSAY_GOLDEN_REPLACE_H

#include "assay/status.h"

enum { GOLDEN_PATH = 4096 };

typedef struct golden_temporary {
    const char *target;     /* the caller's */
    char path[GOLDEN_PATH]; /* in the directory of the target; "" when there is none */
    int descriptor;
} golden_temporary;

/* Creates it, empty, with the permissions of the target. */
assay_status golden_temporary_init(golden_temporary *t, const char *target) ASSAY_MUST_CHECK;

/* Makes it durable and gives it the target's name. */
assay_status golden_temporary_commit(golden_temporary *t) ASSAY_MUST_CHECK;

/* Removes it unless it was committed. */
void golden_temporary_clear(golden_temporary *t);

#endif
