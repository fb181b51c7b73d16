/*
 * A process that runs variants for this one: started once, asked for one run at a time, ended by
 * force when it does not answer. It can crash, hang, exit or exhaust memory without harm here.
 */
#ifndef ASSAY_ENGINE_GUEST_H
#define ASSAY_ENGINE_GUEST_H

#include "assay/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The guest's end of the socket, which it finds open. */
enum { GUEST_DOOR = 3, GUEST_TAIL = 8192 };

typedef struct guest {
    pid_t pid;             /* 0: none */
    int door;              /* socket: a file goes in, a word comes out */
    int output;            /* pipe: what it prints */
    char tail[GUEST_TAIL]; /* the beginning of that */
    size_t tail_bytes;
} guest;

typedef struct guest_limits {
    double seconds; /* wall clock of one answer */
    double bytes;   /* of resident memory */
} guest_limits;

/* Starts `program` for `device`, with the variants of the shared object `kernel` if not NULL, and
 * waits until it is ready. */
assay_status guest_start(guest *g, const char *program, const char *device,
                         const char *kernel) ASSAY_MUST_CHECK;

/* Hands over a frame and waits. ASSAY_ERR_KERNEL, with what happened: it did not answer, and has
 * been ended. */
assay_status guest_ask(guest *g, int frame, const guest_limits *limits) ASSAY_MUST_CHECK;

/* Ends it with all that it started in its group; nothing when there is none. */
void guest_end(guest *g);

#endif
