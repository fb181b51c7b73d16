/*
 * A file that takes another's place once it is complete. Every file that assay writes whole goes
 * through here: reports, tensors, certificates, golden files.
 *
 * Links are followed: the file that a link names is replaced, not the link. Only a regular file is
 * replaced: never a folder, a device, a pipe.
 */
#ifndef ASSAY_CORE_REPLACE_H
#define ASSAY_CORE_REPLACE_H

#include "assay/status.h"

#include <limits.h>

typedef struct replacement {
    const char *name;      /* as the caller gave it; must outlive this */
    char target[PATH_MAX]; /* links followed */
    char path[PATH_MAX];   /* in the folder of the target; "" when there is no such file */
    int descriptor;
} replacement;

/* Creates it, empty, with the permissions of the target. ASSAY_ERR_FILE when the target is not a
 * regular file, or cannot be written. */
assay_status replacement_begin(replacement *r, const char *name) ASSAY_MUST_CHECK;

/* Makes it durable and gives it the target's name. */
assay_status replacement_commit(replacement *r) ASSAY_MUST_CHECK;

/* Removes it unless it was committed. */
void replacement_clear(replacement *r);

#endif
