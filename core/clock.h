/* Seconds by the host's clock, from some moment on. */
#ifndef ASSAY_CORE_CLOCK_H
#define ASSAY_CORE_CLOCK_H

#include <time.h>

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
