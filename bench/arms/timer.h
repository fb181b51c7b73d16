/*
 * Time on a device: a stream for calls, the work around them on it, and two marks between which
 * they are timed. Functions only, so that the GPU's can lie in a module; timing.h uses them.
 */
#ifndef ASSAY_BENCH_ARMS_TIMER_H
#define ASSAY_BENCH_ARMS_TIMER_H

#include "assay/device.h"
#include "assay/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum arm_mark { ARM_START, ARM_END } arm_mark;

typedef struct arm_timer {
    /* Whether work waits in a queue behind earlier work. False: everything is done when its
     * function returns. */
    bool queues;

    /* The stream that calls are to be given; its owner is the timer. */
    assay_status (*open)(void **stream);
    void (*close)(void);

    /* Queued. `blank` leaves bytes that are a NaN; `swap` exchanges two elements of `bytes` each;
     * `spin` lasts as long by the device's own clock; `flush` overwrites its caches. */
    assay_status (*blank)(void *memory, size_t bytes);
    assay_status (*copy)(void *to, const void *from, size_t bytes);
    assay_status (*swap)(void *a, void *b, size_t bytes);
    assay_status (*spin)(double microseconds);
    assay_status (*flush)(void);
    assay_status (*mark)(arm_mark mark);

    /* Whether everything before the mark is done. */
    assay_status (*passed)(arm_mark mark, bool *passed);
    /* From start to end, when both are passed. */
    assay_status (*elapsed)(double *microseconds);

    /* Work that is queued after `record` is kept instead of done; `keep` ends that, and drops all
     * of it where `wanted` is false. Kept work can be queued as a whole, again and again. A failure
     * of `keep` leaves nothing kept. All NULL where there is no such thing. */
    assay_status (*record)(void);
    assay_status (*keep)(bool wanted);
    assay_status (*replay)(void);
} arm_timer;

/* That of the device. */
assay_status arm_timer_find(const assay_device *device, const arm_timer **timer) ASSAY_MUST_CHECK;

/* Of the host's clock: for a device whose launches are done when they return. */
extern const arm_timer arm_timer_host;

/* The GPU's module exports a function of this type under this name. */
#define ARM_TIMER_MODULE "libassay_timer.so"
#define ARM_TIMER_ENTRY  "assay_arm_timer_module"
typedef const arm_timer *(*arm_timer_entry)(void);

#ifdef __cplusplus
}
#endif

#endif
