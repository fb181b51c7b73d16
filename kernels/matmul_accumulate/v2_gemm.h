/* How v2 hands a product to cuBLAS's gemm. The operator linear does the same. */
#ifndef ASSAY_MATMUL_ACCUMULATE_V2_GEMM_H
#define ASSAY_MATMUL_ACCUMULATE_V2_GEMM_H

#include "device/blas.h"
#include "kernels/matmul_accumulate/product.h"

/* A product as cuBLAS is given it, column-major: op_a(A) (m, k) op_b(B) (k, n). */
struct shape {
    cublasOperation_t op_a, op_b;
    int m, n, k, lda, ldb, ld_result;
};

/* cuBLAS refuses a leading dimension of 0, which only empty rows have: they do not come here. */
template <typename T> static int leading(const matrix<T> &x) {
    return (int)x.stride;
}

/* `p` has its result's rows in memory as rows; `sums` is where cuBLAS leaves them. */
template <typename T, typename Sum>
static shape shape_of(const product<T> &p, const matrix<Sum> &sums) {
    return {p.right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
            p.left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
            (int)p.n,
            (int)p.m,
            (int)p.k,
            leading(p.right),
            leading(p.left),
            leading(sums)};
}

static inline assay_status gemm(cublasHandle_t blas, assay_math, const shape &s, double alpha,
                                const double *a, const double *b, double beta, double *c) {
    return assay_blas_check(cublasDgemm(blas, s.op_a, s.op_b, s.m, s.n, s.k, &alpha, a, s.lda, b,
                                        s.ldb, &beta, c, s.ld_result),
                            "cublasDgemm");
}

/* On tensor cores, whose use the handle's pedantic mode does not allow. */
static inline assay_status gemm_ex(cublasHandle_t blas, const shape &s, float alpha, const void *a,
                                   const void *b, float beta, void *c, cudaDataType type,
                                   cudaDataType result_type, cublasComputeType_t compute) {
    const assay_status status =
        assay_blas_check(cublasSetMathMode(blas, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION),
                         "cublasSetMathMode");
    if (status != ASSAY_OK)
        return status;
    return assay_blas_check(cublasGemmEx(blas, s.op_a, s.op_b, s.m, s.n, s.k, &alpha, a, type,
                                         s.lda, b, type, s.ldb, &beta, c, result_type, s.ld_result,
                                         compute, CUBLAS_GEMM_DEFAULT),
                            "cublasGemmEx");
}

static inline assay_status gemm(cublasHandle_t blas, assay_math math, const shape &s, float alpha,
                                const float *a, const float *b, float beta, float *c) {
    if (math == ASSAY_TF32)
        return gemm_ex(blas, s, alpha, a, b, beta, c, CUDA_R_32F, CUDA_R_32F,
                       CUBLAS_COMPUTE_32F_FAST_TF32);
    return assay_blas_check(cublasSgemm(blas, s.op_a, s.op_b, s.m, s.n, s.k, &alpha, a, s.lda, b,
                                        s.ldb, &beta, c, s.ld_result),
                            "cublasSgemm");
}

static inline assay_status gemm(cublasHandle_t blas, assay_math, const shape &s, float alpha,
                                const __nv_bfloat16 *a, const __nv_bfloat16 *b, float beta,
                                float *c) {
    return gemm_ex(blas, s, alpha, a, b, beta, c, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F);
}

static inline assay_status gemm(cublasHandle_t blas, assay_math, const shape &s, float alpha,
                                const __nv_bfloat16 *a, const __nv_bfloat16 *b, float beta,
                                __nv_bfloat16 *c) {
    return gemm_ex(blas, s, alpha, a, b, beta, c, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F);
}

static inline assay_status gemm(cublasHandle_t blas, assay_math, const shape &s, float alpha,
                                const __half *a, const __half *b, float beta, float *c) {
    return gemm_ex(blas, s, alpha, a, b, beta, c, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
}

static inline assay_status gemm(cublasHandle_t blas, assay_math, const shape &s, float alpha,
                                const __half *a, const __half *b, float beta, __half *c) {
    return gemm_ex(blas, s, alpha, a, b, beta, c, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F);
}

#endif
