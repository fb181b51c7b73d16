/*
 * matmul_accumulate v2, the vendor's library: Y starts as a copy of C, which gemm then adds to,
 * with alpha = iters. dA and dB are gemms with beta = 0. cuBLAS is column-major, so it sees each
 * matrix as its transpose and computes (A B)ᵀ = Bᵀ Aᵀ; transposed operands and padded rows cost
 * nothing.
 *
 * fp32 and fp64 are pedantic. bf16 and math=tf32 use tensor cores with fp32 sums, also where cuBLAS
 * splits k.
 *
 * Against v1: operands go through shared memory, iters is free. Bytes: A, B and C once, if cuBLAS
 * finds them in cache; Y is written by the copy, read and written again. Flops: 2 m n k forward,
 * 4 m n k backward.
 */
#include "kernels/device/blas.h"
#include "kernels/matmul_accumulate/product.h"

/* A product as cuBLAS is given it: C[m, n] = alpha op_a(A) op_b(B) + beta C, column-major. */
struct shape {
    cublasOperation_t op_a, op_b;
    int m, n, k, lda, ldb, ldc;
};

/* Rows that are empty may have a stride of 0, which cuBLAS refuses. */
template <typename T> static int leading(const matrix<T> &x) {
    return (int)(x.stride > 1 ? x.stride : 1);
}

/* `p` has its result's rows in memory as rows. */
template <typename T> static shape shape_of(const product<T> &p) {
    return {p.right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
            p.left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
            (int)p.n,
            (int)p.m,
            (int)p.k,
            leading(p.right),
            leading(p.left),
            leading(p.out)};
}

static assay_status gemm(cublasHandle_t blas, assay_math, const shape &s, double alpha,
                         const double *a, const double *b, double beta, double *c) {
    return assay_blas_check(cublasDgemm(blas, s.op_a, s.op_b, s.m, s.n, s.k, &alpha, a, s.lda, b,
                                        s.ldb, &beta, c, s.ldc),
                            "cublasDgemm");
}

/* On tensor cores, whose use the handle's pedantic mode does not allow. */
static assay_status gemm_ex(cublasHandle_t blas, const shape &s, float alpha, const void *a,
                            const void *b, float beta, void *c, cudaDataType type,
                            cublasComputeType_t compute) {
    const assay_status status =
        assay_blas_check(cublasSetMathMode(blas, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION),
                         "cublasSetMathMode");
    if (status != ASSAY_OK)
        return status;
    return assay_blas_check(cublasGemmEx(blas, s.op_a, s.op_b, s.m, s.n, s.k, &alpha, a, type,
                                         s.lda, b, type, s.ldb, &beta, c, type, s.ldc, compute,
                                         CUBLAS_GEMM_DEFAULT),
                            "cublasGemmEx");
}

static assay_status gemm(cublasHandle_t blas, assay_math math, const shape &s, float alpha,
                         const float *a, const float *b, float beta, float *c) {
    if (math == ASSAY_TF32)
        return gemm_ex(blas, s, alpha, a, b, beta, c, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32);
    return assay_blas_check(cublasSgemm(blas, s.op_a, s.op_b, s.m, s.n, s.k, &alpha, a, s.lda, b,
                                        s.ldb, &beta, c, s.ldc),
                            "cublasSgemm");
}

static assay_status gemm(cublasHandle_t blas, assay_math, const shape &s, float alpha,
                         const __nv_bfloat16 *a, const __nv_bfloat16 *b, float beta,
                         __nv_bfloat16 *c) {
    return gemm_ex(blas, s, alpha, a, b, beta, c, CUDA_R_16BF, CUBLAS_COMPUTE_32F);
}

template <typename T>
static assay_status multiply(const assay_call *call, const product<T> &asked) {
    const product<T> p = with_rows(asked);
    const bool adds = p.added.data != NULL;
    if (p.m == 0 || p.n == 0)
        return ASSAY_OK;
    assay_status status = ASSAY_OK;
    if (adds || p.k == 0)
        status = launch_copy(call->stream, p.added, p.out, p.m, p.n);
    if (status != ASSAY_OK || p.k == 0)
        return status;
    cublasHandle_t blas;
    status = assay_blas_handle(call->stream, &blas);
    if (status != ASSAY_OK)
        return status;
    return gemm(blas, call->params->math, shape_of(p), (acc_t<T>)p.times, p.right.data, p.left.data,
                (acc_t<T>)(adds ? 1 : 0), p.out.data);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    return multiply(call, product_for_y<T>(tensors_of(call, ASSAY_FORWARD)));
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    return gradients<T>(call, multiply<T>);
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    const tensors t = tensors_of(call, stage);
    const assay_tensor *const all[] = {t.a, t.b, t.y, t.dy, t.da, t.db};
    bool fits = t.m <= INT32_MAX && t.n <= INT32_MAX && t.k <= INT32_MAX;
    for (const assay_tensor *x : all)
        fits = fits && (!x || assay_tensor_row_stride(x) <= INT32_MAX);
    if (!fits)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "matmul_accumulate/v2: cuBLAS takes 32-bit extents and strides; those of "
                          "m=%lld n=%lld k=%lld are more",
                          (long long)t.m, (long long)t.n, (long long)t.k);
    return ASSAY_OK;
}

static assay_status forward(const assay_call *call) {
    return MATMUL_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return MATMUL_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(matmul_accumulate, v2) = {
    .op = "matmul_accumulate",
    .name = "v2",
    .device = ASSAY_DEVICE_NAME,
    .summary = "cuBLAS: gemm onto a copy of c",
    .supports = supports,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
