/* Refusing a case that the host cannot hold, before the kernel's memory manager ends the process.
 */
#ifndef ASSAY_ENGINE_MEMORY_H
#define ASSAY_ENGINE_MEMORY_H

#include "assay/op.h"

/*
 * ASSAY_ERR_MEMORY when checking `n_variants` variants on tensors of `sig` needs more than the host
 * has available. It counts the engine's own allocations; an oracle's or a kernel's own memory comes
 * on top. $ASSAY_HOST_MEMORY_GIB says how much there is where the system shows too little (a
 * virtual machine that grows) or too much.
 */
assay_status assay_memory_suffices(const assay_signature *sig, int32_t n_variants) ASSAY_MUST_CHECK;

/* Elements of all tensors of one kind, and their bytes in their own dtypes. */
typedef struct assay_amount {
    double elements, bytes;
} assay_amount;
assay_amount assay_amount_of(const assay_tensor_spec *specs, int32_t count);

/* ASSAY_ERR_MEMORY when the host has fewer bytes available than these. */
assay_status assay_memory_holds(double bytes) ASSAY_MUST_CHECK;

/* Bytes of host memory that are available; infinite when the system does not tell. */
double assay_memory_available(void);

#endif
