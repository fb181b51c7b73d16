/*
 * reduce v2, the vendor's library: sums are products with ones. Over the last axis that is a gemv,
 * and another one over the axes before it; over axes before the last a gemm of one column, batched
 * over those that stay. Backward, dx is a gemm with an inner extent of 1: ones times dy. f32 and
 * f64, for which cuBLAS has gemv; it has no maximum, and no axis is reduced before one that stays.
 *
 * Against v1: coalesced along the last axis. Bytes: every element is read once, or written once
 * backward; sums and ones lie in the workspace. It has run on the simulated device alone, and is
 * compiled for CUDA.
 */
#include "device/blas.h"
#include "kernels/reduce/plan.h"

enum { THREADS = 256 };

/* x as rows of d elements: `outer` times `inner` of them, of which the inner are reduced. */
struct view {
    int64_t outer, inner, d;
    bool last; /* the row is reduced */

    int64_t rows() const {
        return outer * inner;
    }
    int64_t results() const {
        return last ? outer : outer * d;
    }
    int64_t longest() const { /* of the vectors of ones */
        return inner > d ? inner : d;
    }
};

/* False where an axis is reduced before one that stays. */
static bool find_view(const assay_call *call, const assay_tensor *x, view *v) {
    bool fits = true;
    *v = {1, 1, assay_tensor_row_length(x), is_reduced(call, x->rank - 1)};
    for (int a = 0; a + 1 < x->rank; ++a) {
        if (is_reduced(call, a))
            v->inner *= x->shape[a];
        else if (v->inner == 1)
            v->outer *= x->shape[a];
        else
            fits = fits && x->shape[a] == 1;
    }
    return fits;
}

/* ---- our own kernels: what is no sum ---- */

template <typename T> static __global__ void fill(T *to, int64_t count, T value) {
    for (int64_t i = grid_thread(); i < count; i += grid_threads())
        to[i] = value;
}

template <typename T> static __global__ void finish(const T *sums, matrix<T> y, plan p) {
    for (int64_t o = grid_thread(); o < p.results(); o += grid_threads())
        *p.result(y, o) = p.kind == MEAN ? sums[o] / (T)p.reduced.total : sums[o];
}

/* dy, or what of it each element has, `each` times in a row. */
template <typename T>
static __global__ void spread(matrix<const T> dy, T *to, plan p, int64_t each) {
    for (int64_t i = grid_thread(); i < p.results() * each; i += grid_threads()) {
        const T given = *p.result(dy, i / each);
        to[i] = p.kind == MEAN ? given / (T)p.reduced.total : given;
    }
}

template <typename T>
static assay_status set(const assay_call *call, T *to, int64_t count, T value) {
    return ASSAY_LAUNCH(call->stream, linear_grid(count, THREADS), dim3(THREADS), 0, (fill<T>), to,
                        count, value);
}

/* ---- cuBLAS, column-major: it sees a matrix of rows as its transpose ---- */

/* y = Aᵀ v, for A (m, n). */
static assay_status gemv(cublasHandle_t blas, int64_t m, int64_t n, const float *a, int64_t lda,
                         const float *v, float *y) {
    const float one = 1, none = 0;
    return assay_blas_check(
        cublasSgemv(blas, CUBLAS_OP_T, (int)m, (int)n, &one, a, (int)lda, v, 1, &none, y, 1),
        "cublasSgemv");
}

static assay_status gemv(cublasHandle_t blas, int64_t m, int64_t n, const double *a, int64_t lda,
                         const double *v, double *y) {
    const double one = 1, none = 0;
    return assay_blas_check(
        cublasDgemv(blas, CUBLAS_OP_T, (int)m, (int)n, &one, a, (int)lda, v, 1, &none, y, 1),
        "cublasDgemv");
}

/* C = A B of many, `step` elements from one to the next; B is the same one, or a step is 0. */
template <typename T> struct operand {
    T *data;
    int64_t ld;
    long long step;
};

static assay_status gemm(cublasHandle_t blas, int64_t m, int64_t n, int64_t k,
                         operand<const float> a, operand<const float> b, operand<float> c,
                         int64_t batch) {
    const float one = 1, none = 0;
    return assay_blas_check(cublasSgemmStridedBatched(blas, CUBLAS_OP_N, CUBLAS_OP_N, (int)m,
                                                      (int)n, (int)k, &one, a.data, (int)a.ld,
                                                      a.step, b.data, (int)b.ld, b.step, &none,
                                                      c.data, (int)c.ld, c.step, (int)batch),
                            "cublasSgemmStridedBatched");
}

static assay_status gemm(cublasHandle_t blas, int64_t m, int64_t n, int64_t k,
                         operand<const double> a, operand<const double> b, operand<double> c,
                         int64_t batch) {
    const double one = 1, none = 0;
    return assay_blas_check(cublasDgemmStridedBatched(blas, CUBLAS_OP_N, CUBLAS_OP_N, (int)m,
                                                      (int)n, (int)k, &one, a.data, (int)a.ld,
                                                      a.step, b.data, (int)b.ld, b.step, &none,
                                                      c.data, (int)c.ld, c.step, (int)batch),
                            "cublasDgemmStridedBatched");
}

