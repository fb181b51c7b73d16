/*
 * cuBLAS and cuBLASLt for v2 variants: the toolkit's under nvcc, CBLAS-backed stand-ins with the
 * same calls on the simulated device, so that transposes, strides and batch steps are tested
 * without a GPU.
 */
#ifndef ASSAY_DEVICE_BLAS_H
#define ASSAY_DEVICE_BLAS_H

#include "device/kernel.h"

#if defined(__CUDACC__)
#include <cublasLt.h>
#include <cublas_v2.h>
#define ASSAY_MAX_BATCH 65535
#else
#include "sim/libraries/cublas.h"
#include "sim/libraries/cublaslt.h"
#define ASSAY_MAX_BATCH 4
#endif

/* ASSAY_MAX_BATCH: products that one strided batch may have. On the simulated device they are few,
 * so that every caller is seen to go on behind its first batch. */

/* The device's handle, bound to `stream`, in host pointer mode, without TF32. Owned by the device,
 * made once a thread. */
assay_status assay_blas_handle(void *stream, cublasHandle_t *handle);

/* The device's cuBLASLt handle, made once a thread. Calls take the stream, and workspace of the
 * caller's. */
assay_status assay_blas_lt_handle(cublasLtHandle_t *handle);

/* Turns a cuBLAS status into a line and an assay_status. `call` names the call. */
assay_status assay_blas_check(cublasStatus_t status, const char *call);

#endif
