/*
 * weighted_sum v2, the vendor's library: y = X w and dw = Xᵀ dy are gemv, dx = dy wᵀ is a gemm with
 * an inner extent of 1. bf16 has no gemv in cuBLAS: there all three are GemmEx with an fp32
 * accumulator. cuBLAS is column-major, so it sees X as its transpose.
 *
 * Against v1: coalesced, and dw uses the whole GPU. Bytes: x once forward; x once and dx once
 * backward; y and dy are copied once more when their rows are padded, as cuBLAS knows one stride.
 */
#include "device/blas.h"
#include "kernels/weighted_sum/rows.h"

enum { THREADS = 256 };

template <typename T>
static __global__ void copy(const T *from, spread from_places, T *to, spread to_places,
                            int64_t count) {
    for (int64_t i = grid_thread(); i < count; i += grid_threads())
        to[place(to_places, i)] = from[place(from_places, i)];
}

template <typename T> static __global__ void zero(T *to, spread places, int64_t count) {
    for (int64_t i = grid_thread(); i < count; i += grid_threads())
        to[place(places, i)] = narrow<T>(0);
}

static const spread packed = {1, 1};

static bool is_packed(const assay_tensor *y) {
    return assay_tensor_rows(y) <= 1 || assay_tensor_row_length(y) == assay_tensor_row_stride(y);
}

/* C (m, n) = op(A) B, column-major, C packed unless ldc says more. */
static assay_status gemm(cublasHandle_t blas, cublasOperation_t op, int m, int n, int k,
                         const float *a, int lda, const float *b, int ldb, float *c, int ldc) {
    const float one = 1, none = 0;
    return assay_blas_check(
        cublasSgemm(blas, op, CUBLAS_OP_N, m, n, k, &one, a, lda, b, ldb, &none, c, ldc),
        "cublasSgemm");
}

static assay_status gemm(cublasHandle_t blas, cublasOperation_t op, int m, int n, int k,
                         const double *a, int lda, const double *b, int ldb, double *c, int ldc) {
    const double one = 1, none = 0;
    return assay_blas_check(
        cublasDgemm(blas, op, CUBLAS_OP_N, m, n, k, &one, a, lda, b, ldb, &none, c, ldc),
        "cublasDgemm");
}

static assay_status gemm(cublasHandle_t blas, cublasOperation_t op, int m, int n, int k,
                         const __nv_bfloat16 *a, int lda, const __nv_bfloat16 *b, int ldb,
                         __nv_bfloat16 *c, int ldc) {
    const float one = 1, none = 0;
    return assay_blas_check(cublasGemmEx(blas, op, CUBLAS_OP_N, m, n, k, &one, a, CUDA_R_16BF, lda,
                                         b, CUDA_R_16BF, ldb, &none, c, CUDA_R_16BF, ldc,
                                         CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                            "cublasGemmEx");
}

/* y = op(A) v for column-major A (m, n) and packed vectors. */
static assay_status gemv(cublasHandle_t blas, cublasOperation_t op, int m, int n, const float *a,
                         int lda, const float *v, float *y) {
    const float one = 1, none = 0;
    return assay_blas_check(cublasSgemv(blas, op, m, n, &one, a, lda, v, 1, &none, y, 1),
                            "cublasSgemv");
}

static assay_status gemv(cublasHandle_t blas, cublasOperation_t op, int m, int n, const double *a,
                         int lda, const double *v, double *y) {
    const double one = 1, none = 0;
    return assay_blas_check(cublasDgemv(blas, op, m, n, &one, a, lda, v, 1, &none, y, 1),
                            "cublasDgemv");
}

static assay_status gemv(cublasHandle_t blas, cublasOperation_t op, int m, int n,
                         const __nv_bfloat16 *a, int lda, const __nv_bfloat16 *v,
                         __nv_bfloat16 *y) {
    const int out = op == CUBLAS_OP_T ? n : m, inner = op == CUBLAS_OP_T ? m : n;
    return gemm(blas, op, out, 1, inner, a, lda, v, inner, y, out);
}

template <typename T>
static assay_status clear(const assay_call *call, T *to, spread places, int64_t count) {
    return ASSAY_LAUNCH(call->stream, linear_grid(count, THREADS), dim3(THREADS), 0, (zero<T>), to,
                        places, count);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    T *y = data_of<T>(t.y);
    /* BLAS leaves y as it was when there is nothing to sum. */
    if (t.d == 0 || t.rows == 0)
        return clear(call, y, spread_of(t.y), t.rows);
    cublasHandle_t blas;
    assay_status status = assay_blas_handle(call->stream, &blas);
    if (status != ASSAY_OK)
        return status;
    const bool direct = is_packed(t.y);
    T *sums = direct ? y : static_cast<T *>(call->workspace);
    status = gemv(blas, CUBLAS_OP_T, (int)t.d, (int)t.rows, data_of<const T>(t.x),
                  (int)assay_tensor_row_stride(t.x), data_of<const T>(t.w), sums);
    if (status != ASSAY_OK || direct)
        return status;
    return ASSAY_LAUNCH(call->stream, linear_grid(t.rows, THREADS), dim3(THREADS), 0, (copy<T>),
                        sums, packed, y, spread_of(t.y), t.rows);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    if (t.d == 0 || t.rows == 0)
        return clear(call, data_of<T>(t.dw), packed, t.d);
    cublasHandle_t blas;
    assay_status status = assay_blas_handle(call->stream, &blas);
    if (status != ASSAY_OK)
        return status;
    const T *dy = data_of<const T>(t.dy);
    if (!is_packed(t.dy)) {
        T *copied = static_cast<T *>(call->workspace);
        status = ASSAY_LAUNCH(call->stream, linear_grid(t.rows, THREADS), dim3(THREADS), 0,
                              (copy<T>), dy, spread_of(t.dy), copied, packed, t.rows);
        if (status != ASSAY_OK)
            return status;
        dy = copied;
    }
    const int d = (int)t.d, rows = (int)t.rows;
    status = gemm(blas, CUBLAS_OP_N, d, rows, 1, data_of<const T>(t.w), d, dy, 1, data_of<T>(t.dx),
                  (int)assay_tensor_row_stride(t.dx));
    if (status != ASSAY_OK)
        return status;
    return gemv(blas, CUBLAS_OP_N, d, rows, data_of<const T>(t.x),
                (int)assay_tensor_row_stride(t.x), dy, data_of<T>(t.dw));
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    const tensors t = tensors_of(call, stage);
    const int64_t dx_stride = stage == ASSAY_BACKWARD ? assay_tensor_row_stride(t.dx) : 0;
    if (t.rows > INT32_MAX || t.d > INT32_MAX || assay_tensor_row_stride(t.x) > INT32_MAX ||
        dx_stride > INT32_MAX)
        return assay_fail(
            ASSAY_ERR_UNSUPPORTED,
            "weighted_sum/v2: cuBLAS takes 32-bit extents; %lld rows of %lld are more",
            (long long)t.rows, (long long)t.d);
    return ASSAY_OK;
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const tensors t = tensors_of(call, stage);
    const assay_tensor *y = stage == ASSAY_FORWARD ? t.y : t.dy;
    return is_packed(y) ? 0 : (size_t)t.rows * assay_dtype_size(y->dtype);
}

static assay_status forward(const assay_call *call) {
    return WEIGHTED_SUM_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return WEIGHTED_SUM_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(weighted_sum, v2) = {
    .op = "weighted_sum",
    .name = "v2",
    .device = ASSAY_DEVICE_NAME,
    .summary = "cuBLAS: gemv and rank-1 gemm",
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
    .library = true,
};
