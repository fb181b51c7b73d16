/* A kernel file, a shared object that is not trusted, looked at from outside: it is not loaded. */
#ifndef ASSAY_ENGINE_KERNEL_FILE_H
#define ASSAY_ENGINE_KERNEL_FILE_H

#include "assay/status.h"

enum { KERNEL_SYMBOL = 256 };

/* What ASSAY_VARIANT calls the variant in a file. */
void kernel_file_symbol(const char *op, const char *name, const char *device,
                        char symbol[KERNEL_SYMBOL]);

/* `symbol` as kernel_file_symbol() makes it. ASSAY_ERR_FILE where the file cannot be read,
 * ASSAY_ERR_USAGE where it is a shared object without that name in it. What else it may be shows
 * when it is loaded. */
assay_status kernel_file_names(const char *path, const char *symbol) ASSAY_MUST_CHECK;

#endif
