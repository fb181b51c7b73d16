/* fp64 products of matrices in host memory, made by cuBLAS: assay_device.gemm of the GPU. */
#ifndef ASSAY_DEVICE_GEMM_H
#define ASSAY_DEVICE_GEMM_H

#include "assay/device.h"

assay_status assay_cuda_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double *a,
                             int64_t lda, const double *b, int64_t ldb, double beta, double *c,
                             int64_t ldc);

#endif
