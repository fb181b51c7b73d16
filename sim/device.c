#include "sim/device.h"

#include "sim/asan.h"
#include "sim/schedule.h"
#include "sim/sim.h"
#include "sim/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, LARGE = 1 << 28, MULTIPROCESSORS = 2, RECORDED_BUDGET = 8192 };

static assay_status sim_probe(char text[ASSAY_DEVICE_TEXT]) {
#if defined(SIM_ASAN)
    const char *const watched = ", AddressSanitizer";
#else
    const char *const watched = sim_race_compiled ? ", race recorder" : "";
#endif
    snprintf(text, ASSAY_DEVICE_TEXT, "simulated CUDA device: one block at a time, fibers%s",
             watched);
    return ASSAY_OK;
}

/* Bytes that the host can give; infinite when nothing is known. */
static double available(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    double kib = INFINITY;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %lf kB", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib * 1024;
}

static assay_status no_memory(size_t bytes) {
    const double gib = 1 << 30;
    return assay_fail(ASSAY_ERR_MEMORY,
                      "simulated device: needs %.2f GiB more of host memory, %.2f GiB are free: "
                      "choose a smaller case",
                      (double)bytes / gib, available() / gib);
}

/* Filled like memory that was never written: a kernel that reads it gets NaN. A host that gives
 * more than it has ends the process when that is filled, so large requests are refused before. */
static assay_status sim_alloc(size_t bytes, void **memory) {
    *memory = NULL;
    if ((bytes > LARGE && (double)bytes > available()) ||
        posix_memalign(memory, ALIGNMENT, bytes) != 0) {
        *memory = NULL;
        return no_memory(bytes);
    }
    sim_fill(*memory, bytes);
    trace_alloc(*memory, bytes);
    return ASSAY_OK;
}

static void sim_release(void *memory) {
    trace_release(memory);
    free(memory);
}

static void guard(void *memory, size_t bytes, bool on) {
    sim_poison(memory, bytes, on);
    trace_guard(memory, bytes, on);
}

static assay_status sim_copy(void *to, const void *from, size_t bytes) {
    if (bytes > 0)
        memcpy(to, from, bytes);
    return ASSAY_OK;
}

static void sim_begin(assay_schedule schedule, uint64_t seed) {
    sim_schedule_set(schedule, seed);
    sim_device_forget();
}

static int32_t shared_budget = RECORDED_BUDGET;

int32_t sim_shared_budget(void) {
    return shared_budget;
}

void sim_plan_with_all_shared_memory(bool all) {
    shared_budget = all ? ASSAY_MAX_SHARED : RECORDED_BUDGET;
}

static int32_t planned_for = MULTIPROCESSORS;

int32_t sim_multiprocessors(void) {
    return planned_for;
}

static void sim_plan_for(int32_t multiprocessors) {
    planned_for = multiprocessors > 0 ? multiprocessors : MULTIPROCESSORS;
}

const assay_device *assay_sim_device(void) {
    static assay_device device = {
        .name = "sim",
        .simulated = true,
        .probe = sim_probe,
        .alloc = sim_alloc,
        .release = sim_release,
        .upload = sim_copy,
        .download = sim_copy,
        .guard = guard,
        .schedule = sim_begin,
        .multiprocessors = MULTIPROCESSORS,
        .plan_for = sim_plan_for,
        .finish = sim_device_noted,
    };
    device.variants = assay_sim_variants;
    device.n_variants = assay_sim_n_variants;
    device.oracles = assay_sim_oracles;
    device.n_oracles = assay_sim_n_oracles;
    return &device;
}
