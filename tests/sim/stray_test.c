/* Accesses out of bounds, of which nothing shows in what a kernel leaves: each is told with its
 * line, and nothing of the kernel that does it right. */
#include "tests/sim/stray.h"

#include "sim/race/race.h"
#include "sim/sim.h"
#include "tests/shim/assay_test.h"

#include <string.h>

static const struct {
    const char *name, *text;
    sim_race_class class;
} kernels[STRAY_KERNELS] = {
    [STRAY_BEHIND_A_ROW] = {"behind_a_row", "reads 4 bytes, 0 behind a row of a tensor", SIM_STRAY},
    [STRAY_BEHIND_THE_TENSOR] = {"behind_the_tensor", "reads 4 bytes, 0 behind a row", SIM_STRAY},
    [STRAY_BEFORE_THE_TENSOR] = {"before_the_tensor", "reads 4 bytes, before all", SIM_STRAY},
    [STRAY_RELEASED] = {"released", "which the device did not allocate", SIM_STRAY},
    [STRAY_VECTOR] = {"vector", "reads 16 bytes, 0 behind a row", SIM_STRAY},
    [STRAY_SHARED_VARIABLE] = {"shared_variable", "0 behind the end of two", SIM_STRAY},
    [STRAY_FIRST_SHARED_VARIABLE] = {"first_shared_variable", "0 behind the end of one", SIM_STRAY},
    [STRAY_SHARED_OF_A_TEMPLATE] = {"shared_of_a_template",
                                    "what no thread of its block has written", SIM_UNINITIALISED},
    [STRAY_DYNAMIC_SHARED] = {"dynamic_shared", "bytes 256 to 259", SIM_BEYOND},
    [STRAY_BEFORE_DYNAMIC_SHARED] = {"before_dynamic_shared", "bytes -4 to -1", SIM_BEYOND},
    [STRAY_WRITE] = {"write", "writes 4 bytes, 0 behind a row", SIM_STRAY},
    [STRAY_ATOMIC] = {"atomic", "updates atomically 4 bytes, 0 behind a row", SIM_STRAY},
};

/* Memory of the device in which a tensor of two rows lies between guards, as the runner has it. */
enum { GUARD = 64, STEP = STRAY_THREADS + STRAY_PAD, INTS = GUARD + 2 * STEP + GUARD };

static void guard(const assay_device *device, int *memory, bool on) {
    device->guard(memory, GUARD * sizeof(int), on);
    device->guard(memory + GUARD + STRAY_THREADS, STRAY_PAD * sizeof(int), on);
    device->guard(memory + GUARD + STEP + STRAY_THREADS, (STRAY_PAD + GUARD) * sizeof(int), on);
}

static assay_status launch(stray_kernel kernel, bool right, assay_schedule schedule) {
    const assay_device *device = assay_sim_device();
    void *memory = NULL, *out = NULL, *released = NULL;
    REQUIRE_OK(device->alloc(INTS * sizeof(int), &memory));
    REQUIRE_OK(device->alloc(STRAY_THREADS * sizeof(int), &out));
    REQUIRE_OK(device->alloc(STRAY_THREADS * sizeof(int), &released));
    memset(memory, 0, INTS * sizeof(int));
    device->release(released);
    guard(device, memory, true);
    device->schedule(schedule, 1);
    const assay_status status = stray_launch(kernel, right, (int *)memory + GUARD, released, out);
    device->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
    guard(device, memory, false);
    device->release(memory);
    device->release(out);
    return status;
}

static void check_found(stray_kernel kernel, assay_schedule schedule) {
    const assay_status status = launch(kernel, false, schedule);
    const char *name = kernels[kernel].name, *in = assay_schedule_name(schedule);
    CHECK_MSG(status == ASSAY_ERR_KERNEL, "%s, %s: not found", name, in);
    CHECK_MSG(sim_race_count() > 0, "%s, %s: not in the list", name, in);
    const sim_race *found = sim_race_at(0);
    CHECK_MSG(found->class == kernels[kernel].class, "%s, %s: %s", name, in, found->text);
#if !defined(__clang__) /* which makes one load, of no line, of those of several kernels */
    CHECK_MSG(found->after.line == stray_line && strcmp(found->after.file, "stray.cu") == 0,
              "%s, %s: %s:%d, not line %d: %s", name, in, found->after.file, found->after.line,
              stray_line, found->text);
#endif
    CHECK_MSG(strstr(found->text, kernels[kernel].text), "%s, %s: no \"%s\" in: %s", name, in,
              kernels[kernel].text, found->text);
}

static void check_kernel(void *context) {
    const stray_kernel kernel = *(const stray_kernel *)context;
#if defined(__clang__) /* which leaves no gaps (sim/cuda.h) */
    if (kernel == STRAY_SHARED_VARIABLE || kernel == STRAY_FIRST_SHARED_VARIABLE)
        SKIP("%s", "clang leaves no gaps between variables");
#endif
    for (int i = 0; i < ASSAY_SCHEDULES; ++i) {
        check_found(kernel, (assay_schedule)i);
        CHECK_MSG(launch(kernel, true, (assay_schedule)i) == ASSAY_OK, "%s, right: %s",
                  kernels[kernel].name, assay_error());
        CHECK(sim_race_count() == 0);
    }
}

__attribute__((constructor)) static void register_kernels(void) {
    static stray_kernel all[STRAY_KERNELS];
    for (int i = 0; i < STRAY_KERNELS; ++i) {
        all[i] = (stray_kernel)i;
        assay_test_register("stray", kernels[i].name, "race sim", check_kernel, &all[i]);
    }
}
