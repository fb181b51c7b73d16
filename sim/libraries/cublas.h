/*
 * A stand-in for cuBLAS on the simulated device: the same names, values and argument order, backed
 * by CBLAS. Arguments are checked as cuBLAS checks them. All work is done when a call returns.
 *
 * Netlib's BLAS skips terms whose multiplier is zero, so 0 * Inf and 0 * NaN may be missing from a
 * sum. Sums are in CBLAS's order, not the GPU's.
 *
 * Everything is in a namespace, so that no symbol meets the real library's.
 */
#ifndef ASSAY_SIM_LIBRARIES_CUBLAS_H
#define ASSAY_SIM_LIBRARIES_CUBLAS_H

#include <stdint.h>

namespace sim_blas {

typedef struct cublasContext *cublasHandle_t;
typedef void *cudaStream_t;

enum cublasStatus_t {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 };
enum cublasMath_t {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3,                        /* not supported */
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16, /* no sum here ever has less */
};
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasComputeType_t {
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_64F_PEDANTIC = 71,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77, /* f32 matrices; operands are rounded to TF32 */
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };
enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
typedef cudaDataType_t cudaDataType;

const char *cublasGetStatusName(cublasStatus_t status);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);

/* Matrices are column-major. INT is int, or int64_t in the functions whose names end in _64; sizes
 * and leading dimensions beyond an int are CUBLAS_STATUS_NOT_SUPPORTED. */
#define SIM_BLAS_TYPED(S, T, suffix, INT)                                                          \
    /* C = alpha op(A) op(B) + beta C; C is not read when beta is 0 */                             \
    cublasStatus_t cublas##S##gemm##suffix(cublasHandle_t handle, cublasOperation_t op_a,          \
                                           cublasOperation_t op_b, INT m, INT n, INT k,            \
                                           const T *alpha, const T *a, INT lda, const T *b,        \
                                           INT ldb, const T *beta, T *c, INT ldc);                 \
    cublasStatus_t cublas##S##gemmStridedBatched##suffix(                                          \
        cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, INT m, INT n,       \
        INT k, const T *alpha, const T *a, INT lda, long long stride_a, const T *b, INT ldb,       \
        long long stride_b, const T *beta, T *c, INT ldc, long long stride_c, INT batch);          \
    /* y = alpha op(A) x + beta y; as in the reference BLAS, y stays as it is when A is empty */   \
    cublasStatus_t cublas##S##gemv##suffix(cublasHandle_t handle, cublasOperation_t op, INT m,     \
                                           INT n, const T *alpha, const T *a, INT lda, const T *x, \
                                           INT incx, const T *beta, T *y, INT incy);               \
    cublasStatus_t cublas##S##gemvStridedBatched##suffix(                                          \
        cublasHandle_t handle, cublasOperation_t op, INT m, INT n, const T *alpha, const T *a,     \
        INT lda, long long stride_a, const T *x, INT incx, long long stride_x, const T *beta,      \
        T *y, INT incy, long long stride_y, INT batch);                                            \
    /* C = alpha op(A) + beta op(B) */                                                             \
    cublasStatus_t cublas##S##geam##suffix(                                                        \
        cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, INT m, INT n,       \
        const T *alpha, const T *a, INT lda, const T *beta, const T *b, INT ldb, T *c, INT ldc);   \
    /* C = A diag(x), or diag(x) A on the left */                                                  \
    cublasStatus_t cublas##S##dgmm##suffix(cublasHandle_t handle, cublasSideMode_t side, INT m,    \
                                           INT n, const T *a, INT lda, const T *x, INT incx, T *c, \
                                           INT ldc);                                               \
    cublasStatus_t cublas##S##scal##suffix(cublasHandle_t handle, INT n, const T *alpha, T *x,     \
                                           INT incx);

/* Any of f32, bf16 and f16 in, the same or f32 out, with fp32 sums; or f64 throughout. */
#define SIM_BLAS_EX(suffix, INT)                                                                   \
    cublasStatus_t cublasGemmEx##suffix(                                                           \
        cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, INT m, INT n,       \
        INT k, const void *alpha, const void *a, cudaDataType a_type, INT lda, const void *b,      \
        cudaDataType b_type, INT ldb, const void *beta, void *c, cudaDataType c_type, INT ldc,     \
        cublasComputeType_t compute, cublasGemmAlgo_t algorithm);                                  \
    cublasStatus_t cublasGemmStridedBatchedEx##suffix(                                             \
        cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, INT m, INT n,       \
        INT k, const void *alpha, const void *a, cudaDataType a_type, INT lda, long long stride_a, \
        const void *b, cudaDataType b_type, INT ldb, long long stride_b, const void *beta,         \
        void *c, cudaDataType c_type, INT ldc, long long stride_c, INT batch,                      \
        cublasComputeType_t compute, cublasGemmAlgo_t algorithm);

SIM_BLAS_TYPED(S, float, , int)
SIM_BLAS_TYPED(D, double, , int)
SIM_BLAS_TYPED(S, float, _64, int64_t)
SIM_BLAS_TYPED(D, double, _64, int64_t)
SIM_BLAS_EX(, int)
SIM_BLAS_EX(_64, int64_t)
#undef SIM_BLAS_TYPED
#undef SIM_BLAS_EX

} // namespace sim_blas
using namespace sim_blas;

#endif
