/*
 * Matrix products as the work of a stream: for the stand-ins for cuBLAS and cuBLASLt that programs
 * get. They are computed by the stand-in that kernels of this project have
 * (sim/libraries/cublas.h).
 */
#ifndef ASSAY_SIM_EXEC_BLAS_PRODUCT_H
#define ASSAY_SIM_EXEC_BLAS_PRODUCT_H

#include <stdint.h>

extern "C" {
#include "sim/exec/call.h"
#include "sim/exec/work.h"
}

#define EXPORT extern "C" __attribute__((visibility("default")))

/* cublasStatus_t */
enum exec_blas {
    BLAS_SUCCESS = 0,
    BLAS_NOT_INITIALIZED = 1,
    BLAS_ALLOC_FAILED = 3,
    BLAS_INVALID_VALUE = 7,
    BLAS_MAPPING_ERROR = 11,
    BLAS_EXECUTION_FAILED = 13,
    BLAS_NOT_SUPPORTED = 15,
};

/* cudaDataType, cublasOperation_t and cublasComputeType_t, as CUDA's headers number them. */
enum { TYPE_32F = 0, TYPE_64F = 1, TYPE_16F = 2, TYPE_16BF = 14 };
enum { COMPUTE_16F = 64, COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32F_TF32 = 77 };

struct matrix {
    const void *data;
    int type;
    int64_t ld, stride; /* in elements; stride: from one of a batch to the next */
};

/* Operations on an element after the product, as bits of cublasLtEpilogue_t. */
enum { EPILOGUE_RELU = 2, EPILOGUE_BIAS = 4, EPILOGUE_GELU = 32, EPILOGUE_AUX = 128 };
struct epilogue {
    int what; /* of these bits */
    const void *bias;
    int bias_type;
    void *aux; /* EPILOGUE_AUX: the place for GELU's argument */
    int64_t aux_ld;
    int aux_type;
};

/* D = alpha op(A) op(B) + beta C, column-major; C and D may be one. The scalars are of `scale`'s
 * type. */
struct product {
    int op_a, op_b;
    int64_t m, n, k, batch;
    int compute, scale;
    bool scalars_on_device;
    const void *alpha, *beta;
    matrix a, b, c, d;
    epilogue then;
};

/* Checks the matrices' memory and gives the product to the stream. `call`: the function that the
 * program called. */
exec_blas product_submit(const char *call, const product &p, void *stream);

int64_t blas_bytes(int type); /* of an element; 0: a type that is not here */
double blas_load(const void *array, int type, int64_t i);
void blas_store(void *array, int type, int64_t i, double value);

/* For functions that are not here: says so, once. */
exec_blas blas_absent(const char *name);

#endif
