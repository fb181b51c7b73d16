/* The memory that an arm shares with its parent: it holds inputs and results. */
#ifndef ASSAY_BENCH_ARMS_SHARED_H
#define ASSAY_BENCH_ARMS_SHARED_H

#include "assay/status.h"

#include <stddef.h>

/* Where an arm finds it open. */
enum { SHARED_FILE = 3 };

typedef struct shared {
    unsigned char *data; /* NULL: nothing is mapped */
    size_t bytes;
} shared;

/* Maps the whole file, in place of the earlier mapping. */
assay_status shared_map(shared *s) ASSAY_MUST_CHECK;
void shared_clear(shared *s);

#endif
