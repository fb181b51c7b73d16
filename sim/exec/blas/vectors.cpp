/*
 * cuBLAS beside its products: copies from and to the host, functions of vectors, and those of
 * matrices that visit each element once. Each is a stream's work; one that gives a number to the
 * host waits for it.
 */
#include "sim/exec/blas/handle.h"

#include <math.h>

#include <new>
#include <utility>

extern "C" {
#include "sim/exec/copy.h"
#include "sim/exec/memory.h"
#include "sim/exec/overlap.h"
#include "sim/exec/report.h"
}

namespace {

/* Memory that a function takes: `rows` elements behind each other, `columns` times. */
struct use {
    const void *data;
    int64_t bytes, rows, columns, step; /* of an element; from column to column, in elements */
    bool writes;
};

template <typename T> use vector(const T *x, int64_t n, int64_t inc, bool writes) {
    return {x, (int64_t)sizeof *x, 1, n, inc < 0 ? -inc : inc, writes};
}
template <typename T> use matrix_of(const T *a, int64_t m, int64_t n, int64_t ld, bool writes) {
    return {a, (int64_t)sizeof *a, m, n, ld, writes};
}

/* BLAS: a vector with a negative step begins at its far end. */
template <typename T> T *first_of(T *x, int64_t n, int64_t inc) {
    return inc < 0 ? x - (n - 1) * inc : x;
}

bool is_there(const char *call, const use &u) {
    char why[EXEC_MEMORY_LINE];
    if (u.rows <= 0 || u.columns <= 0 ||
        exec_memory_check(u.data, (size_t)(((u.columns - 1) * u.step + u.rows) * u.bytes), u.writes,
                          why))
        return true;
    exec_problem(EXEC_PROBLEM_COPY, "%s %s", call, why);
    return false;
}

void touch(const use &u) {
    for (int64_t j = 0; u.rows > 0 && j < u.columns; ++j)
        exec_overlap_touch(static_cast<const char *>(u.data) + j * u.step * u.bytes,
                           (size_t)(u.rows * u.bytes), u.writes);
}

enum { MOST_USES = 3 };

template <typename F> struct task {
    exec_work work;
    const char *call;
    use uses[MOST_USES];
    F run;
};

template <typename F> void run_task(exec_work *work) {
    const auto &t = *reinterpret_cast<const task<F> *>(work);
    exec_overlap_by(t.call, "");
    for (const use &u : t.uses)
        if (u.data != nullptr)
            touch(u);
    t.run();
}

template <typename F>
exec_blas submit(const char *call, const handle *h, std::initializer_list<use> uses, bool wait,
                 F run) {
    exec_stream *s;
    for (const use &u : uses)
        if (!is_there(call, u))
            return BLAS_EXECUTION_FAILED;
    if (exec_stream_of(h->stream, &s) != EXEC_SUCCESS)
        return BLAS_INVALID_VALUE;
    auto *t = static_cast<task<F> *>(exec_work_new(EXEC_WORK_KERNEL, sizeof(task<F>), run_task<F>));
    if (t == nullptr)
        return BLAS_ALLOC_FAILED;
    t->call = call;
    use *to = t->uses;
    for (const use &u : uses)
        *to++ = u;
    new (&t->run) F(run);
    if (exec_work_submit(&t->work, s) != EXEC_SUCCESS)
        return BLAS_EXECUTION_FAILED;
    if (wait)
        exec_stream_synchronize(s);
    return exec_device_error() == EXEC_SUCCESS ? BLAS_SUCCESS : BLAS_EXECUTION_FAILED;
}

/* `run`: the function's work, of values alone; `result`: where it leaves a number, or nullptr. */
template <typename F>
exec_blas call(const char *name, const handle *h, std::initializer_list<use> uses,
               const void *result, F run) {
    if (h == nullptr)
        return BLAS_NOT_INITIALIZED;
    exec_blas status = BLAS_EXECUTION_FAILED;
    if (exec_call_begin(name) == EXEC_SUCCESS)
        status = submit(name, h, uses, result != nullptr && !h->scalars_on_device, run);
    exec_call_leave(EXEC_SUCCESS);
    return status;
}

/* A scalar that the host gives is read within the call. */
template <typename T> struct scalar {
    const T *at; /* nullptr: here */
    T value;
    scalar(const handle *h, const T *x)
        : at(h != nullptr && h->scalars_on_device ? x : nullptr),
          value(at == nullptr && x != nullptr ? *x : T(0)) {
    }
    T operator()() const {
        return at != nullptr ? *at : value;
    }
};

/* The first element of the largest, or smallest, size: counted from 1; 0: there is none. */
template <typename T> int64_t extreme(int64_t n, const T *x, int64_t inc, bool largest) {
    int64_t found = 0;
    for (int64_t i = 1; inc > 0 && i < n; ++i) {
        const T a = (T)fabs((double)x[i * inc]), b = (T)fabs((double)x[found * inc]);
        found = (largest ? a > b : a < b) ? i : found;
    }
    return n > 0 && inc > 0 ? found + 1 : 0;
}

/* A copy of columns, as cudaMemcpy2D does it. */
exec_blas transfer(const char *name, int64_t rows, int64_t columns, int64_t element,
                   const void *from, int64_t ld_from, void *to, int64_t ld_to, int direction,
                   void *stream, bool now) {
    if (rows < 0 || columns < 0 || element <= 0 || ld_from < rows || ld_to < rows)
        return BLAS_INVALID_VALUE;
    exec_stream *s;
    exec_blas status = BLAS_EXECUTION_FAILED;
    const exec_block block = {to,
                              from,
                              (size_t)(rows * element),
                              (size_t)columns,
                              1,
                              (size_t)(ld_to * element),
                              (size_t)(ld_to * element * columns),
                              (size_t)(ld_from * element),
                              (size_t)(ld_from * element * columns)};
    if (exec_call_begin(name) == EXEC_SUCCESS && exec_stream_of(stream, &s) == EXEC_SUCCESS)
        status = rows == 0 || columns == 0 || exec_copy(&block, direction, s, now) == EXEC_SUCCESS
                     ? BLAS_SUCCESS
                     : BLAS_MAPPING_ERROR;
    exec_call_leave(EXEC_SUCCESS);
    return status;
}

} // namespace

