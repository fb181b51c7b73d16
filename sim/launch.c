#include "sim/block.h"
#include "sim/defect.h"
#include "sim/device.h"
#include "sim/schedule.h"
#include "sim/shared.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". */
enum {
    MAX_GRID_X = INT32_MAX,
    MAX_GRID_YZ = 65535,
    MAX_BLOCK_XY = 1024,
    MAX_BLOCK_Z = 64,
};

sim_current sim_now = {.thread = -1};

static assay_status refuse(const sim_launch *l, const char *format, ...) ASSAY_PRINTF(2, 3);
static assay_status refuse(const sim_launch *l, const char *format, ...) {
    char reason[200];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return assay_fail(ASSAY_ERR_DEVICE, "%s:%d: launch of %s refused: %s", sim_base_name(l->file),
                      l->line, l->kernel, reason);
}

static assay_status check_configuration(const sim_launch *l) {
    uint64_t threads = (uint64_t)l->block.x * l->block.y * l->block.z;
    if (sim_now.kernel)
        return refuse(l, "it comes from within the kernel %s", sim_now.kernel);
    if (l->block.x > MAX_BLOCK_XY || l->block.y > MAX_BLOCK_XY || l->block.z > MAX_BLOCK_Z)
        return refuse(l, "a block of %u x %u x %u threads, at most %d x %d x %d are allowed",
                      l->block.x, l->block.y, l->block.z, MAX_BLOCK_XY, MAX_BLOCK_XY, MAX_BLOCK_Z);
    if (threads == 0 || threads > SIM_MAX_THREADS)
        return refuse(l, "a block of %u x %u x %u threads, it must have 1 to %d", l->block.x,
                      l->block.y, l->block.z, SIM_MAX_THREADS);
    if (l->grid.x > MAX_GRID_X || l->grid.y > MAX_GRID_YZ || l->grid.z > MAX_GRID_YZ)
        return refuse(l, "a grid of %u x %u x %u blocks, at most %d x %d x %d are allowed",
                      l->grid.x, l->grid.y, l->grid.z, MAX_GRID_X, MAX_GRID_YZ, MAX_GRID_YZ);
    if (l->shared_bytes > ASSAY_MAX_SHARED)
        return refuse(l, "%zu bytes of dynamic shared memory, a block may have %d", l->shared_bytes,
                      ASSAY_MAX_SHARED);
    return ASSAY_OK;
}

static void run_blocks(const sim_launch *l, const sim_range shared[2]) {
    uint64_t n_blocks = (uint64_t)l->grid.x * l->grid.y * l->grid.z;
    sim_schedule_launch(n_blocks);
    bool going = true;
    for (uint64_t i = 0; i < n_blocks && going; ++i) {
        sim_now.block = sim_schedule_block(i);
        sim_shared_fill(shared);
        trace_block_begin(sim_now.block, sim_now.n_threads, shared);
        going = sim_block_run(l);
        trace_block_end();
    }
}

static assay_status run(const sim_launch *l) {
    sim_range shared[2];
    assay_status status = check_configuration(l);
    if (status == ASSAY_OK)
        status = sim_block_setup();
    if (status == ASSAY_OK)
        status = sim_shared_begin(l->section, l->shared_bytes, shared);
    if (status != ASSAY_OK)
        return status;
    sim_now = (sim_current){.kernel = l->kernel,
                            .thread = -1,
                            .n_threads = (int32_t)(l->block.x * l->block.y * l->block.z)};
    sim_defects_begin(l);
    sim_block_shape(l);
    trace_launch_begin(l->kernel);
    run_blocks(l, shared);
    trace_launch_end();
    sim_now = (sim_current){.thread = -1};
    return sim_defects_end();
}

assay_status (*sim_launch_instead)(const sim_launch *launch);

assay_status sim_launch_kernel(const sim_launch *l) {
    if (l->function != NULL && sim_launch_instead != NULL)
        return sim_launch_instead(l);
    if (l->grid.x == 0 || l->grid.y == 0 || l->grid.z == 0)
        return ASSAY_OK;
    assay_status status = run(l);
    sim_device_note(status);
    return status;
}

void sim_trap(const char *kind, const char *what, const char *file, int line) {
    char where[SIM_POSITION];
    if (!sim_now.kernel || sim_now.thread < 0) {
        fprintf(stderr, "%s:%d: %s: %s\n", file, line, kind, what);
        abort();
    }
    sim_defect(kind, file, line, "%s: %s",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), what);
    sim_abandon();
}

long long sim_clock(void) {
    static long long ticks;
    return ++ticks;
}
