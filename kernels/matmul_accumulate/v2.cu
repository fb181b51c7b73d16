/*
 * matmul_accumulate v2, the vendor's library: Y starts as a copy of C, which gemm then adds to,
 * with alpha = iters. dA and dB are gemms with beta = 0. cuBLAS is column-major, so it sees each
 * matrix as its transpose and computes (A B)ᵀ = Bᵀ Aᵀ; transposed operands and padded rows cost
 * nothing.
 *
 * fp32 and fp64 are pedantic. bf16 and math=tf32 use tensor cores with fp32 sums, also where cuBLAS
 * splits k. bf16 results are fp32 sums in the workspace until a last kernel rounds them: asked for
 * a bf16 result with beta = 1, cuBLAS 13.0 rounds the product to bf16 before it adds C in some
 * shapes (64 x 64 x 64 is one), which is not one rounding but two.
 *
 * Against v1: operands go through shared memory, iters is free. Bytes: A, B and C once, if cuBLAS
 * finds them in cache; Y (bf16: its fp32 sums) is written by the copy, read and written again.
 * Flops: 2 m n k forward, 4 m n k backward.
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

/* `p` has its result's rows in memory as rows; `sums` is where cuBLAS leaves them. */
template <typename T> static shape shape_of(const product<T> &p, const matrix<acc_t<T>> &sums) {
    return {p.right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
            p.left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
            (int)p.n,
            (int)p.m,
            (int)p.k,
            leading(p.right),
            leading(p.left),
            leading(sums)};
}

static assay_status gemm(cublasHandle_t blas, assay_math, const shape &s, double alpha,
                         const double *a, const double *b, double beta, double *c) {
    return assay_blas_check(cublasDgemm(blas, s.op_a, s.op_b, s.m, s.n, s.k, &alpha, a, s.lda, b,
                                        s.ldb, &beta, c, s.ldc),
                            "cublasDgemm");
}

/* On tensor cores, whose use the handle's pedantic mode does not allow. */
static assay_status gemm_ex(cublasHandle_t blas, const shape &s, float alpha, const void *a,
                            const void *b, float beta, float *c, cudaDataType type,
                            cublasComputeType_t compute) {
    const assay_status status =
        assay_blas_check(cublasSetMathMode(blas, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION),
                         "cublasSetMathMode");
    if (status != ASSAY_OK)
        return status;
    return assay_blas_check(cublasGemmEx(blas, s.op_a, s.op_b, s.m, s.n, s.k, &alpha, a, type,
                                         s.lda, b, type, s.ldb, &beta, c, CUDA_R_32F, s.ldc,
                                         compute, CUBLAS_GEMM_DEFAULT),
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
                         const __nv_bfloat16 *a, const __nv_bfloat16 *b, float beta, float *c) {
    return gemm_ex(blas, s, alpha, a, b, beta, c, CUDA_R_16BF, CUBLAS_COMPUTE_32F);
}

template <typename T> static constexpr bool stored_as_summed = sizeof(T) == sizeof(acc_t<T>);

/* Where the sums of `p` are made: in its result if that is of their type, else in the workspace. */
template <typename T>
static matrix<acc_t<T>> sums_for(const assay_call *call, const product<T> &p) {
    if constexpr (stored_as_summed<T>)
        return p.out;
    else
        return {static_cast<acc_t<T> *>(call->workspace), p.n, false};
}

template <typename T>
static assay_status multiply(const assay_call *call, const product<T> &asked) {
    const product<T> p = with_rows(asked);
    const bool adds = p.added.data != NULL;
    if (p.m == 0 || p.n == 0)
        return ASSAY_OK;
    if (p.k == 0)
        return launch_copy(call->stream, p.added, p.out, p.m, p.n);
    const matrix<acc_t<T>> sums = sums_for<T>(call, p);
    assay_status status = ASSAY_OK;
    if (adds)
        status = launch_copy(call->stream, p.added, sums, p.m, p.n);
    cublasHandle_t blas;
    if (status == ASSAY_OK)
        status = assay_blas_handle(call->stream, &blas);
    if (status == ASSAY_OK)
        status = gemm(blas, call->params->math, shape_of(p, sums), (acc_t<T>)p.times, p.right.data,
                      p.left.data, (acc_t<T>)(adds ? 1 : 0), sums.data);
    if (status != ASSAY_OK || stored_as_summed<T>)
        return status;
    const matrix<const acc_t<T>> made = {sums.data, sums.stride, sums.transposed};
    return launch_copy(call->stream, made, p.out, p.m, p.n);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    return multiply(call, product_for_y<T>(tensors_of(call, ASSAY_FORWARD)));
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    return gradients<T>(call, multiply<T>);
}

/* The largest result of the stage in fp32, where it is stored narrower. */
static size_t workspace(assay_stage stage, const assay_call *call) {
    if (call->params->dtype != ASSAY_BF16)
        return 0;
    size_t most = 0;
    for (int32_t i = 0; i < call->n_out; ++i) {
        const size_t elements = (size_t)assay_tensor_count(&call->out[i]);
        most = elements > most ? elements : most;
    }
    (void)stage;
    return most * sizeof(float);
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
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
