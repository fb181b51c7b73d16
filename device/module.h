/* Modules: shared objects of this program's own that are loaded when asked for, so that a program
 * needs no CUDA library to start. */
#ifndef ASSAY_MODULE_H
#define ASSAY_MODULE_H

#include "assay/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The symbol `entry` of the module `name`, from this tree (core/place.h), which stays loaded.
 * ASSAY_ERR_UNSUPPORTED when it was not built. */
assay_status assay_module_load(const char *name, const char *entry, void **symbol) ASSAY_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
