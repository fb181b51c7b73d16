#include "bench/watch.h"

#include "bench/arms/power.h"

#include <stdlib.h>
#include <time.h>

static const struct timespec between = {.tv_nsec = 20000000};

static void *watch(void *context) {
    bench_watch *w = context;
    double clock, power;
    while (!w->end) {
        if (*w->timing && power_read(&clock, &power)) {
            const int64_t at = w->readings % WATCH_READINGS;
            w->clock[at] = (float)clock;
            w->power[at] = (float)power;
            ++w->readings;
        }
        (void)nanosleep(&between, NULL);
    }
    return NULL;
}

void bench_watch_start(bench_watch *w, const _Atomic bool *timing) {
    double clock, power;
    w->timing = timing;
    if (!power_read(&clock, &power))
        return;
    w->clock = calloc(WATCH_READINGS, sizeof *w->clock);
    w->power = calloc(WATCH_READINGS, sizeof *w->power);
    w->runs = w->clock && w->power && pthread_create(&w->thread, NULL, watch, w) == 0;
}

static int ascending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void summarise(float *reading, int64_t count, double least_median_most[3]) {
    qsort(reading, (size_t)count, sizeof *reading, ascending);
    least_median_most[0] = (double)reading[0];
    least_median_most[1] = (double)reading[count / 2];
    least_median_most[2] = (double)reading[count - 1];
}

void bench_watch_tell(bench_watch *w, bench_environment *to) {
    const int64_t all = w->readings, count = all < WATCH_READINGS ? all : WATCH_READINGS;
    if (count > 0) {
        summarise(w->clock, count, to->sm_clock_mhz);
        summarise(w->power, count, to->power_watt);
    }
}

void bench_watch_stop(bench_watch *w) {
    if (w->runs) {
        w->end = true;
        (void)pthread_join(w->thread, NULL);
    }
    free(w->clock);
    free(w->power);
    *w = (bench_watch){0};
}
