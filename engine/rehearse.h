/* A rehearsal's data, made of a tensor's elements: legal data, but not those to come. */
#ifndef ASSAY_ENGINE_REHEARSE_H
#define ASSAY_ENGINE_REHEARSE_H

#include "assay/rng.h"

#include <stdint.h>

/* Every element once, in strides that do not divide their number, from a place that is not the
 * first. Each tensor has an order of its own, so that the answer is not the other one turned round.
 */
void rehearse_scramble(assay_rng *rng, const double *from, double *to, int64_t count);

/* Two elements have changed places: a kernel that looks at a part of the data takes them for the
 * same. */
void rehearse_touch(assay_rng *rng, const double *from, double *to, int64_t count);

#endif