#define TRANSFER(what, direction, suffix, INT)                                                     \
    EXPORT exec_blas cublas##what##Vector##suffix(INT n, INT element, const void *x, INT incx,     \
                                                  void *y, INT incy) {                             \
        return transfer("cublas" #what "Vector", 1, n, element, x, incx, y, incy, direction,       \
                        nullptr, true);                                                            \
    }                                                                                              \
    EXPORT exec_blas cublas##what##VectorAsync##suffix(                                            \
        INT n, INT element, const void *x, INT incx, void *y, INT incy, void *stream) {            \
        return transfer("cublas" #what "VectorAsync", 1, n, element, x, incx, y, incy, direction,  \
                        stream, false);                                                            \
    }                                                                                              \
    EXPORT exec_blas cublas##what##Matrix##suffix(INT m, INT n, INT element, const void *a,        \
                                                  INT lda, void *b, INT ldb) {                     \
        return transfer("cublas" #what "Matrix", m, n, element, a, lda, b, ldb, direction,         \
                        nullptr, true);                                                            \
    }                                                                                              \
    EXPORT exec_blas cublas##what##MatrixAsync##suffix(INT m, INT n, INT element, const void *a,   \
                                                       INT lda, void *b, INT ldb, void *stream) {  \
        return transfer("cublas" #what "MatrixAsync", m, n, element, a, lda, b, ldb, direction,    \
                        stream, false);                                                            \
    }
TRANSFER(Set, EXEC_HOST_TO_DEVICE, , int)
TRANSFER(Set, EXEC_HOST_TO_DEVICE, _64, int64_t)
TRANSFER(Get, EXEC_DEVICE_TO_HOST, , int)
TRANSFER(Get, EXEC_DEVICE_TO_HOST, _64, int64_t)

