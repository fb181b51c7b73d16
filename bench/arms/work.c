#include "bench/arms/work.h"
#include "bench/arms/call.h"
#include "bench/arms/sample.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* It must not be known beforehand which elements change places. */
static uint64_t unforeseen(void) {
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
        seed = (uint64_t)time(NULL);
    return seed;
}

/* ---- life ---- */

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static assay_status load(work *w, const shared *memory) {
    const set_groups groups = work_needs(w->stage == BENCH_FORWARD ? BENCH_FORWARD : BENCH_BOTH);
    assay_status status = ASSAY_OK;
    for (int64_t i = 0; status == ASSAY_OK && i < w->n_sets; ++i)
        status = set_load(&w->sets[i], w->device, memory, groups);
    w->workspace_room =
        larger(w->workspace_bytes[ASSAY_FORWARD], w->workspace_bytes[ASSAY_BACKWARD]);
    if (status == ASSAY_OK)
        status = w->device->alloc(w->workspace_room, &w->workspace);
    for (int64_t i = 0; status == ASSAY_OK && i < w->n_sets; ++i)
        set_make_room(&w->sets[i], w->device, call_writes(w));
    /* Uploads may be on their way still, and the timer's stream does not wait for them. */
    return status == ASSAY_OK ? w->device->finish() : status;
}

/* The outputs that a backward reads, of every set as it was given. */
static assay_status run_preludes(work *w) {
    assay_status status = ASSAY_OK;
    for (int64_t i = 0; status == ASSAY_OK && call_has_prelude(w) && i < w->n_sets; ++i)
        status = call_prelude(w, &w->sets[i]);
    const assay_status finished = w->device->finish();
    return status == ASSAY_OK ? finished : status;
}

static assay_status make_ready(work *w, const shared *memory) {
    const size_t most = 2 * (size_t)(w->form->sig.n_in + w->form->sig.n_out);
    w->argument = calloc(most, sizeof *w->argument);
    if (!w->argument)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for %zu arguments", most);
    assay_status status = call_supported(w);
    if (status == ASSAY_OK)
        status = load(w, memory);
    if (status == ASSAY_OK)
        status = run_preludes(w);
    if (status == ASSAY_OK)
        status = sample_warm_up(w);
    return status == ASSAY_OK ? work_settle(w) : status;
}

assay_status work_init(work *w, const work_place *place, const form *f, bench_stage stage,
                       set *sets, int64_t n_sets, const shared *memory) {
    *w = (work){.device = place->device,
                .variant = place->variant,
                .stream = place->stream,
                .form = f,
                .stage = stage,
                .own_forward = f->own_forward,
                .sets = sets,
                .n_sets = n_sets,
                .rng = {.seed = unforeseen(), .stream = assay_rng_stream("disturbance")}};
    timing_init(&w->timing, place->device, place->timer);
    w->device->schedule(f->schedule, f->seed);
    const assay_status status = make_ready(w, memory);
    if (status != ASSAY_OK)
        work_clear(w);
    return status;
}

void work_clear(work *w) {
    for (int64_t i = 0; i < w->n_sets; ++i)
        set_unload(&w->sets[i], w->device);
    if (w->device)
        w->device->release(w->workspace);
    free(w->argument);
    *w = (work){0};
}

void work_memory(const work *w, size_t *peak, size_t *before) {
    const set_groups held = work_needs(w->stage == BENCH_FORWARD ? BENCH_FORWARD : BENCH_BOTH);
    const set_groups early = held & ~SET_BIT(SET_GRAD);
    const size_t workspace =
        w->stage == BENCH_BACKWARD ? w->workspace_bytes[ASSAY_BACKWARD] : w->workspace_room;
    *peak = set_bytes(&w->sets[0], held) + workspace;
    *before = w->stage == BENCH_FORWARD ? 0 : set_bytes(&w->sets[0], early);
}

/* ---- single calls ---- */

assay_status work_run(work *w, int64_t index) {
    double microseconds;
    return sample_cold(w, &w->sets[index], true, &microseconds);
}

assay_status work_take(work *w, int64_t index, const shared *memory) {
    set *s = &w->sets[index];
    if (s->results == SET_NOTHING)
        return assay_fail(ASSAY_ERR_USAGE, "set %lld has no results: run or time it first",
                          (long long)index);
    assay_status status = sample_restore(w, s); /* what a call reads may be asked for, too */
    if (status == ASSAY_OK)
        status = w->device->finish();
    return status == ASSAY_OK ? set_store(s, w->device, memory, call_leaves(w)) : status;
}

/* ---- many calls ---- */

static assay_status time_cold(work *w, int64_t count, bool last, double *microseconds) {
    const int64_t timed = sample_sets(w);
    assay_status status = ASSAY_OK;
    for (int64_t i = 0; status == ASSAY_OK && i < count; ++i)
        status = sample_cold(w, sample_set(w, w->timed_calls++), last && i >= count - timed,
                             &microseconds[i]);
    return status;
}

assay_status work_time(work *w, bench_cache cache, int64_t count, bool last, double *microseconds) {
    if (last && cache == BENCH_COLD && count < sample_sets(w))
        return assay_fail(ASSAY_ERR_USAGE,
                          "the last timed calls include one on each of %lld sets; ask for at "
                          "least that many",
                          (long long)sample_sets(w));
    if (cache == BENCH_COLD)
        return time_cold(w, count, last, microseconds);
    assay_status status = ASSAY_OK;
    for (int64_t i = 0; status == ASSAY_OK && i < count; ++i)
        status = sample_warm(w, last && i + 1 == count, &microseconds[i]);
    return status;
}

assay_status work_burst(work *w, int64_t count) {
    assay_status status = work_settle(w);
    if (status == ASSAY_OK)
        status = sample_queue(w, count);
    const assay_status finished = w->device->finish();
    return status == ASSAY_OK ? finished : status;
}

assay_status work_settle(work *w) {
    assay_status status = ASSAY_OK;
    bool settled = true;
    for (int64_t i = 0; status == ASSAY_OK && i < sample_sets(w); ++i) {
        settled = settled && sample_set(w, i)->fresh;
        status = sample_freshen(w, sample_set(w, i));
    }
    return status == ASSAY_OK && !settled ? w->device->finish() : status;
}
