/* The GPU's clock and power while arms are timed, read by a thread beside them. */
#ifndef ASSAY_BENCH_WATCH_H
#define ASSAY_BENCH_WATCH_H

#include "bench/result.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { WATCH_READINGS = 1 << 16 };

typedef struct bench_watch {
    const _Atomic bool *timing; /* readings count while it is true */
    _Atomic bool end;
    bool runs;
    pthread_t thread;
    float *clock, *power; /* of the last WATCH_READINGS readings */
    _Atomic int64_t readings;
} bench_watch;

/* Nothing happens where the GPU cannot be asked. */
void bench_watch_start(bench_watch *w, const _Atomic bool *timing);
/* Tells least, median and most so far; nothing where nothing was read. Not while arms are timed. */
void bench_watch_tell(bench_watch *w, bench_environment *to);
void bench_watch_stop(bench_watch *w);

#endif