template <typename T>
static assay_status gemms(cublasHandle_t blas, int64_t m, int64_t n, int64_t k, operand<const T> a,
                          operand<const T> b, operand<T> c, int64_t batch) {
    assay_status status = ASSAY_OK;
    for (int64_t done = 0; status == ASSAY_OK && done < batch; done += ASSAY_MAX_BATCH) {
        const int64_t some = clamp(batch - done, 0, ASSAY_MAX_BATCH);
        status = gemm(blas, m, n, k, {a.data + done * a.step, a.ld, a.step},
                      {b.data + done * b.step, b.ld, b.step},
                      {c.data + done * c.step, c.ld, c.step}, some);
    }
    return status;
}

/* ---- forward ---- */

/* The workspace: ones, sums of rows, results. BLAS leaves results as they were where there is
 * nothing to sum. */
template <typename T>
static assay_status sum(cublasHandle_t blas, const view &v, matrix<const T> x, const T *ones,
                        T *rows, T *results) {
    if (v.results() == 0 || v.rows() == 0 || v.d == 0)
        return ASSAY_OK;
    if (!v.last)
        return gemms<T>(blas, v.d, 1, v.inner, {x.data, x.stride, v.inner * x.stride},
                        {ones, v.inner, 0}, {results, v.d, v.d}, v.outer);
    const assay_status status =
        gemv(blas, v.d, v.rows(), x.data, x.stride, ones, v.inner == 1 ? results : rows);
    return status == ASSAY_OK && v.inner != 1
               ? gemv(blas, v.inner, v.outer, rows, v.inner, ones, results)
               : status;
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const matrix<const T> x = matrix_of<const T>(&call->in[0]);
    const plan p = plan_of(call, &call->in[0]);
    view v;
    (void)find_view(call, &call->in[0], &v);
    T *ones = static_cast<T *>(call->workspace), *rows = ones + v.longest(),
      *results = rows + v.rows();
    cublasHandle_t blas;
    assay_status status = assay_blas_handle(call->stream, &blas);
    if (status == ASSAY_OK)
        status = set<T>(call, ones, v.longest(), 1);
    if (status == ASSAY_OK)
        status = set<T>(call, results, v.results(), 0);
    if (status == ASSAY_OK)
        status = sum(blas, v, x, ones, rows, results);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(call->stream, linear_grid(v.results(), THREADS), dim3(THREADS), 0,
                        (finish<T>), results, matrix_of<T>(&call->out[0]), p);
}

/* ---- backward: inputs x, y, dy ---- */

template <typename T> static assay_status run_backward(const assay_call *call) {
    const assay_tensor *dx = &call->out[0];
    const matrix<T> to = matrix_of<T>(dx);
    const plan p = plan_of(call, dx);
    view v;
    (void)find_view(call, dx, &v);
    T *ones = static_cast<T *>(call->workspace), *given = ones + v.longest();
    const int64_t each = v.last ? v.inner : 1;
    cublasHandle_t blas;
    if (v.rows() == 0 || v.d == 0)
        return ASSAY_OK;
    assay_status status = assay_blas_handle(call->stream, &blas);
    if (status == ASSAY_OK)
        status = set<T>(call, ones, v.longest(), 1);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, linear_grid(v.results() * each, THREADS), dim3(THREADS),
                              0, (spread<T>), matrix_of<const T>(&call->in[2]), given, p, each);
    if (status != ASSAY_OK)
        return status;
    if (v.last)
        return gemms<T>(blas, v.d, v.rows(), 1, {ones, v.d, 0}, {given, 1, 0},
                        {to.data, to.stride, 0}, 1);
    return gemms<T>(blas, v.d, v.inner, 1, {given, v.d, v.d}, {ones, 1, 0},
                    {to.data, to.stride, v.inner * to.stride}, v.outer);
}

/* ---- the variant ---- */

static const assay_tensor *tensor_of(assay_stage stage, const assay_call *call) {
    return stage == ASSAY_FORWARD ? &call->in[0] : &call->out[0];
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    const assay_dtype dtype = call->params->dtype;
    const assay_tensor *x = tensor_of(stage, call);
    view v;
    if (dtype != ASSAY_F32 && dtype != ASSAY_F64)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "reduce/v2: cuBLAS has gemv for f32 and f64");
    if (plan_of(call, x).kind == MAX)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "reduce/v2: cuBLAS has no maximum");
    if (!find_view(call, x, &v))
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "reduce/v2: an axis is reduced before one that stays");
    if (v.rows() > INT32_MAX || v.d > INT32_MAX || assay_tensor_row_stride(x) > INT32_MAX)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "reduce/v2: cuBLAS takes 32-bit extents; %lld rows of %lld are more",
                          (long long)v.rows(), (long long)v.d);
    return ASSAY_OK;
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    view v;
    (void)find_view(call, tensor_of(stage, call), &v);
    const int64_t rows = stage == ASSAY_FORWARD || v.last ? v.rows() : 0;
    return (size_t)(v.longest() + rows + v.results()) * assay_dtype_size(call->params->dtype);
}

static assay_status forward(const assay_call *call) {
    return call->params->dtype == ASSAY_F64 ? run_forward<double>(call) : run_forward<float>(call);
}

static assay_status backward(const assay_call *call) {
    return call->params->dtype == ASSAY_F64 ? run_backward<double>(call)
                                            : run_backward<float>(call);
}

ASSAY_VARIANT(reduce, v2) = {
    .op = "reduce",
    .name = "v2",
    .device = ASSAY_DEVICE_NAME,
    .summary = "cuBLAS: products with ones, for sum and mean",
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
    .library = true,
};
