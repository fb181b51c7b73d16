/* What a process does that runs variants for another one. */
#ifndef ASSAY_ENGINE_INSIDE_H
#define ASSAY_ENGINE_INSIDE_H

#include "assay/device.h"
#include "assay/variant.h"

/* It ends with its parent, leaves no core, and is the first to go when memory is short. */
void inside_settle(void);

/* The variant of the shared object `kernel` or, where that is NULL, the device's own. */
assay_status inside_find_variant(const assay_device *device, const char *kernel, const char *op,
                                 const char *name, const assay_variant **variant) ASSAY_MUST_CHECK;

#endif
