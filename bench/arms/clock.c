/* The arm that times the timer: kernels of a known duration, and copies, whose speed is known. */
#include "bench/arms/arm.h"
#include "bench/arms/timing.h"

enum { MOST_SPIN = 1000000 };

typedef struct known {
    const arm_timer *timer;
    double microseconds; /* a spin, where there is no memory */
    void *from, *to;
    size_t bytes;
} known;

static assay_status nothing(void *context) {
    (void)context;
    return ASSAY_OK;
}

static assay_status spin(void *context) {
    const known *k = context;
    return k->timer->spin(k->microseconds);
}

static assay_status copy(void *context) {
    const known *k = context;
    return k->timer->copy(k->to, k->from, k->bytes);
}

static assay_status time_known(const arm_state *a, known *k, assay_status (*run)(void *context),
                               int64_t count, FILE *answer) {
    const timing_job job = {.context = k,
                            .before = nothing,
                            .clear = nothing,
                            .run = run,
                            .after = nothing,
                            .cold = true};
    timing t;
    assay_status status = ASSAY_OK;
    timing_init(&t, a->place.device, a->place.timer);
    for (int64_t i = 0; status == ASSAY_OK && i < count; ++i) {
        double microseconds;
        status = timing_sample(&t, &job, &microseconds);
        if (status == ASSAY_OK)
            fprintf(answer, "%s%.6g", i > 0 ? " " : "", microseconds);
    }
    return status;
}

static assay_status two_integers(words *w, const char *what, int64_t most, int64_t *value,
                                 int64_t *count) {
    assay_status status = words_integer(w, what, 1, most, value);
    if (status == ASSAY_OK)
        status = words_integer(w, "the count", 1, ARM_MOST_COUNT, count);
    return status == ASSAY_OK ? words_end(w) : status;
}

static assay_status do_spin(arm_state *a, words *w, FILE *answer) {
    int64_t microseconds, count;
    const assay_status status = two_integers(w, "microseconds", MOST_SPIN, &microseconds, &count);
    if (status != ASSAY_OK)
        return status;
    known k = {.timer = a->place.timer, .microseconds = (double)microseconds};
    return time_known(a, &k, spin, count, answer);
}

static assay_status do_copy(arm_state *a, words *w, FILE *answer) {
    const assay_device *device = a->place.device;
    int64_t bytes, count;
    assay_status status = two_integers(w, "bytes", INT64_MAX, &bytes, &count);
    if (status != ASSAY_OK)
        return status;
    known k = {.timer = a->place.timer, .bytes = (size_t)bytes};
    status = device->alloc(k.bytes, &k.from);
    if (status == ASSAY_OK)
        status = device->alloc(k.bytes, &k.to);
    if (status == ASSAY_OK)
        status = time_known(a, &k, copy, count, answer);
    device->release(k.from);
    device->release(k.to);
    return status;
}

const arm_command arm_clock_commands[] = {
    {"hello", ARM_STARTED, false, arm_hello},
    {"spin", ARM_HAS_DEVICE, false, do_spin},
    {"copy", ARM_HAS_DEVICE, false, do_copy},
    {NULL, ARM_STARTED, false, NULL},
};