#define VECTORS(S, s, T, suffix, INT)                                                              \
    EXPORT exec_blas cublas##S##axpy_v2##suffix(handle *h, INT n, const T *alpha, const T *x,      \
                                                INT incx, T *y, INT incy) {                        \
        const scalar<T> by(h, alpha);                                                              \
        return call("cublas" #S "axpy", h, {vector(x, n, incx, false), vector(y, n, incy, true)},  \
                    nullptr, [=] {                                                                 \
                        const T *from = first_of(x, n, incx), a = by();                            \
                        T *to = first_of(y, n, incy);                                              \
                        for (int64_t i = 0; i < n; ++i)                                            \
                            to[i * incy] += a * from[i * incx];                                    \
                    });                                                                            \
    }                                                                                              \
    EXPORT exec_blas cublas##S##copy_v2##suffix(handle *h, INT n, const T *x, INT incx, T *y,      \
                                                INT incy) {                                        \
        return call("cublas" #S "copy", h, {vector(x, n, incx, false), vector(y, n, incy, true)},  \
                    nullptr, [=] {                                                                 \
                        const T *from = first_of(x, n, incx);                                      \
                        T *to = first_of(y, n, incy);                                              \
                        for (int64_t i = 0; i < n; ++i)                                            \
                            to[i * incy] = from[i * incx];                                         \
                    });                                                                            \
    }                                                                                              \
    EXPORT exec_blas cublas##S##swap_v2##suffix(handle *h, INT n, T *x, INT incx, T *y,            \
                                                INT incy) {                                        \
        return call("cublas" #S "swap", h, {vector(x, n, incx, true), vector(y, n, incy, true)},   \
                    nullptr, [=] {                                                                 \
                        T *one = first_of(x, n, incx), *other = first_of(y, n, incy);              \
                        for (int64_t i = 0; i < n; ++i)                                            \
                            std::swap(one[i * incx], other[i * incy]);                             \
                    });                                                                            \
    }                                                                                              \
    EXPORT exec_blas cublas##S##scal_v2##suffix(handle *h, INT n, const T *alpha, T *x,            \
                                                INT incx) {                                        \
        const scalar<T> by(h, alpha);                                                              \
        return call("cublas" #S "scal", h, {vector(x, n, incx, true)}, nullptr, [=] {              \
            const T a = by();                                                                      \
            for (int64_t i = 0; incx > 0 && i < n; ++i)                                            \
                x[i * incx] *= a;                                                                  \
        });                                                                                        \
    }                                                                                              \
    EXPORT exec_blas cublas##S##dot_v2##suffix(handle *h, INT n, const T *x, INT incx, const T *y, \
                                               INT incy, T *result) {                              \
        return call("cublas" #S "dot", h, {vector(x, n, incx, false), vector(y, n, incy, false)},  \
                    result, [=] {                                                                  \
                        const T *one = first_of(x, n, incx), *other = first_of(y, n, incy);        \
                        T sum = 0;                                                                 \
                        for (int64_t i = 0; i < n; ++i)                                            \
                            sum += one[i * incx] * other[i * incy];                                \
                        *result = sum;                                                             \
                    });                                                                            \
    }                                                                                              \
    EXPORT exec_blas cublas##S##nrm2_v2##suffix(handle *h, INT n, const T *x, INT incx,            \
                                                T *result) {                                       \
        return call("cublas" #S "nrm2", h, {vector(x, n, incx, false)}, result, [=] {              \
            double sum = 0;                                                                        \
            for (int64_t i = 0; incx > 0 && i < n; ++i)                                            \
                sum = hypot(sum, (double)x[i * incx]);                                             \
            *result = (T)sum;                                                                      \
        });                                                                                        \
    }                                                                                              \
    EXPORT exec_blas cublas##S##asum_v2##suffix(handle *h, INT n, const T *x, INT incx,            \
                                                T *result) {                                       \
        return call("cublas" #S "asum", h, {vector(x, n, incx, false)}, result, [=] {              \
            T sum = 0;                                                                             \
            for (int64_t i = 0; incx > 0 && i < n; ++i)                                            \
                sum += (T)fabs((double)x[i * incx]);                                               \
            *result = sum;                                                                         \
        });                                                                                        \
    }                                                                                              \
    EXPORT exec_blas cublasI##s##amax_v2##suffix(handle *h, INT n, const T *x, INT incx,           \
                                                 INT *result) {                                    \
        return call("cublasI" #s "amax", h, {vector(x, n, incx, false)}, result,                   \
                    [=] { *result = (INT)extreme(n, x, incx, true); });                            \
    }                                                                                              \
    EXPORT exec_blas cublasI##s##amin_v2##suffix(handle *h, INT n, const T *x, INT incx,           \
                                                 INT *result) {                                    \
        return call("cublasI" #s "amin", h, {vector(x, n, incx, false)}, result,                   \
                    [=] { *result = (INT)extreme(n, x, incx, false); });                           \
    }

