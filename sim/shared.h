/* The shared memory of the block that runs. */
#ifndef ASSAY_SIM_SHARED_H
#define ASSAY_SIM_SHARED_H

#include "sim/runtime.h"
#include "sim/trace.h"

/* Finds the static part, if there is a section. */
assay_status sim_shared_begin(sim_section *section, sim_range *range) ASSAY_MUST_CHECK;

/* The dynamic part of a block: an allocation that later blocks use, too, between two guards. */
enum { SIM_DYNAMIC_GUARD = 4096 };
typedef struct sim_dynamic {
    char *memory; /* NULL: not allocated yet */
    size_t bytes;
} sim_dynamic;

/* Beyond `bytes` accesses trap under AddressSanitizer. */
assay_status sim_dynamic_resize(sim_dynamic *dynamic, size_t bytes) ASSAY_MUST_CHECK;

/* sim_dynamic_shared() is this from now on. */
void sim_dynamic_use(const sim_dynamic *dynamic);

/* Makes both as undefined as a new block finds them. */
void sim_shared_fill(const sim_range range[2]);

#endif
