/*
 * A process that runs variants for this one: started once, asked for one run at a time, ended by
 * force when it does not answer. It can crash, hang, exit or exhaust memory without harm here.
 */
#ifndef ASSAY_ENGINE_GUEST_H
#define ASSAY_ENGINE_GUEST_H

#include "assay/status.h"
#include "engine/process/process.h"
#include "engine/sandbox/sandbox.h"

/* Its first messages, a byte and a text: its process number from now on; the walls around it, and
 * that it waits for frames. Any other text is the line of an error. */
enum { GUEST_MOVED = 'p', GUEST_READY = 'r' };

typedef struct guest_plan {
    const char *program, *device;
    const char *python, *script; /* the interpreter, which loads `program`, and the script that it
                                    runs; NULL: `program` runs by itself */
    const char *kernel;          /* paths by which it loads a kernel file; NULL: its own variants */
    const char
        *binding; /* by which that file's functions are called; NULL: it is written for assay */
    bool open;    /* without a sandbox */
} guest_plan;

/* Starts it, and waits until it is ready. `walls`: those around it. */
assay_status guest_start(process *guest, const guest_plan *plan,
                         sandbox_walls *walls) ASSAY_MUST_CHECK;

/* Asks it to load its kernel file. An error's line has the loader's words. */
assay_status guest_load(process *guest, double seconds, double bytes) ASSAY_MUST_CHECK;

/* Says one of the words of frame.h, with the frame's file or -1, and waits for its answer.
 * ASSAY_ERR_KERNEL, with the reason: it did not answer, and has been ended. */
assay_status guest_ask(process *guest, char word, int file, double seconds,
                       double bytes) ASSAY_MUST_CHECK;

/* One more channel to it, for a process that borrows it (process_borrow). Questions through several
 * channels are answered side by side where its device has threads for them (device.h), otherwise
 * one after the other. */
assay_status guest_share(process *guest, int *channel) ASSAY_MUST_CHECK;

#endif
