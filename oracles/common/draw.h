/* Extents for random cases, where kernels break: small ones, and both sides of powers of two. */
#ifndef ASSAY_ORACLES_COMMON_DRAW_H
#define ASSAY_ORACLES_COMMON_DRAW_H

#include "assay/rng.h"

/* In 1..high (1 when high < 1): half the time log-uniform, half the time 2^k - 1, 2^k or 2^k + 1.
 */
int64_t draw_extent(assay_rng *rng, int64_t high);

#endif
