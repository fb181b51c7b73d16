#include "tests/evidence/workers.h"
#include "core/clock.h"
#include "engine/process/pool.h"

/* Every jobs-th case of one mode, until `deadline`. */
static assay_status examine_mode(const work *w, const assay_device *device, const mode *m,
                                 int32_t job, double deadline, histogram *page) {
    for (int64_t i = job; i < w->cases && now() < deadline; i += w->jobs) {
        assay_case c;
        assay_status status = source_case(&w->from, m, w->fills, w->first + i, &c);
        if (status == ASSAY_ERR_UNSUPPORTED)
            return ASSAY_OK;
        if (status == ASSAY_OK)
            status = w->examine(&c, device, w->variant, page);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

static assay_status examine_all(const work *w, int32_t job, const ledger *l) {
    const double end = now() + w->seconds;
    const assay_device *device;
    assay_status status = assay_device_open(w->device, &device);
    assay_device prompt = {0};
    if (status == ASSAY_OK) {
        prompt = *device;
        prompt.pause = NULL; /* against cheats, of which there are none here; most of the time */
    }
    for (int32_t i = 0; status == ASSAY_OK && i < l->modes->count; ++i) {
        const double start = now();
        status = examine_mode(w, &prompt, &l->modes->mode[i], job,
                              start + (end - start) / (l->modes->count - i), ledger_at(l, i, 0));
    }
    return status;
}

/* What a job has: the number of the worker's part, for which a ledger is there. */
typedef struct plan {
    const work *w;
    const ledger *part;
} plan;

static assay_status examine_part(void *context, void *state, void *job) {
    const plan *p = context;
    const int32_t *number = job;
    (void)state;
    return examine_all(p->w, *number, &p->part[*number]);
}

/* Waits for all that were given; the first error is that of all. */
static assay_status take_all(pool *p, assay_status status) {
    while (pool_busy(p) > 0) {
        pool_done done;
        assay_status ended = pool_wait(p, -1, &done);
        if (done.job && done.end != PROCESS_NOT_ENDED)
            ended = assay_fail(ASSAY_ERR_KERNEL, "a worker %s", done.line);
        status = status == ASSAY_OK ? ended : status;
    }
    return status;
}

static assay_status share_out(const work *w, const ledger *part) {
    plan context = {.w = w, .part = part};
    const pool_plan how = {.workers = w->jobs,
                           .job_bytes = sizeof(int32_t),
                           .context = &context,
                           .work = examine_part};
    pool workers;
    assay_status status = pool_start(&workers, &how);
    if (status != ASSAY_OK)
        return status;
    for (int32_t j = 0; status == ASSAY_OK && j < w->jobs; ++j) {
        int32_t *number = pool_idle(&workers);
        *number = j;
        status = pool_give(&workers, number);
    }
    status = take_all(&workers, status);
    pool_end(&workers);
    return status;
}

assay_status workers_run(const work *w, ledger *total) {
    static ledger part[POOL_MOST_WORKERS];
    assay_status status = ASSAY_OK;
    for (int32_t j = 0; status == ASSAY_OK && j < w->jobs && j < POOL_MOST_WORKERS; ++j)
        status = ledger_init(&part[j], total->modes, total->series, total->n_series);
    if (status == ASSAY_OK)
        status = share_out(w, part);
    for (int32_t j = 0; j < POOL_MOST_WORKERS; ++j) {
        if (part[j].page)
            ledger_merge(total, &part[j]);
        ledger_clear(&part[j]);
    }
    return status;
}
