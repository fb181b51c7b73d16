#include "device/blas.h"

assay_status assay_blas_check(cublasStatus_t status, const char *call) {
    if (status == CUBLAS_STATUS_SUCCESS)
        return ASSAY_OK;
    return assay_fail(status == CUBLAS_STATUS_NOT_SUPPORTED ? ASSAY_ERR_UNSUPPORTED
                                                            : ASSAY_ERR_DEVICE,
                      "cuda: %s: %s", call, cublasGetStatusName(status));
}

assay_status assay_blas_handle(void *stream, cublasHandle_t *handle) {
    static thread_local cublasHandle_t made;
    assay_status status = ASSAY_OK;
    if (!made)
        status = assay_blas_check(cublasCreate(&made), "cublasCreate");
    if (status == ASSAY_OK)
        status = assay_blas_check(cublasSetStream(made, static_cast<cudaStream_t>(stream)),
                                  "cublasSetStream");
    if (status == ASSAY_OK)
        status = assay_blas_check(cublasSetPointerMode(made, CUBLAS_POINTER_MODE_HOST),
                                  "cublasSetPointerMode");
    /* Pedantic: no TF32, and no bf16 emulation of fp32. */
    if (status == ASSAY_OK)
        status =
            assay_blas_check(cublasSetMathMode(made, CUBLAS_PEDANTIC_MATH), "cublasSetMathMode");
    if (status == ASSAY_OK)
        *handle = made;
    return status;
}

assay_status assay_blas_lt_handle(cublasLtHandle_t *handle) {
    static thread_local cublasLtHandle_t made;
    assay_status status = ASSAY_OK;
    if (!made)
        status = assay_blas_check(cublasLtCreate(&made), "cublasLtCreate");
    if (status == ASSAY_OK)
        *handle = made;
    return status;
}
