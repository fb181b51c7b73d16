/* Where a text report goes: a file that appears whole or not at all, or standard output. */
#ifndef ASSAY_CORE_SINK_H
#define ASSAY_CORE_SINK_H

#include "core/replace.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct cli_sink {
    FILE *stream;     /* NULL: not open */
    const char *path; /* as the user gave it */
    bool in_place;    /* standard output, a pipe, a terminal, a device: nothing is replaced */
    replacement file; /* otherwise */
} cli_sink;

/* "-" is standard output. A path that exists and is no regular file (a pipe, a terminal) is written
 * in place. ASSAY_ERR_FILE when nothing can be written there. `path` must outlive the sink. */
assay_status sink_open(cli_sink *sink, const char *path) ASSAY_MUST_CHECK;

/* Puts the file into its place; ASSAY_ERR_FILE when any write to it failed. */
assay_status sink_commit(cli_sink *sink) ASSAY_MUST_CHECK;

/* Leaves nothing of a sink that was not committed. */
void sink_discard(cli_sink *sink);

#endif
