#include "kernels/sim/device.h"

#include "kernels/sim/asan.h"
#include "kernels/sim/schedule.h"
#include "kernels/sim/sim.h"
#include "kernels/sim/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, LINE = 768 };

/* The first bad launch since finish() last asked; a variant may have ignored its status. */
static assay_status first_status;
static char first_line[LINE];

void sim_device_note(assay_status status) {
    if (status == ASSAY_OK || first_status != ASSAY_OK)
        return;
    first_status = status;
    snprintf(first_line, sizeof first_line, "%s", assay_error());
}

static assay_status sim_finish(void) {
    assay_status status = first_status;
    first_status = ASSAY_OK;
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(status, "%s", first_line);
}

static assay_status sim_probe(char text[ASSAY_DEVICE_TEXT]) {
    snprintf(text, ASSAY_DEVICE_TEXT, "simulated CUDA device: one block at a time, fibers%s",
#if defined(ASSAY_RACE)
             ", race recorder"
#elif defined(SIM_ASAN)
             ", AddressSanitizer"
#else
             ""
#endif
    );
    return ASSAY_OK;
}

/* Filled like memory that nobody wrote: a kernel that reads it gets NaN. */
static assay_status sim_alloc(size_t bytes, void **memory) {
    if (posix_memalign(memory, ALIGNMENT, bytes) != 0) {
        *memory = NULL;
        return assay_fail(ASSAY_ERR_MEMORY,
                          "simulated device: no %zu bytes of memory; choose a "
                          "smaller case",
                          bytes);
    }
    sim_fill(*memory, bytes);
    trace_alloc(*memory, bytes);
    return ASSAY_OK;
}

static void sim_release(void *memory) {
    trace_release(memory);
    free(memory);
}

static assay_status sim_copy(void *to, const void *from, size_t bytes) {
    if (bytes > 0)
        memcpy(to, from, bytes);
    return ASSAY_OK;
}

const assay_device *assay_sim_device(void) {
    static assay_device device = {
        .name = "sim",
        .probe = sim_probe,
        .alloc = sim_alloc,
        .release = sim_release,
        .upload = sim_copy,
        .download = sim_copy,
        .guard = sim_poison,
        .schedule = sim_schedule_set,
        .finish = sim_finish,
    };
    device.variants = assay_sim_variants;
    device.n_variants = assay_sim_n_variants;
    device.oracles = assay_sim_oracles;
    device.n_oracles = assay_sim_n_oracles;
    return &device;
}
