#include "bench/arms/sample.h"
#include "bench/arms/call.h"
#include "bench/arms/disturb.h"

/* Warm calls are timed together for as long, so that marks and a graph's start do not count. */
static const double together_microseconds = 1000;
enum { MOST_TOGETHER = 4096, WARM_UPS = 2 };

int64_t sample_sets(const work *w) {
    return w->n_sets > 1 ? w->n_sets - 1 : 1;
}

set *sample_set(const work *w, int64_t number) {
    return &w->sets[w->n_sets > 1 ? 1 + number % (w->n_sets - 1) : 0];
}

/* ---- what surrounds a call ---- */

assay_status sample_restore(work *w, set *s) {
    s->fresh = false;
    return disturb_undo(s, w->timing.timer, call_reads(w));
}

assay_status sample_freshen(work *w, set *s) {
    const assay_status status =
        s->fresh ? ASSAY_OK : disturb(s, w->timing.timer, &w->rng, call_reads(w));
    s->fresh = status == ASSAY_OK;
    return status;
}

static assay_status call(work *w, set *s) {
    s->fresh = false;
    s->results = SET_IN_PLACE;
    return call_queue(w, s);
}

/* ---- a sample ---- */

typedef struct sample {
    work *w;
    set *sets; /* those that it calls on */
    int64_t count;
    bool given; /* as they were given */
} sample;

static assay_status each(const sample *m, assay_status (*act)(const sample *m, set *s)) {
    assay_status status = ASSAY_OK;
    for (int64_t i = 0; status == ASSAY_OK && i < m->count; ++i)
        status = act(m, &m->sets[i]);
    return status;
}

static assay_status prepare(const sample *m, set *s) {
    return m->given ? sample_restore(m->w, s) : sample_freshen(m->w, s);
}

/* Whatever a call must write holds NaN. */
static assay_status clear(const sample *m, set *s) {
    return set_blank(s, m->w->timing.timer, call_writes(m->w));
}

/* In the order of the stream that the variant was given, before anything waits for the device: what
 * a variant does elsewhere comes too late. */
static assay_status keep(const sample *m, set *s) {
    return set_keep(s, m->w->timing.timer, call_writes(m->w));
}

static assay_status prepare_all(void *context) {
    return each(context, prepare);
}

static assay_status clear_all(void *context) {
    const sample *m = context;
    const assay_status status = m->w->timing.timer->blank(m->w->workspace, m->w->workspace_room);
    return status == ASSAY_OK ? each(m, clear) : status;
}

static assay_status keep_all(void *context) {
    const sample *m = context;
    return m->given ? each(m, keep) : ASSAY_OK;
}

static assay_status take(sample *m, assay_status (*run)(void *context), bool cold,
                         double *microseconds) {
    const timing_job job = {.context = m,
                            .before = prepare_all,
                            .clear = clear_all,
                            .run = run,
                            .after = keep_all,
                            .cold = cold,
                            .once = m->given};
    return timing_sample(&m->w->timing, &job, microseconds);
}

/* ---- cold: one call ---- */

static assay_status call_one(void *context) {
    const sample *m = context;
    return call(m->w, m->sets);
}

assay_status sample_cold(work *w, set *s, bool given, double *microseconds) {
    sample m = {.w = w, .sets = s, .count = 1, .given = given};
    return take(&m, call_one, true, microseconds);
}

/* ---- warm: calls on the sets in turn ---- */

static assay_status call_in_turn(work *w, int64_t count) {
    assay_status status = ASSAY_OK;
    for (int64_t i = 0; status == ASSAY_OK && i < count; ++i)
        status = call(w, sample_set(w, i));
    return status;
}

/* Those of a sample, kept or not. */
static assay_status call_together(work *w) {
    if (!w->kept)
        return call_in_turn(w, w->together);
    for (int64_t i = 0; i < sample_sets(w); ++i) {
        sample_set(w, i)->fresh = false;
        sample_set(w, i)->results = SET_IN_PLACE;
    }
    return w->timing.timer->replay();
}

assay_status sample_queue(work *w, int64_t count) {
    assay_status status = ASSAY_OK;
    for (; status == ASSAY_OK && count >= w->together; count -= w->together)
        status = call_together(w);
    return status == ASSAY_OK ? call_in_turn(w, count) : status;
}

static assay_status call_many(void *context) {
    const sample *m = context;
    return call_together(m->w);
}

assay_status sample_warm(work *w, bool given, double *microseconds) {
    sample m = {.w = w, .sets = sample_set(w, 0), .count = sample_sets(w), .given = given};
    const assay_status status = take(&m, call_many, false, microseconds);
    *microseconds /= (double)w->together;
    return status;
}

/* ---- together ---- */

/* Keeps the calls of a warm sample where the timer can, and the variant lets it: one that waits for
 * the device, or allocates, is called again each time. */
static assay_status keep_together(work *w) {
    const arm_timer *timer = w->timing.timer;
    if (!timer->record)
        return ASSAY_OK;
    const assay_status begun = timer->record();
    if (begun != ASSAY_OK)
        return begun;
    const assay_status called = call_in_turn(w, w->together);
    w->kept = timer->keep(called == ASSAY_OK) == ASSAY_OK && called == ASSAY_OK;
    if (!w->kept)
        (void)w->device->finish(); /* takes away the error that this has left behind */
    return w->device->finish();
}

assay_status sample_warm_up(work *w) {
    double microseconds = 0;
    assay_status status = ASSAY_OK;
    w->together = sample_sets(w);
    for (int i = 0; status == ASSAY_OK && i < WARM_UPS; ++i)
        status = sample_warm(w, false, &microseconds);
    /* The least multiple of the sets that lasts. NaN and 0 make it the most. */
    while (status == ASSAY_OK && w->together + sample_sets(w) <= MOST_TOGETHER &&
           !((double)w->together * microseconds >= together_microseconds))
        w->together += sample_sets(w);
    if (status == ASSAY_OK)
        status = keep_together(w);
    for (int64_t i = 0; i < sample_sets(w); ++i)
        sample_set(w, i)->results = SET_NOTHING;
    return status;
}