/* A += alpha x yᵀ; C = alpha op(A) + beta op(B), whose operands with a factor of zero are not read;
 * C = diag(x) A, or A diag(x). */
#define MATRICES(S, T, suffix, INT)                                                                \
    EXPORT exec_blas cublas##S##ger_v2##suffix(handle *h, INT m, INT n, const T *alpha,            \
                                               const T *x, INT incx, const T *y, INT incy, T *a,   \
                                               INT lda) {                                          \
        const scalar<T> by(h, alpha);                                                              \
        return call(                                                                               \
            "cublas" #S "ger", h,                                                                  \
            {vector(x, m, incx, false), vector(y, n, incy, false), matrix_of(a, m, n, lda, true)}, \
            nullptr, [=] {                                                                         \
                const T *left = first_of(x, m, incx), *right = first_of(y, n, incy);               \
                const T factor = by();                                                             \
                for (int64_t j = 0; j < n; ++j)                                                    \
                    for (int64_t i = 0; i < m; ++i)                                                \
                        a[i + j * lda] += factor * left[i * incx] * right[j * incy];               \
            });                                                                                    \
    }                                                                                              \
    EXPORT exec_blas cublas##S##geam##suffix(handle *h, int op_a, int op_b, INT m, INT n,          \
                                             const T *alpha, const T *a, INT lda, const T *beta,   \
                                             const T *b, INT ldb, T *c, INT ldc) {                 \
        const scalar<T> of_a(h, alpha), of_b(h, beta);                                             \
        const int64_t rows_a = op_a != 0 ? n : m, rows_b = op_b != 0 ? n : m;                      \
        const bool reads_a = of_a.at != nullptr || of_a.value != 0;                                \
        const bool reads_b = of_b.at != nullptr || of_b.value != 0;                                \
        if ((c == a && (op_a != 0 || lda != ldc)) || (c == b && (op_b != 0 || ldb != ldc)))        \
            return BLAS_INVALID_VALUE; /* in place only as it lies */                              \
        return call("cublas" #S "geam", h,                                                         \
                    {matrix_of(a, reads_a ? rows_a : 0, m + n - rows_a, lda, false),               \
                     matrix_of(b, reads_b ? rows_b : 0, m + n - rows_b, ldb, false),               \
                     matrix_of(c, m, n, ldc, true)},                                               \
                    nullptr, [=] {                                                                 \
                        const T one = of_a(), other = of_b();                                      \
                        for (int64_t j = 0; j < n; ++j)                                            \
                            for (int64_t i = 0; i < m; ++i) {                                      \
                                const int64_t at_a = op_a != 0 ? j + i * lda : i + j * lda;        \
                                const int64_t at_b = op_b != 0 ? j + i * ldb : i + j * ldb;        \
                                c[i + j * ldc] = (one != 0 ? one * a[at_a] : 0) +                  \
                                                 (other != 0 ? other * b[at_b] : 0);               \
                            }                                                                      \
                    });                                                                            \
    }                                                                                              \
    EXPORT exec_blas cublas##S##dgmm##suffix(handle *h, int side, INT m, INT n, const T *a,        \
                                             INT lda, const T *x, INT incx, T *c, INT ldc) {       \
        const int64_t length = side == 0 ? m : n;                                                  \
        return call("cublas" #S "dgmm", h,                                                         \
                    {matrix_of(a, m, n, lda, false), vector(x, length, incx, false),               \
                     matrix_of(c, m, n, ldc, true)},                                               \
                    nullptr, [=] {                                                                 \
                        const T *by = first_of(x, length, incx);                                   \
                        for (int64_t j = 0; j < n; ++j)                                            \
                            for (int64_t i = 0; i < m; ++i)                                        \
                                c[i + j * ldc] = a[i + j * lda] * by[(side == 0 ? i : j) * incx];  \
                    });                                                                            \
    }

#define BOTH(S, s, T)                                                                              \
    VECTORS(S, s, T, , int)                                                                        \
    VECTORS(S, s, T, _64, int64_t)                                                                 \
    MATRICES(S, T, , int)                                                                          \
    MATRICES(S, T, _64, int64_t)
BOTH(S, s, float)
BOTH(D, d, double)
