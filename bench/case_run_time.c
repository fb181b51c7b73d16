#include "bench/case_run.h"

#include "bench/statistics.h"
#include "core/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ROUNDS = 5,
    FEWEST = 10,
    MOST = 50,
    TRIES = 2,
    WARM_SAMPLES = 9,
    BURSTS = 3,
    MOST_CALLS = 1 << 20
};
static const double row_seconds = 0.5, burst_seconds = 0.02;

/* A process whose clock says that it is faster than ours does by more than this is not believed. A
 * simulation shares its processors with whatever else runs. */
static const double clock_margin = 1.25, simulated_margin = 20, clock_slack = 5 /* us */;

/* Adds the answer's numbers to an array. */
static assay_status add_samples(const char *answer, double **sample, int64_t *count) {
    for (char *end;; answer = end) {
        const double value = strtod(answer, &end);
        if (end == answer)
            return ASSAY_OK;
        double *more = realloc(*sample, ((size_t)*count + 1) * sizeof *more);
        if (!more)
            return assay_fail(ASSAY_ERR_MEMORY, "out of memory for samples");
        *sample = more;
        more[(*count)++] = value;
    }
}

/* A comparison with a NaN is false, whatever it asks. */
static bool are_times(const double *sample, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        if (!(sample[i] > 0 && sample[i] < INFINITY))
            return false;
    return true;
}

static assay_status time_once(runner *r, bench_cache cache, int32_t count, bool last,
                              double **sample, int64_t *n) {
    const int64_t before = *n;
    if (!runner_is_fine(r, arm_process_ask(&r->p->process, PROCESS_ANSWER, "time %s %d %d",
                                           bench_cache_name(cache), count, last)))
        return ASSAY_OK;
    const assay_status status = add_samples(r->p->process.answer, sample, n);
    if (status == ASSAY_OK && *n != before + count)
        runner_stop(r, BENCH_ERROR,
                    "it was asked for some samples and gave another number of them");
    else if (status == ASSAY_OK && !are_times(*sample + before, *n - before)) {
        runner_stop(r, BENCH_ERROR, "it gave a time that is no positive number");
        *n = before;
    }
    return status;
}

/* How many samples the slowest arm can give in its time; all give as many, to be paired. */
static assay_status choose_count(case_run *k, int32_t *count) {
    double slowest = 0;
    assay_status status = ASSAY_OK;
    for (runner *r = k->runner; status == ASSAY_OK && r < k->runner + k->n_runners; ++r) {
        double *sample = NULL;
        int64_t n = 0;
        if (runner_goes(r))
            status = time_once(r, BENCH_COLD, TRIES, false, &sample, &n);
        for (int64_t i = 0; i < n; ++i)
            slowest = fmax(slowest, sample[i]);
        free(sample);
    }
    const double fit = row_seconds * 1e6 / fmax(slowest, 1);
    const int32_t chosen =
        k->s->samples > 0 ? k->s->samples : (int32_t)fmin(MOST, fmax(FEWEST, fit));
    *count = (chosen + ROUNDS - 1) / ROUNDS;
    if (*count < k->sets - 1)
        *count = k->sets - 1; /* each timed set has a last call */
    return status;
}

/* Another one begins each round. */
assay_status case_run_time_cold(case_run *k) {
    int32_t count;
    assay_status status = choose_count(k, &count);
    for (int32_t round = 0; round < ROUNDS; ++round)
        for (int32_t i = 0; status == ASSAY_OK && i < k->n_runners; ++i) {
            runner *r = &k->runner[(i + round) % k->n_runners];
            if (runner_goes(r))
                status = time_once(r, BENCH_COLD, count, round == ROUNDS - 1, &r->row.sample,
                                   &r->row.n_samples);
        }
    return status;
}

static bool burst(runner *r, int64_t count, double *seconds) {
    const double start = now();
    const bool done = runner_is_fine(
        r, arm_process_ask(&r->p->process, PROCESS_ANSWER, "burst %lld", (long long)count));
    *seconds = now() - start;
    return done;
}

/* How many calls take long enough to be measured from here. */
static int64_t choose_burst(runner *r) {
    double seconds = 0;
    int64_t count = 1;
    while (burst(r, count, &seconds) && seconds < burst_seconds && count < MOST_CALLS)
        count *= seconds < burst_seconds / 10 ? 10 : 2;
    return count;
}

/* Microseconds of one call by this process's clock: what twice as many calls take longer. */
static void measure_wall(runner *r) {
    const int64_t count = choose_burst(r);
    double one, two, slope[BURSTS];
    int32_t n = 0;
    for (; n < BURSTS && burst(r, count, &one) && burst(r, 2 * count, &two); ++n)
        slope[n] = 1e6 * (two - one) / (double)count;
    r->wall = bench_median(slope, n);
}

/* No other process can make this one's clock slow. */
static void mistrust_clock(const case_run *k, runner *r, double microseconds) {
    char reason[BENCH_REASON];
    const double margin = k->s->device->pause ? clock_margin : simulated_margin;
    if (!(r->wall > margin * microseconds + clock_slack))
        return;
    snprintf(reason, sizeof reason,
             "its process says %.4g us a call, the clock outside of it at least %.4g us",
             microseconds, r->wall);
    runner_stop(r, BENCH_ERROR, reason);
}

assay_status case_run_time_warm(const case_run *k, runner *r) {
    const assay_status status = time_once(r, BENCH_WARM, WARM_SAMPLES, false, &r->warm, &r->n_warm);
    if (status != ASSAY_OK || !runner_goes(r) || !bench_arm_is_ours(r->what))
        return status;
    measure_wall(r);
    if (runner_goes(r))
        mistrust_clock(k, r, bench_median(r->warm, r->n_warm));
    if (runner_goes(r))
        mistrust_clock(k, r, bench_median(r->row.sample, r->row.n_samples));
    return ASSAY_OK;
}

void case_run_ask_memory(runner *r) {
    long long peak = 0, before = 0;
    if (runner_is_fine(r, arm_process_ask(&r->p->process, PROCESS_ANSWER, "memory")) &&
        sscanf(r->p->process.answer, "%lld %lld", &peak, &before) == 2) {
        r->row.peak_bytes = peak;
        r->row.before_backward_bytes = before;
    }
}

void case_run_ask_customary(runner *r) {
    if (!bench_arm_is_ours(r->what) &&
        arm_process_ask(&r->p->process, PROCESS_ANSWER, "self %d", MOST) == ASSAY_OK) {
        const double time = strtod(r->p->process.answer, NULL);
        r->row.customary = are_times(&time, 1) ? time : 0;
    }
}
