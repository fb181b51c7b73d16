/* A handle of the stand-in for cuBLAS. */
#ifndef ASSAY_SIM_EXEC_BLAS_HANDLE_H
#define ASSAY_SIM_EXEC_BLAS_HANDLE_H

#include "sim/exec/blas/product.h"

struct handle {
    void *stream;
    int math, scalars_on_device;
};

#endif
