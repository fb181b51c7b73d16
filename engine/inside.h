/* The work of a process that runs variants for another process. */
#ifndef ASSAY_ENGINE_INSIDE_H
#define ASSAY_ENGINE_INSIDE_H

#include "assay/device.h"
#include "assay/variant.h"

/* It ends with its parent, leaves no core, and is the first to go when memory is short. */
void inside_settle(void);

/* A shared object, behind libraries that it needs and colons (kernel_file.h), and the text of the
 * binding by which its functions are called; NULL: it is written for assay. */
typedef struct inside_kernel {
    const char *file, *binding;
} inside_kernel;

/* Loads the file behind those that it needs, as kernel_file.h names them. */
assay_status inside_load(const char *file, void **object) ASSAY_MUST_CHECK;

/* Loads the kernel and looks for the functions that its binding names. */
assay_status inside_try(const assay_device *device, const inside_kernel *kernel) ASSAY_MUST_CHECK;

/* The variant of the kernel or, where its file is NULL, the device's own. */
assay_status inside_find_variant(const assay_device *device, const inside_kernel *kernel,
                                 const char *op, const char *name,
                                 const assay_variant **variant) ASSAY_MUST_CHECK;

#endif
