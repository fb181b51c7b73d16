#include "device/blas.h"

#include <cblas.h>
#include <limits.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <new>
#include <vector>

namespace sim_blas {

struct cublasContext {
    bool initialised;
};

namespace {

CBLAS_TRANSPOSE transpose(cublasOperation_t op) {
    return op == CUBLAS_OP_N ? CblasNoTrans : CblasTrans;
}

bool is_op(cublasOperation_t op) {
    return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

/* What all calls check: a handle, and scalars in host memory. */
cublasStatus_t check(cublasHandle_t handle, std::initializer_list<const void *> scalars) {
    if (!handle || !handle->initialised)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    for (const void *scalar : scalars)
        if (!scalar)
            return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

/* Sizes must not be negative, and must fit CBLAS's int. */
cublasStatus_t check_sizes(std::initializer_list<int64_t> sizes) {
    for (int64_t size : sizes)
        if (size < 0)
            return CUBLAS_STATUS_INVALID_VALUE;
    for (int64_t size : sizes)
        if (size > INT_MAX)
            return CUBLAS_STATUS_NOT_SUPPORTED;
    return CUBLAS_STATUS_SUCCESS;
}

/* The leading dimension of a matrix whose columns have `rows` elements. */
bool too_small(int64_t ld, int64_t rows) {
    return ld < std::max<int64_t>(1, rows);
}

struct product {
    cublasOperation_t op_a, op_b;
    int64_t m, n, k, lda, ldb, ldc;
};

int64_t rows_of_a(const product &p) {
    return p.op_a == CUBLAS_OP_N ? p.m : p.k;
}
int64_t columns_of_a(const product &p) {
    return p.op_a == CUBLAS_OP_N ? p.k : p.m;
}
int64_t rows_of_b(const product &p) {
    return p.op_b == CUBLAS_OP_N ? p.k : p.n;
}
int64_t columns_of_b(const product &p) {
    return p.op_b == CUBLAS_OP_N ? p.n : p.k;
}

cublasStatus_t check_product(const product &p, int64_t batch) {
    if (!is_op(p.op_a) || !is_op(p.op_b) || too_small(p.lda, rows_of_a(p)) ||
        too_small(p.ldb, rows_of_b(p)) || too_small(p.ldc, p.m))
        return CUBLAS_STATUS_INVALID_VALUE;
    return check_sizes({p.m, p.n, p.k, p.lda, p.ldb, p.ldc, batch});
}

void multiply(const product &p, float alpha, const float *a, const float *b, float beta, float *c) {
    if (p.m > 0 && p.n > 0)
        cblas_sgemm(CblasColMajor, transpose(p.op_a), transpose(p.op_b), (int)p.m, (int)p.n,
                    (int)p.k, alpha, a, (int)p.lda, b, (int)p.ldb, beta, c, (int)p.ldc);
}
void multiply(const product &p, double alpha, const double *a, const double *b, double beta,
              double *c) {
    if (p.m > 0 && p.n > 0)
        cblas_dgemm(CblasColMajor, transpose(p.op_a), transpose(p.op_b), (int)p.m, (int)p.n,
                    (int)p.k, alpha, a, (int)p.lda, b, (int)p.ldb, beta, c, (int)p.ldc);
}

/* beta = 0: what was there is not read. */
template <typename T> void scale_onto(T alpha, T sum, T beta, T *to) {
    *to = (beta == 0 ? 0 : beta * *to) + alpha * sum;
}

/* alpha times the sums, as cuBLAS has it: CBLAS may multiply an operand by it, which overflows
 * where no sum does. */
template <typename T>
void multiply_scaled(const product &p, T alpha, const T *a, const T *b, T beta, T *c) {
    if (alpha == 0 || alpha == 1) {
        multiply(p, alpha, a, b, beta, c);
        return;
    }
    product dense = p;
    dense.ldc = std::max<int64_t>(1, p.m);
    std::vector<T> sums((size_t)(p.m * p.n));
    multiply(dense, T{1}, a, b, T{0}, sums.data());
    for (int64_t j = 0; j < p.n; ++j)
        for (int64_t i = 0; i < p.m; ++i)
            scale_onto(alpha, sums[(size_t)(j * p.m + i)], beta, c + j * p.ldc + i);
}

template <typename T>
cublasStatus_t gemm(cublasHandle_t handle, const product &p, const T *alpha, const T *a,
                    int64_t stride_a, const T *b, int64_t stride_b, const T *beta, T *c,
                    int64_t stride_c, int64_t batch) try {
    cublasStatus_t status = check(handle, {alpha, beta});
    if (status == CUBLAS_STATUS_SUCCESS)
        status = check_product(p, batch);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    for (int64_t i = 0; i < batch; ++i)
        multiply_scaled(p, *alpha, a + i * stride_a, b + i * stride_b, *beta, c + i * stride_c);
    return CUBLAS_STATUS_SUCCESS;
} catch (const std::bad_alloc &) {
    return CUBLAS_STATUS_ALLOC_FAILED;
}

void multiply_vector(cublasOperation_t op, int64_t m, int64_t n, float alpha, const float *a,
                     int64_t lda, const float *x, int64_t incx, float beta, float *y,
                     int64_t incy) {
    cblas_sgemv(CblasColMajor, transpose(op), (int)m, (int)n, alpha, a, (int)lda, x, (int)incx,
                beta, y, (int)incy);
}
void multiply_vector(cublasOperation_t op, int64_t m, int64_t n, double alpha, const double *a,
                     int64_t lda, const double *x, int64_t incx, double beta, double *y,
                     int64_t incy) {
    cblas_dgemv(CblasColMajor, transpose(op), (int)m, (int)n, alpha, a, (int)lda, x, (int)incx,
                beta, y, (int)incy);
}

template <typename T>
void multiply_vector_scaled(cublasOperation_t op, int64_t m, int64_t n, T alpha, const T *a,
                            int64_t lda, const T *x, int64_t incx, T beta, T *y, int64_t incy) {
    if (alpha == 0 || alpha == 1) {
        multiply_vector(op, m, n, alpha, a, lda, x, incx, beta, y, incy);
        return;
    }
    const int64_t count = op == CUBLAS_OP_N ? m : n, first = incy < 0 ? (1 - count) * incy : 0;
    std::vector<T> sums((size_t)count);
    multiply_vector(op, m, n, T{1}, a, lda, x, incx, T{0}, sums.data(), 1);
    for (int64_t i = 0; i < count; ++i)
        scale_onto(alpha, sums[(size_t)i], beta, y + first + i * incy);
}

/* A step between a vector's elements: not 0; negative ones walk backwards. */
bool is_step(int64_t step) {
    return step != 0 && step > -INT_MAX && step < INT_MAX;
}

template <typename T>
cublasStatus_t gemv(cublasHandle_t handle, cublasOperation_t op, int64_t m, int64_t n,
                    const T *alpha, const T *a, int64_t lda, int64_t stride_a, const T *x,
                    int64_t incx, int64_t stride_x, const T *beta, T *y, int64_t incy,
                    int64_t stride_y, int64_t batch) try {
    cublasStatus_t status = check(handle, {alpha, beta});
    if (status == CUBLAS_STATUS_SUCCESS)
        status = check_sizes({m, n, lda, batch});
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (!is_op(op) || too_small(lda, m) || !is_step(incx) || !is_step(incy))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int64_t i = 0; i < batch && m > 0 && n > 0; ++i)
        multiply_vector_scaled(op, m, n, *alpha, a + i * stride_a, lda, x + i * stride_x, incx,
                               *beta, y + i * stride_y, incy);
    return CUBLAS_STATUS_SUCCESS;
} catch (const std::bad_alloc &) {
    return CUBLAS_STATUS_ALLOC_FAILED;
}

template <typename T>
T element(cublasOperation_t op, const T *a, int64_t ld, int64_t row, int64_t column) {
    return op == CUBLAS_OP_N ? a[row + column * ld] : a[column + row * ld];
}

template <typename T>
cublasStatus_t geam(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                    int64_t m, int64_t n, const T *alpha, const T *a, int64_t lda, const T *beta,
                    const T *b, int64_t ldb, T *c, int64_t ldc) {
    cublasStatus_t status = check(handle, {alpha, beta});
    if (status == CUBLAS_STATUS_SUCCESS)
        status = check_sizes({m, n, lda, ldb, ldc});
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (!is_op(op_a) || !is_op(op_b) || too_small(lda, op_a == CUBLAS_OP_N ? m : n) ||
        too_small(ldb, op_b == CUBLAS_OP_N ? m : n) || too_small(ldc, m))
        return CUBLAS_STATUS_INVALID_VALUE;
    /* In place, cuBLAS allows only what one pass over the elements can do. */
    if ((c == a && (op_a != CUBLAS_OP_N || lda != ldc)) ||
        (c == b && (op_b != CUBLAS_OP_N || ldb != ldc)))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i) {
            T left = *alpha == 0 ? 0 : *alpha * element(op_a, a, lda, i, j);
            T right = *beta == 0 ? 0 : *beta * element(op_b, b, ldb, i, j);
            c[i + j * ldc] = left + right;
        }
    return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
cublasStatus_t dgmm(cublasHandle_t handle, cublasSideMode_t side, int64_t m, int64_t n, const T *a,
                    int64_t lda, const T *x, int64_t incx, T *c, int64_t ldc) {
    cublasStatus_t status = check(handle, {});
    if (status == CUBLAS_STATUS_SUCCESS)
        status = check_sizes({m, n, lda, ldc});
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if ((side != CUBLAS_SIDE_LEFT && side != CUBLAS_SIDE_RIGHT) || too_small(lda, m) ||
        too_small(ldc, m))
        return CUBLAS_STATUS_INVALID_VALUE;
    int64_t count = side == CUBLAS_SIDE_LEFT ? m : n, first = incx < 0 ? (1 - count) * incx : 0;
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i)
            c[i + j * ldc] = a[i + j * lda] * x[first + (side == CUBLAS_SIDE_LEFT ? i : j) * incx];
    return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
cublasStatus_t scal(cublasHandle_t handle, int64_t n, const T *alpha, T *x, int64_t incx) {
    cublasStatus_t status = check(handle, {alpha});
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    for (int64_t i = 0; i < n && incx > 0; ++i) /* else a no-op, as in the reference BLAS */
        x[i * incx] *= *alpha;
    return CUBLAS_STATUS_SUCCESS;
}

size_t size_of(cudaDataType type) {
    switch (type) {
    case CUDA_R_64F:
        return 8;
    case CUDA_R_32F:
        return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF:
        return 2;
    }
    return 0;
}

float load(const void *array, cudaDataType type, int64_t i) {
    switch (type) {
    case CUDA_R_16BF:
        return __bfloat162float(static_cast<const __nv_bfloat16 *>(array)[i]);
    case CUDA_R_16F:
        return __half2float(static_cast<const __half *>(array)[i]);
    default:
        return static_cast<const float *>(array)[i];
    }
}

void store(void *array, cudaDataType type, int64_t i, float value) {
    switch (type) {
    case CUDA_R_16BF:
        static_cast<__nv_bfloat16 *>(array)[i] = __float2bfloat16_rn(value);
        break;
    case CUDA_R_16F:
        static_cast<__half *>(array)[i] = __float2half_rn(value);
        break;
    default:
        static_cast<float *>(array)[i] = value;
    }
}

/* A column-major matrix, widened and with no gap between its columns. */
std::vector<float> widened(const void *a, cudaDataType type, int64_t rows, int64_t columns,
                           int64_t ld) {
    std::vector<float> dense((size_t)std::max<int64_t>(1, rows * columns));
    for (int64_t j = 0; j < columns; ++j)
        for (int64_t i = 0; i < rows; ++i)
            dense[(size_t)(i + j * rows)] = load(a, type, i + j * ld);
    return dense;
}

/* Without the 13 bits that TF32 lacks, to nearest and even, as cuBLAS does on an H100 before tensor
 * cores, which would cut them, take the operands (docs/exec.md). */
void round_to_tf32(std::vector<float> &values) {
    for (float &value : values) {
        const uint32_t bits = __float_as_uint(value), half = 0xfff + (bits >> 13 & 1);
        if (std::isfinite(value))
            value = __uint_as_float((bits + half) & 0xffffe000u);
    }
}

void multiply_widened(const product &p, float alpha, const void *a, cudaDataType a_type,
                      const void *b, cudaDataType b_type, float beta, void *c, cudaDataType c_type,
                      cublasComputeType_t compute) {
    product dense = p;
    dense.lda = std::max<int64_t>(1, rows_of_a(p));
    dense.ldb = std::max<int64_t>(1, rows_of_b(p));
    dense.ldc = std::max<int64_t>(1, p.m);
    std::vector<float> wide_a = widened(a, a_type, rows_of_a(p), columns_of_a(p), p.lda);
    std::vector<float> wide_b = widened(b, b_type, rows_of_b(p), columns_of_b(p), p.ldb);
    if (compute == CUBLAS_COMPUTE_32F_FAST_TF32) {
        round_to_tf32(wide_a);
        round_to_tf32(wide_b);
    }
    std::vector<float> wide_c((size_t)std::max<int64_t>(1, p.m * p.n));
    if (beta != 0)
        wide_c = widened(c, c_type, p.m, p.n, p.ldc);
    multiply_scaled(dense, alpha, wide_a.data(), wide_b.data(), beta, wide_c.data());
    for (int64_t j = 0; j < p.n; ++j)
        for (int64_t i = 0; i < p.m; ++i)
            store(c, c_type, i + j * p.ldc, wide_c[(size_t)(i + j * p.m)]);
}

/* cublasGemmEx's table of types, as far as it is needed here. */
bool is_supported(cublasComputeType_t compute, cudaDataType a, cudaDataType b, cudaDataType c) {
    switch (compute) {
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
        return a == CUDA_R_64F && b == CUDA_R_64F && c == CUDA_R_64F;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
        return a == b && a != CUDA_R_64F && size_of(a) != 0 && (c == a || c == CUDA_R_32F);
    case CUBLAS_COMPUTE_32F_FAST_TF32:
        return a == CUDA_R_32F && b == CUDA_R_32F && c == CUDA_R_32F;
    }
    return false;
}

cublasStatus_t gemm_ex(cublasHandle_t handle, const product &p, const void *alpha, const void *a,
                       cudaDataType a_type, int64_t stride_a, const void *b, cudaDataType b_type,
                       int64_t stride_b, const void *beta, void *c, cudaDataType c_type,
                       int64_t stride_c, int64_t batch, cublasComputeType_t compute) try {
    cublasStatus_t status = check(handle, {alpha, beta});
    if (status == CUBLAS_STATUS_SUCCESS)
        status = check_product(p, batch);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (!is_supported(compute, a_type, b_type, c_type))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (a_type == CUDA_R_64F)
        return gemm(handle, p, static_cast<const double *>(alpha), static_cast<const double *>(a),
                    stride_a, static_cast<const double *>(b), stride_b,
                    static_cast<const double *>(beta), static_cast<double *>(c), stride_c, batch);
    const int64_t step_a = stride_a * (int64_t)size_of(a_type);
    const int64_t step_b = stride_b * (int64_t)size_of(b_type);
    const int64_t step_c = stride_c * (int64_t)size_of(c_type);
    for (int64_t i = 0; i < batch; ++i)
        multiply_widened(p, *static_cast<const float *>(alpha),
                         static_cast<const char *>(a) + i * step_a, a_type,
                         static_cast<const char *>(b) + i * step_b, b_type,
                         *static_cast<const float *>(beta), static_cast<char *>(c) + i * step_c,
                         c_type, compute);
    return CUBLAS_STATUS_SUCCESS;
} catch (const std::bad_alloc &) {
    return CUBLAS_STATUS_ALLOC_FAILED;
}

} // namespace

const char *cublasGetStatusName(cublasStatus_t status) {
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    }
    return "unknown cuBLAS status";
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t) {
    return check(handle, {});
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
    cublasStatus_t status = check(handle, {});
    if (status == CUBLAS_STATUS_SUCCESS && mode == CUBLAS_TF32_TENSOR_OP_MATH)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return status;
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
    cublasStatus_t status = check(handle, {});
    if (status == CUBLAS_STATUS_SUCCESS && mode != CUBLAS_POINTER_MODE_HOST)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return status;
}

#define DEFINE_TYPED(S, T, suffix, INT)                                                            \
    cublasStatus_t cublas##S##gemm##suffix(cublasHandle_t handle, cublasOperation_t op_a,          \
                                           cublasOperation_t op_b, INT m, INT n, INT k,            \
                                           const T *alpha, const T *a, INT lda, const T *b,        \
                                           INT ldb, const T *beta, T *c, INT ldc) {                \
        return gemm(handle, product{op_a, op_b, m, n, k, lda, ldb, ldc}, alpha, a, 0, b, 0, beta,  \
                    c, 0, 1);                                                                      \
    }                                                                                              \
    cublasStatus_t cublas##S##gemmStridedBatched##suffix(                                          \
        cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, INT m, INT n,       \
        INT k, const T *alpha, const T *a, INT lda, long long stride_a, const T *b, INT ldb,       \
        long long stride_b, const T *beta, T *c, INT ldc, long long stride_c, INT batch) {         \
        return gemm(handle, product{op_a, op_b, m, n, k, lda, ldb, ldc}, alpha, a, stride_a, b,    \
                    stride_b, beta, c, stride_c, batch);                                           \
    }                                                                                              \
    cublasStatus_t cublas##S##gemv##suffix(cublasHandle_t handle, cublasOperation_t op, INT m,     \
                                           INT n, const T *alpha, const T *a, INT lda, const T *x, \
                                           INT incx, const T *beta, T *y, INT incy) {              \
        return gemv(handle, op, m, n, alpha, a, lda, 0, x, incx, 0, beta, y, incy, 0, 1);          \
    }                                                                                              \
    cublasStatus_t cublas##S##gemvStridedBatched##suffix(                                          \
        cublasHandle_t handle, cublasOperation_t op, INT m, INT n, const T *alpha, const T *a,     \
        INT lda, long long stride_a, const T *x, INT incx, long long stride_x, const T *beta,      \
        T *y, INT incy, long long stride_y, INT batch) {                                           \
        return gemv(handle, op, m, n, alpha, a, lda, stride_a, x, incx, stride_x, beta, y, incy,   \
                    stride_y, batch);                                                              \
    }                                                                                              \
    cublasStatus_t cublas##S##geam##suffix(                                                        \
        cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, INT m, INT n,       \
        const T *alpha, const T *a, INT lda, const T *beta, const T *b, INT ldb, T *c, INT ldc) {  \
        return geam(handle, op_a, op_b, m, n, alpha, a, lda, beta, b, ldb, c, ldc);                \
    }                                                                                              \
    cublasStatus_t cublas##S##dgmm##suffix(cublasHandle_t handle, cublasSideMode_t side, INT m,    \
                                           INT n, const T *a, INT lda, const T *x, INT incx, T *c, \
                                           INT ldc) {                                              \
        return dgmm(handle, side, m, n, a, lda, x, incx, c, ldc);                                  \
    }                                                                                              \
    cublasStatus_t cublas##S##scal##suffix(cublasHandle_t handle, INT n, const T *alpha, T *x,     \
                                           INT incx) {                                             \
        return scal(handle, n, alpha, x, incx);                                                    \
    }

