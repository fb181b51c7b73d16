/* Times of the simulated device, which are those of a simulation: caches are left as they are. */
#include "bench/arms/timer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ELEMENT = 16, NAN_BYTE = 0xff };

static double marked[2]; /* microseconds */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static assay_status host_open(void **stream) {
    *stream = NULL;
    return ASSAY_OK;
}

static void host_close(void) {
}

static assay_status host_blank(void *memory, size_t bytes) {
    if (bytes > 0)
        memset(memory, NAN_BYTE, bytes);
    return ASSAY_OK;
}

static assay_status host_copy(void *to, const void *from, size_t bytes) {
    if (bytes > 0)
        memcpy(to, from, bytes);
    return ASSAY_OK;
}

static assay_status host_swap(void *a, void *b, size_t bytes) {
    unsigned char kept[MOST_ELEMENT];
    memcpy(kept, a, bytes);
    memcpy(a, b, bytes);
    memcpy(b, kept, bytes);
    return ASSAY_OK;
}

static assay_status host_spin(double microseconds) {
    const double end = now() + microseconds;
    while (now() < end)
        continue;
    return ASSAY_OK;
}

static assay_status host_flush(void) {
    return ASSAY_OK;
}

static assay_status host_mark(arm_mark mark) {
    marked[mark] = now();
    return ASSAY_OK;
}

static assay_status host_passed(arm_mark mark, bool *passed) {
    (void)mark;
    *passed = true;
    return ASSAY_OK;
}

static assay_status host_elapsed(double *microseconds) {
    *microseconds = marked[ARM_END] - marked[ARM_START];
    return ASSAY_OK;
}

const arm_timer arm_timer_host = {
    .open = host_open,
    .close = host_close,
    .blank = host_blank,
    .copy = host_copy,
    .swap = host_swap,
    .spin = host_spin,
    .flush = host_flush,
    .mark = host_mark,
    .passed = host_passed,
    .elapsed = host_elapsed,
};
