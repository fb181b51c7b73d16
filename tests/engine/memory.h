/* Refusing a case that the host cannot hold, before the kernel's memory manager ends the process.
 */
#ifndef ASSAY_ENGINE_MEMORY_H
#define ASSAY_ENGINE_MEMORY_H

#include "assay/op.h"

/*
 * ASSAY_ERR_MEMORY when checking `n_variants` variants on tensors of `sig` needs more than the host
 * has available: what the engine itself allocates; an oracle's or a kernel's own memory comes on
 * top. $ASSAY_HOST_MEMORY_GIB says how much there is where the system shows too little (a virtual
 * machine that grows) or too much.
 */
assay_status assay_memory_suffices(const assay_signature *sig, int32_t n_variants) ASSAY_MUST_CHECK;

/* The same for so many fp64 arrays of all tensors (an input set, or results), and so many images of
 * them in their own dtypes. */
assay_status assay_memory_holds(const assay_signature *sig, int32_t sets,
                                int32_t images) ASSAY_MUST_CHECK;

#endif