#define DEFINE_EX(suffix, INT)                                                                     \
    cublasStatus_t cublasGemmEx##suffix(                                                           \
        cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, INT m, INT n,       \
        INT k, const void *alpha, const void *a, cudaDataType a_type, INT lda, const void *b,      \
        cudaDataType b_type, INT ldb, const void *beta, void *c, cudaDataType c_type, INT ldc,     \
        cublasComputeType_t compute, cublasGemmAlgo_t) {                                           \
        return gemm_ex(handle, product{op_a, op_b, m, n, k, lda, ldb, ldc}, alpha, a, a_type, 0,   \
                       b, b_type, 0, beta, c, c_type, 0, 1, compute);                              \
    }                                                                                              \
    cublasStatus_t cublasGemmStridedBatchedEx##suffix(                                             \
        cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, INT m, INT n,       \
        INT k, const void *alpha, const void *a, cudaDataType a_type, INT lda, long long stride_a, \
        const void *b, cudaDataType b_type, INT ldb, long long stride_b, const void *beta,         \
        void *c, cudaDataType c_type, INT ldc, long long stride_c, INT batch,                      \
        cublasComputeType_t compute, cublasGemmAlgo_t) {                                           \
        return gemm_ex(handle, product{op_a, op_b, m, n, k, lda, ldb, ldc}, alpha, a, a_type,      \
                       stride_a, b, b_type, stride_b, beta, c, c_type, stride_c, batch, compute);  \
    }

DEFINE_TYPED(S, float, , int)
DEFINE_TYPED(D, double, , int)
DEFINE_TYPED(S, float, _64, int64_t)
DEFINE_TYPED(D, double, _64, int64_t)
DEFINE_EX(, int)
DEFINE_EX(_64, int64_t)

} // namespace sim_blas

assay_status assay_blas_check(cublasStatus_t status, const char *call) {
    if (status == CUBLAS_STATUS_SUCCESS)
        return ASSAY_OK;
    return assay_fail(status == CUBLAS_STATUS_NOT_SUPPORTED ? ASSAY_ERR_UNSUPPORTED
                                                            : ASSAY_ERR_DEVICE,
                      "sim: %s: %s", call, cublasGetStatusName(status));
}

assay_status assay_blas_handle(void *, cublasHandle_t *handle) {
    static cublasContext context = {true};
    *handle = &context;
    return ASSAY_OK;
}
