/* The wait ahead of a sample, on a timer that is made up; and the GPU's power. */
#include "bench/arms/power.h"
#include "bench/arms/timing.h"
#include "tests/shim/assay_test.h"

#include <math.h>

/* A timer whose queue needs a wait of `enough` microseconds to be full in time. */
static struct {
    double enough, wait;
    int attempts, flushes;
} fake;

static assay_status fake_spin(double microseconds) {
    fake.wait = microseconds;
    return ASSAY_OK;
}

static assay_status fake_flush(void) {
    ++fake.flushes;
    return ASSAY_OK;
}

static assay_status fake_mark(arm_mark mark) {
    (void)mark;
    return ASSAY_OK;
}

static assay_status fake_passed(arm_mark mark, bool *passed) {
    *passed = mark == ARM_START && fake.wait < fake.enough;
    return ASSAY_OK;
}

static assay_status fake_elapsed(double *microseconds) {
    *microseconds = fake.wait;
    return ASSAY_OK;
}

static const arm_timer fake_timer = {.queues = true,
                                     .spin = fake_spin,
                                     .flush = fake_flush,
                                     .mark = fake_mark,
                                     .passed = fake_passed,
                                     .elapsed = fake_elapsed};

static assay_status nothing(void *context) {
    (void)context;
    return ASSAY_OK;
}

static assay_status count_attempt(void *context) {
    (void)context;
    ++fake.attempts;
    return ASSAY_OK;
}

/* One sample; the wait ahead of the attempt that counted. */
static double sample(timing *t, double enough, bool cold, bool once) {
    const timing_job job = {.before = nothing,
                            .clear = nothing,
                            .run = count_attempt,
                            .after = nothing,
                            .cold = cold,
                            .once = once};
    double microseconds;
    fake.enough = enough;
    fake.attempts = fake.flushes = 0;
    REQUIRE_OK(timing_sample(t, &job, &microseconds));
    CHECK(fake.flushes == (cold ? fake.attempts : 0));
    return microseconds;
}

static timing fresh(void) {
    const assay_device *device;
    timing t;
    REQUIRE_OK(assay_device_open("sim", &device));
    timing_init(&t, device, &fake_timer);
    return t;
}

ASSAY_TEST(timing, waits_until_the_queue_is_full, "unit") {
    timing t = fresh();
    CHECK(sample(&t, 0, true, false) < 1500 && fake.attempts == 1);
    CHECK(sample(&t, 1500, true, false) >= 1500);
    CHECK_MSG(fake.attempts > 1 && fake.attempts < 6, "%d attempts", fake.attempts);
    CHECK(sample(&t, 1500, false, false) >= 1500); /* it remembers */
    CHECK(fake.attempts == 1);
    CHECK(!t.unqueued);
}

ASSAY_TEST(timing, the_last_sample_is_not_repeated, "unit") {
    timing t = fresh();
    (void)sample(&t, 1500, true, true);
    CHECK(fake.attempts == 1);
}

ASSAY_TEST(timing, gives_up_on_calls_that_wait_themselves, "unit") {
    timing t = fresh();
    (void)sample(&t, INFINITY, true, false);
    CHECK(t.unqueued && fake.attempts < 12);
    (void)sample(&t, INFINITY, true, false);
    CHECK(fake.attempts == 1);
}

ASSAY_TEST(power, is_plausible_or_absent, "unit") {
    double mhz = -1, watt = -1;
    if (power_read(&mhz, &watt))
        CHECK_MSG(mhz > 0 && mhz < 1e4 && watt > 0 && watt < 1e4, "%g MHz, %g W", mhz, watt);
    else
        CHECK(mhz == 0 && watt == 0);
}
