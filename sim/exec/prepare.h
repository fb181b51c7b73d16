/* Kernels that are compiled before the process that runs them begins. */
#ifndef ASSAY_SIM_EXEC_PREPARE_H
#define ASSAY_SIM_EXEC_PREPARE_H

#include "assay/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether a shared object has fat binaries. */
bool exec_has_images(const char *path);

/*
 * Compiles all kernels of such a file, and of PTX, into `folder` (ptx_prepare()). `name`: the
 * process's EXEC_NAME_VARIABLE (report.h).
 *   ASSAY_ERR_UNSUPPORTED  it holds no PTX that fits; CUDA's static runtime is part of it, which no
 *                          stand-in serves here; there is no compiler
 *   ASSAY_ERR_FILE         an image is damaged, or the text is no PTX
 */
assay_status exec_prepare(const char *path, const char *name, const char *folder) ASSAY_MUST_CHECK;
assay_status exec_prepare_text(const char *text, size_t size, const char *name,
                               const char *folder) ASSAY_MUST_CHECK;

#endif
