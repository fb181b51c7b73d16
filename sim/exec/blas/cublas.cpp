/* The stand-in for libcublas: handles, and products by general matrices. Scalars may be the host's
 * or the device's: their addresses mean the same here. */
#include "sim/exec/blas/handle.h"

#include <new>

namespace {

enum { MATH_TF32 = 3 };

/* Of a gemm whose scalars are of the matrices' type. */
product plain(const handle *h, int type, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
              const void *alpha, const void *beta, const matrix &a, const matrix &b,
              const matrix &c, int64_t batch) {
    const int compute = type == TYPE_64F                           ? COMPUTE_64F
                        : type == TYPE_32F && h->math == MATH_TF32 ? COMPUTE_32F_TF32
                                                                   : COMPUTE_32F;
    return {op_a,  op_b, m, n, k, batch, compute, type, h->scalars_on_device != 0,
            alpha, beta, a, b, c, c,     {}};
}

/* cublasGemmEx's scalars have the type of the sums. */
product mixed(const handle *h, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
              const void *alpha, const void *beta, const matrix &a, const matrix &b,
              const matrix &c, int64_t batch, int compute) {
    const int scale = compute == COMPUTE_64F || compute == COMPUTE_64F + 1   ? TYPE_64F
                      : compute == COMPUTE_16F || compute == COMPUTE_16F + 1 ? TYPE_16F
                                                                             : TYPE_32F;
    const int with = compute == COMPUTE_32F && h->math == MATH_TF32 ? COMPUTE_32F_TF32 : compute;
    return {op_a,  op_b, m, n, k, batch, with, scale, h->scalars_on_device != 0,
            alpha, beta, a, b, c, c,     {}};
}

exec_blas submit(const char *call, const handle *h, const product &p) {
    return product_submit(call, p, h->stream);
}

} // namespace

#define NEEDS(h)                                                                                   \
    if ((h) == nullptr)                                                                            \
    return BLAS_NOT_INITIALIZED

/* ---- handles ---- */

EXPORT exec_blas cublasCreate_v2(handle **h) {
    if (h == nullptr)
        return BLAS_INVALID_VALUE;
    *h = new (std::nothrow) handle{};
    return *h != nullptr ? BLAS_SUCCESS : BLAS_ALLOC_FAILED;
}
EXPORT exec_blas cublasDestroy_v2(handle *h) {
    NEEDS(h);
    delete h;
    return BLAS_SUCCESS;
}
EXPORT exec_blas cublasGetVersion_v2(handle *h, int *version) {
    NEEDS(h);
    *version = 130000;
    return BLAS_SUCCESS;
}
EXPORT exec_blas cublasSetStream_v2(handle *h, void *stream) {
    NEEDS(h);
    h->stream = stream;
    return BLAS_SUCCESS;
}
EXPORT exec_blas cublasGetStream_v2(handle *h, void **stream) {
    NEEDS(h);
    *stream = h->stream;
    return BLAS_SUCCESS;
}
EXPORT exec_blas cublasSetMathMode(handle *h, int mode) {
    NEEDS(h);
    h->math = mode & 15; /* the others are about sums of less precision, which none here has */
    return BLAS_SUCCESS;
}
EXPORT exec_blas cublasGetMathMode(handle *h, int *mode) {
    NEEDS(h);
    *mode = h->math;
    return BLAS_SUCCESS;
}
EXPORT exec_blas cublasSetPointerMode_v2(handle *h, int mode) {
    NEEDS(h);
    h->scalars_on_device = mode;
    return mode == 0 || mode == 1 ? BLAS_SUCCESS : BLAS_INVALID_VALUE;
}
EXPORT exec_blas cublasGetPointerMode_v2(handle *h, int *mode) {
    NEEDS(h);
    *mode = h->scalars_on_device;
    return BLAS_SUCCESS;
}
EXPORT exec_blas cublasSetWorkspace_v2(handle *h, void *, size_t) {
    NEEDS(h);
    return BLAS_SUCCESS;
}
EXPORT exec_blas cublasSetAtomicsMode(handle *h, int) {
    NEEDS(h);
    return BLAS_SUCCESS;
}

