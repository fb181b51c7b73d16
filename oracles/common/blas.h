/* CBLAS as the oracles use it: row-major fp64, 64-bit sizes, empty operands allowed. */
#ifndef ASSAY_ORACLES_COMMON_BLAS_H
#define ASSAY_ORACLES_COMMON_BLAS_H

#include "assay/device.h"

#include <stdbool.h>
#include <stdint.h>

/* C (m, n) = beta·C + op(A)·op(B), where op(A) is (m, k) and op(B) is (k, n); ld*: elements from
 * one stored row to the next. With beta 0, C need not be initialised. n and the strides fit an int;
 * m and k may be larger: they are cut into pieces. */
void blas_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
               const double *b, int64_t ldb, double beta, double *c, int64_t ldc);

/* From now on a device computes products of 2^31 multiply-adds and more; with NULL no device does.
 * Products at which it fails are computed here. For the whole process. */
void blas_delegate(assay_gemm gemm);

#endif
