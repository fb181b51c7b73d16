#include "bench/arms/timing.h"

#include <math.h>
#include <time.h>

/* Microseconds. Longer than the longest wait only a call takes that waits for the device itself. */
static const double least_wait = 200, most_wait = 20000;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

void timing_init(timing *t, const assay_device *device, const arm_timer *timer) {
    *t = (timing){.device = device, .timer = timer, .wait = least_wait};
}

/* Keeps the device busy, so that the start mark has to wait. */
static assay_status hold_back(const timing *t, const timing_job *job) {
    assay_status status = t->timer->queues ? t->timer->spin(t->wait) : ASSAY_OK;
    if (status == ASSAY_OK)
        status = job->clear(job->context);
    if (status == ASSAY_OK && job->cold)
        status = t->timer->flush();
    return status;
}

/* `late`: the start mark was passed before all was queued; `queueing`: microseconds that this took.
 */
static assay_status queue(const timing *t, const timing_job *job, bool *late, double *queueing) {
    const double start = now();
    assay_status status = hold_back(t, job);
    if (status == ASSAY_OK)
        status = t->timer->mark(ARM_START);
    if (status == ASSAY_OK)
        status = job->run(job->context);
    if (status == ASSAY_OK)
        status = t->timer->mark(ARM_END);
    *queueing = now() - start;
    if (status == ASSAY_OK)
        status = t->timer->passed(ARM_START, late);
    return status == ASSAY_OK ? job->after(job->context) : status;
}

static assay_status attempt(const timing *t, const timing_job *job, bool *late, double *queueing,
                            double *microseconds) {
    assay_status status = job->before(job->context);
    if (status == ASSAY_OK)
        status = queue(t, job, late, queueing);
    /* The call may have ignored what a launch reported: the device remembers. */
    const assay_status finished = t->device->finish();
    if (status != ASSAY_OK || finished != ASSAY_OK)
        return status != ASSAY_OK ? status : finished;
    return t->timer->elapsed(microseconds);
}

assay_status timing_sample(timing *t, const timing_job *job, double *microseconds) {
    for (;;) {
        bool late = false;
        double queueing = 0;
        const assay_status status = attempt(t, job, &late, &queueing, microseconds);
        if (status != ASSAY_OK || !late || !t->timer->queues || t->unqueued || job->once)
            return status;
        if (t->wait >= most_wait) {
            t->unqueued = true;
            t->wait = least_wait;
            return ASSAY_OK;
        }
        t->wait = fmin(2 * fmax(t->wait, queueing), most_wait);
    }
}
