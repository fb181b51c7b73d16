/* The simulated CUDA device: kernels run on the host, one block at a time, each thread a fiber. */
#ifndef ASSAY_SIM_SIM_H
#define ASSAY_SIM_SIM_H

#include "assay/device.h"
#include "assay/variant.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

const assay_device *assay_sim_device(void);

/* The variants and oracles compiled for the simulated device; the build writes the tables. */
extern const assay_variant *const assay_sim_variants[];
extern const int32_t assay_sim_n_variants;
extern const assay_device_oracle *const assay_sim_oracles[];
extern const int32_t assay_sim_n_oracles;

/* Recorded kernels plan with 8 KB of shared memory, or, from now on, with all that a block has. */
void sim_plan_with_all_shared_memory(bool all);

#if defined(ASSAY_COVERAGE)
/* Which branches of the kernels' code were taken, by a hash of where they are: 1, otherwise 0;
 * begins anew. `count` is a power of two. */
void sim_coverage_take(uint8_t *edges, size_t count);
#endif

#ifdef __cplusplus
}
#endif

#endif
