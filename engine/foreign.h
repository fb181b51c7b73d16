/*
 * A variant made of functions that know nothing of assay, by a binding. For a process that runs
 * variants: there is one such variant in it.
 */
#ifndef ASSAY_ENGINE_FOREIGN_H
#define ASSAY_ENGINE_FOREIGN_H

#include "assay/variant.h"
#include "engine/binding.h"

/* Loads the kernel file (inside.h), a shared object or a module, and finds the binding's functions
 * or kernels in it. `binding` is its text. ASSAY_ERR_USAGE: it has no such function. */
assay_status foreign_load(const char *file, const char *op, const char *name, const char *device,
                          const char *binding, const assay_variant **variant) ASSAY_MUST_CHECK;

/* The tensors of the case that the next calls are for: names refer to these. NULL: there are no
 * tensors. The tensors must outlive the calls. */
void foreign_describe(const assay_signature *sig);
const assay_signature *foreign_described(void);

#endif
