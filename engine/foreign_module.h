/*
 * Kernels of a module, PTX or machine code, that a binding launches: by CUDA's driver, which on the
 * simulated device is its stand-in. For a process that runs variants: there is one module in it.
 */
#ifndef ASSAY_ENGINE_FOREIGN_MODULE_H
#define ASSAY_ENGINE_FOREIGN_MODULE_H

#include "engine/foreign_value.h"

/* Loads the file, unless that has been done, and finds the binding's kernels.
 *   ASSAY_ERR_USAGE   it has no such kernel, or one with another number of parameters
 *   ASSAY_ERR_KERNEL  CUDA does not take it */
assay_status foreign_module_load(const char *file, const binding *b) ASSAY_MUST_CHECK;

/* Declines a case: ASSAY_ERR_UNSUPPORTED where the case gives no legal launch geometry. */
assay_status foreign_module_check(const binding *b, const foreign_call *c) ASSAY_MUST_CHECK;

/* Launches the stage's kernel. A grid of 0 blocks is not launched. ASSAY_ERR_KERNEL */
assay_status foreign_module_launch(const binding *b, const foreign_call *c) ASSAY_MUST_CHECK;

#endif
