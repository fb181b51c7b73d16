/* A whole product by the tensor cores' own rule (sim/mma.h), as a right kernel might make
 * it.
 */
#ifndef ASSAY_TESTS_SIM_TILES_H
#define ASSAY_TESTS_SIM_TILES_H

#include <stdint.h>

typedef enum sim_tiles { SIM_TILES_BF16, SIM_TILES_TF32 } sim_tiles;

/* c[m, n] += a[m, k] b[k, n], packed, `step` of k an instruction: 8, or 16 in bf16. Instructions
 * see the upper 16 bits of an operand in bf16, the upper 19 in TF32. */
void sim_add_product(sim_tiles kind, int64_t step, int64_t m, int64_t n, int64_t k, const float *a,
                     const float *b, float *c);

#endif
