/*
 * How a tensor's data is made. Element i is a function of (seed, stream of the tensor's name, i),
 * rounded to the tensor's dtype; s is its scale, u is uniform in (0, 1).
 *
 *     normal     s z, z ~ N(0, 1)
 *     uniform    √3 s (2u - 1): mean 0
 *     positive   √3 s u: no cancellation in any sum
 *     exact      odd integers of random sign, their magnitudes uniform over 1, 3 … L, with L the
 *                largest odd integer within the tensor's exact_limit and its dtype's significand
 *     inf, nan   normal, but element 0 of one input is Inf or NaN: of the one with the number
 *                seed mod inputs, or of the next that does not hold indices
 *     huge, negative, initial
 *                normal, then dressed by the operator: huge, very negative scores of a softmax, a
 *                mean far above, below 0 that is to be subtracted; norm weights as frameworks
 *                initialise them, which let kernels drop them
 *
 * Tensors of indices are uniform over 0..indices-1 whatever the fill; of tensors that cannot be
 * negative (`magnitudes`) the absolute values are taken.
 *
 * The first three have the root mean square s; of those, normal and uniform the deviation s.
 */
#ifndef ASSAY_ORACLES_FILL_H
#define ASSAY_ORACLES_FILL_H

#include "assay/op.h"

/* Not for golden. `name` is the tensor's own or its cotangent's; `data` holds its elements. */
void assay_fill_array(assay_fill fill, const char *name, const assay_tensor_spec *spec,
                      double scale, uint64_t seed, double *data, int64_t count);

/* Whether fill=exact has data for the tensor. */
bool assay_fill_has_exact(const assay_tensor_spec *spec);

#endif