static const struct {
    int status;
    const char *name, *text;
} statuses[] = {
    {0, "CUBLAS_STATUS_SUCCESS", "success"},
    {1, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {3, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {7, "CUBLAS_STATUS_INVALID_VALUE", "an invalid value was used as an argument"},
    {8, "CUBLAS_STATUS_ARCH_MISMATCH", "an absent device architectural feature is required"},
    {11, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"},
    {13, "CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch on the GPU"},
    {14, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {15, "CUBLAS_STATUS_NOT_SUPPORTED", "the functionality requested is not supported"},
};

EXPORT const char *cublasGetStatusName(int status) {
    for (const auto &s : statuses)
        if (s.status == status)
            return s.name;
    return "unknown cuBLAS status";
}
EXPORT const char *cublasGetStatusString(int status) {
    for (const auto &s : statuses)
        if (s.status == status)
            return s.text;
    return "unknown cuBLAS status";
}

/* ---- products ---- */

#define GEMM(S, T, TYPE, name, suffix, INT)                                                        \
    EXPORT exec_blas cublas##S##gemm##name##suffix(                                                \
        handle *h, int op_a, int op_b, INT m, INT n, INT k, const T *alpha, const T *a, INT lda,   \
        const T *b, INT ldb, const T *beta, T *c, INT ldc) {                                       \
        NEEDS(h);                                                                                  \
        return submit("cublas" #S "gemm", h,                                                       \
                      plain(h, TYPE, op_a, op_b, m, n, k, alpha, beta, {a, TYPE, lda, 0},          \
                            {b, TYPE, ldb, 0}, {c, TYPE, ldc, 0}, 1));                             \
    }
#define GEMM_STRIDED(S, T, TYPE, suffix, INT)                                                      \
    EXPORT exec_blas cublas##S##gemmStridedBatched##suffix(                                        \
        handle *h, int op_a, int op_b, INT m, INT n, INT k, const T *alpha, const T *a, INT lda,   \
        long long stride_a, const T *b, INT ldb, long long stride_b, const T *beta, T *c, INT ldc, \
        long long stride_c, INT batch) {                                                           \
        NEEDS(h);                                                                                  \
        return submit("cublas" #S "gemmStridedBatched", h,                                         \
                      plain(h, TYPE, op_a, op_b, m, n, k, alpha, beta, {a, TYPE, lda, stride_a},   \
                            {b, TYPE, ldb, stride_b}, {c, TYPE, ldc, stride_c}, batch));           \
    }
/* y = alpha op(A) x + beta y as rows: a matrix of one row may have steps between its elements. */
#define GEMV(S, T, TYPE, name, suffix, INT)                                                        \
    EXPORT exec_blas cublas##S##gemv##name##suffix(                                                \
        handle *h, int op, INT m, INT n, const T *alpha, const T *a, INT lda, const T *x,          \
        INT incx, const T *beta, T *y, INT incy) {                                                 \
        NEEDS(h);                                                                                  \
        if (incx <= 0 || incy <= 0)                                                                \
            return blas_absent("cublas" #S "gemv with steps that are not positive");               \
        return submit("cublas" #S "gemv", h,                                                       \
                      plain(h, TYPE, 0, op == 0 ? 1 : 0, 1, op == 0 ? m : n, op == 0 ? n : m,      \
                            alpha, beta, {x, TYPE, incx, 0}, {a, TYPE, lda, 0},                    \
                            {y, TYPE, incy, 0}, 1));                                               \
    }
#define GEMM_EX(suffix, INT)                                                                       \
    EXPORT exec_blas cublasGemmEx##suffix(handle *h, int op_a, int op_b, INT m, INT n, INT k,      \
                                          const void *alpha, const void *a, int a_type, INT lda,   \
                                          const void *b, int b_type, INT ldb, const void *beta,    \
                                          void *c, int c_type, INT ldc, int compute, int) {        \
        NEEDS(h);                                                                                  \
        return submit("cublasGemmEx", h,                                                           \
                      mixed(h, op_a, op_b, m, n, k, alpha, beta, {a, a_type, lda, 0},              \
                            {b, b_type, ldb, 0}, {c, c_type, ldc, 0}, 1, compute));                \
    }                                                                                              \
    EXPORT exec_blas cublasGemmStridedBatchedEx##suffix(                                           \
        handle *h, int op_a, int op_b, INT m, INT n, INT k, const void *alpha, const void *a,      \
        int a_type, INT lda, long long stride_a, const void *b, int b_type, INT ldb,               \
        long long stride_b, const void *beta, void *c, int c_type, INT ldc, long long stride_c,    \
        INT batch, int compute, int) {                                                             \
        NEEDS(h);                                                                                  \
        return submit("cublasGemmStridedBatchedEx", h,                                             \
                      mixed(h, op_a, op_b, m, n, k, alpha, beta, {a, a_type, lda, stride_a},       \
                            {b, b_type, ldb, stride_b}, {c, c_type, ldc, stride_c}, batch,         \
                            compute));                                                             \
    }                                                                                              \
    EXPORT exec_blas cublasSgemmEx##suffix(handle *h, int op_a, int op_b, INT m, INT n, INT k,     \
                                           const float *alpha, const void *a, int a_type, INT lda, \
                                           const void *b, int b_type, INT ldb, const float *beta,  \
                                           void *c, int c_type, INT ldc) {                         \
        NEEDS(h);                                                                                  \
        return submit("cublasSgemmEx", h,                                                          \
                      mixed(h, op_a, op_b, m, n, k, alpha, beta, {a, a_type, lda, 0},              \
                            {b, b_type, ldb, 0}, {c, c_type, ldc, 0}, 1, COMPUTE_32F));            \
    }

#define BOTH(S, T, TYPE)                                                                           \
    GEMM(S, T, TYPE, _v2, , int)                                                                   \
    GEMM(S, T, TYPE, _v2, _64, int64_t)                                                            \
    GEMM_STRIDED(S, T, TYPE, , int)                                                                \
    GEMM_STRIDED(S, T, TYPE, _64, int64_t)                                                         \
    GEMV(S, T, TYPE, _v2, , int)                                                                   \
    GEMV(S, T, TYPE, _v2, _64, int64_t)
BOTH(S, float, TYPE_32F)
BOTH(D, double, TYPE_64F)
GEMM(H, void, TYPE_16F, , , int)
GEMM(H, void, TYPE_16F, , _64, int64_t)
GEMM_STRIDED(H, void, TYPE_16F, , int)
GEMM_STRIDED(H, void, TYPE_16F, _64, int64_t)
GEMM_EX(, int)
GEMM_EX(_64, int64_t)

#define EXEC_ABSENT(name)                                                                          \
    EXPORT exec_blas name(void) {                                                                  \
        return blas_absent(#name);                                                                 \
    }
#define EXEC_ABSENT_64(name) EXEC_ABSENT(name) EXEC_ABSENT(name##_64)
#include "sim/exec/blas/cublas_absent.def"
