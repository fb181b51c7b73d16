/*
 * A process that runs variants for this one: started once, asked for one run at a time, ended by
 * force when it does not answer. It can crash, hang, exit or exhaust memory without harm here.
 */
#ifndef ASSAY_ENGINE_GUEST_H
#define ASSAY_ENGINE_GUEST_H

#include "assay/status.h"
#include "engine/process/process.h"

/* Starts `program` for `device`, with the variants of the shared object `kernel` if not NULL, and
 * waits until it is ready. */
assay_status guest_start(process *guest, const char *program, const char *device,
                         const char *kernel) ASSAY_MUST_CHECK;

/* Hands over a frame and waits. ASSAY_ERR_KERNEL, with what happened: it did not answer, and has
 * been ended. */
assay_status guest_ask(process *guest, int frame, double seconds, double bytes) ASSAY_MUST_CHECK;

#endif
