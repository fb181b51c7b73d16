/* Kernels of this program, as nvcc made PTX of them: the same launches, by another route. */
#ifndef ASSAY_TESTS_SIM_PTX_KERNELS_H
#define ASSAY_TESTS_SIM_PTX_KERNELS_H

#include "assay/status.h"

/* The mangled name of the function at `address` in this program, as nvcc gives it to the kernel;
 * NULL when the program's symbols do not have it. */
const char *ptx_kernel_name(const void *address);

#endif
