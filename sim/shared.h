/* The shared memory of the block that runs. */
#ifndef ASSAY_SIM_SHARED_H
#define ASSAY_SIM_SHARED_H

#include "sim/runtime.h"
#include "sim/trace.h"

/* Finds the static part, if there is a section, sets the dynamic part to `bytes`, and fills
 * range[0] and range[1] with where they are; beyond the dynamic part accesses trap under
 * AddressSanitizer. */
assay_status sim_shared_begin(sim_section *section, size_t bytes,
                              sim_range range[2]) ASSAY_MUST_CHECK;

/* Makes both as undefined as a new block finds them. */
void sim_shared_fill(const sim_range range[2]);

#endif
