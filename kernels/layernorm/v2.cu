/*
 * layernorm v2, the vendor's library: cuBLAS makes each sum, as a product. Forward: x times ones,
 * and the squares of x - m times ones. Backward, the same; then with P = dy ⊙ x^ the rows' sums are
 * dy w and P w, and the columns' sums, db and dw, are dy and P times ones. Small kernels make what
 * is multiplied and what comes of the sums. bf16 and f16 have no gemv in cuBLAS: x and dy are
 * multiplied by GemmEx with fp32 sums. cuBLAS is column-major, so it sees a matrix as its
 * transpose.
 *
 * Against v1: coalesced, and dw and db use the whole GPU. Bytes: x three times, y once, the squares
 * written and read once forward; x four times, dy four times, dx once, the squares and P written
 * once and read three times together backward.
 */
#include "device/blas.h"
#include "kernels/layernorm/steps.h"

enum { THREADS = 256 };

/* ---- our own kernels: what is no sum ---- */

/* The value is narrowed here: on the host narrow() is no function, and ends the process. */
template <typename T> static __global__ void fill(T *to, int64_t count, acc_t<T> value) {
    for (int64_t i = grid_thread(); i < count; i += grid_threads())
        to[i] = narrow<T>(value);
}

template <typename T> static __global__ void widen_all(const T *from, acc_t<T> *to, int64_t count) {
    for (int64_t i = grid_thread(); i < count; i += grid_threads())
        to[i] = widen(from[i]);
}

template <typename T>
static __global__ void narrow_all(const acc_t<T> *from, T *to, int64_t count) {
    for (int64_t i = grid_thread(); i < count; i += grid_threads())
        to[i] = narrow<T>(from[i]);
}

template <typename A> static __global__ void find_means(A *sums, int64_t rows, int64_t d) {
    for (int64_t i = grid_thread(); i < rows; i += grid_threads())
        sums[i] /= (A)d;
}

template <typename A> static __global__ void find_scales(A *sums, int64_t rows, int64_t d, A eps) {
    for (int64_t i = grid_thread(); i < rows; i += grid_threads())
        sums[i] = scale_of(sums[i], d, eps);
}

template <typename T>
static __global__ void find_squares(matrix<const T> x, const acc_t<T> *mean, acc_t<T> *squares,
                                    int64_t rows, int64_t d) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads()) {
        const acc_t<T> centred = widen(x.row(e / d)[e % d]) - mean[e / d];
        squares[e] = centred * centred;
    }
}

/* P = dy x^ */
template <typename T>
static __global__ void find_products(matrix<const T> x, matrix<const T> dy, const acc_t<T> *mean,
                                     const acc_t<T> *scale, acc_t<T> *products, int64_t rows,
                                     int64_t d) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads()) {
        const int64_t i = e / d, j = e % d;
        products[e] = widen(dy.row(i)[j]) * ((widen(x.row(i)[j]) - mean[i]) * scale[i]);
    }
}

/* ---- cuBLAS: y = op(A) v, for column-major A of d x rows; OP_T sums along rows ---- */

static assay_status multiply(cublasHandle_t blas, cublasOperation_t op, int64_t d, int64_t rows,
                             const float *a, int64_t lda, const float *v, float *y) {
    const float one = 1, none = 0;
    return assay_blas_check(
        cublasSgemv(blas, op, (int)d, (int)rows, &one, a, (int)lda, v, 1, &none, y, 1),
        "cublasSgemv");
}

static assay_status multiply(cublasHandle_t blas, cublasOperation_t op, int64_t d, int64_t rows,
                             const double *a, int64_t lda, const double *v, double *y) {
    const double one = 1, none = 0;
    return assay_blas_check(
        cublasDgemv(blas, op, (int)d, (int)rows, &one, a, (int)lda, v, 1, &none, y, 1),
        "cublasDgemv");
}

static assay_status multiply_16(cublasHandle_t blas, cublasOperation_t op, int64_t d, int64_t rows,
                                cudaDataType type, const void *a, int64_t lda, const void *v,
                                float *y) {
    const int m = (int)(op == CUBLAS_OP_T ? rows : d), k = (int)(op == CUBLAS_OP_T ? d : rows);
    const float one = 1, none = 0;
    return assay_blas_check(cublasGemmEx(blas, op, CUBLAS_OP_N, m, 1, k, &one, a, type, (int)lda, v,
                                         type, k, &none, y, CUDA_R_32F, m, CUBLAS_COMPUTE_32F,
                                         CUBLAS_GEMM_DEFAULT),
                            "cublasGemmEx");
}

static assay_status multiply(cublasHandle_t blas, cublasOperation_t op, int64_t d, int64_t rows,
                             const __nv_bfloat16 *a, int64_t lda, const __nv_bfloat16 *v,
                             float *y) {
    return multiply_16(blas, op, d, rows, CUDA_R_16BF, a, lda, v, y);
}

static assay_status multiply(cublasHandle_t blas, cublasOperation_t op, int64_t d, int64_t rows,
                             const __half *a, int64_t lda, const __half *v, float *y) {
    return multiply_16(blas, op, d, rows, CUDA_R_16F, a, lda, v, y);
}

/* ---- a call ---- */

/* The workspace. */
template <typename T> struct space {
    acc_t<T> *products; /* squares at first */
    acc_t<T> *mean, *scale, *level, *slope, *ones, *w, *dw, *db;
    T *ones_of_x; /* in the type of x and dy */
    int64_t longest;
    size_t bytes;
};

template <typename T> static space<T> space_of(const tensors &t, void *base) {
    space<T> s = {};
    s.longest = t.rows > t.d ? t.rows : t.d;
    acc_t<T> *at = static_cast<acc_t<T> *>(base);
    int64_t used = 0;
    const auto take = [&](int64_t count) {
        acc_t<T> *taken = at ? at + used : NULL;
        used += count;
        return taken;
    };
    s.products = take(t.rows * t.d);
    acc_t<T> **const of_rows[] = {&s.mean, &s.scale, &s.level, &s.slope};
    acc_t<T> **const of_columns[] = {&s.w, &s.dw, &s.db};
    for (acc_t<T> **sums : of_rows)
        *sums = take(t.rows);
    for (acc_t<T> **sums : of_columns)
        *sums = take(t.d);
    s.ones = take(s.longest);
    s.ones_of_x = reinterpret_cast<T *>(take(s.longest));
    s.bytes = (size_t)used * sizeof(acc_t<T>);
    return s;
}

template <typename T> struct run {
    const assay_call *call;
    cublasHandle_t blas;
    tensors t;
    space<T> s;
    matrix<const T> x;
};

template <typename T>
static assay_status open_run(const assay_call *call, const tensors &t, run<T> *r) {
    *r = {call, NULL, t, space_of<T>(t, call->workspace), matrix_of<const T>(t.x)};
    assay_status status = assay_blas_handle(call->stream, &r->blas);
    const dim3 grid = linear_grid(r->s.longest, THREADS);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, grid, dim3(THREADS), 0, (fill<acc_t<T>>), r->s.ones,
                              r->s.longest, (acc_t<T>)1);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, grid, dim3(THREADS), 0, (fill<T>), r->s.ones_of_x,
                              r->s.longest, (acc_t<T>)1);
    return status;
}

template <typename T> static assay_status launch_means(const run<T> &r, acc_t<T> *sums) {
    return ASSAY_LAUNCH(r.call->stream, linear_grid(r.t.rows, THREADS), dim3(THREADS), 0,
                        (find_means<acc_t<T>>), sums, r.t.rows, r.t.d);
}

/* The sums along rows, or columns, of the array in the workspace times v. */
template <typename T>
static assay_status multiply_products(const run<T> &r, cublasOperation_t op, const acc_t<T> *v,
                                      acc_t<T> *y) {
    return multiply(r.blas, op, r.t.d, r.t.rows, r.s.products, r.t.d, v, y);
}

/* The mean and the scale of each row. */
template <typename T> static assay_status find_moments(const run<T> &r) {
    const int64_t rows = r.t.rows, d = r.t.d;
    assay_status status =
        multiply(r.blas, CUBLAS_OP_T, d, rows, r.x.data, r.x.stride, r.s.ones_of_x, r.s.mean);
    if (status == ASSAY_OK)
        status = launch_means(r, r.s.mean);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(r.call->stream, linear_grid(rows * d, THREADS), dim3(THREADS), 0,
                              (find_squares<T>), r.x, r.s.mean, r.s.products, rows, d);
    if (status == ASSAY_OK)
        status = multiply_products(r, CUBLAS_OP_T, r.s.ones, r.s.scale);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(r.call->stream, linear_grid(rows, THREADS), dim3(THREADS), 0,
                              (find_scales<acc_t<T>>), r.s.scale, rows, d, (acc_t<T>)r.t.eps);
    return status;
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    run<T> r;
    if (t.rows == 0 || t.d == 0)
        return ASSAY_OK;
    assay_status status = open_run(call, t, &r);
    if (status == ASSAY_OK)
        status = find_moments(r);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, linear_grid(t.rows * t.d, THREADS), dim3(THREADS), 0,
                              (normalise<T>), r.x, matrix_of<const T>(t.w).data,
                              matrix_of<const T>(t.b).data, (const acc_t<T> *)r.s.mean,
                              (const acc_t<T> *)r.s.scale, matrix_of<T>(t.y), t.rows, t.d);
    return status;
}

/* P, level and slope, dw and db. */
template <typename T> static assay_status find_sums(const run<T> &r, matrix<const T> dy) {
    const int64_t rows = r.t.rows, d = r.t.d;
    const T *w = matrix_of<const T>(r.t.w).data;
    assay_status status =
        ASSAY_LAUNCH(r.call->stream, linear_grid(rows * d, THREADS), dim3(THREADS), 0,
                     (find_products<T>), r.x, dy, r.s.mean, r.s.scale, r.s.products, rows, d);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(r.call->stream, linear_grid(d, THREADS), dim3(THREADS), 0,
                              (widen_all<T>), w, r.s.w, d);
    if (status == ASSAY_OK)
        status = multiply(r.blas, CUBLAS_OP_T, d, rows, dy.data, dy.stride, w, r.s.level);
    if (status == ASSAY_OK)
        status = multiply_products(r, CUBLAS_OP_T, r.s.w, r.s.slope);
    if (status == ASSAY_OK)
        status = launch_means(r, r.s.level);
    if (status == ASSAY_OK)
        status = launch_means(r, r.s.slope);
    if (status == ASSAY_OK)
        status = multiply_products(r, CUBLAS_OP_N, r.s.ones, r.s.dw);
    if (status == ASSAY_OK)
        status = multiply(r.blas, CUBLAS_OP_N, d, rows, dy.data, dy.stride, r.s.ones_of_x, r.s.db);
    return status;
}

template <typename T> static assay_status store_columns(const run<T> &r) {
    const dim3 grid = linear_grid(r.t.d, THREADS), threads(THREADS);
    const assay_status status = ASSAY_LAUNCH(r.call->stream, grid, threads, 0, (narrow_all<T>),
                                             r.s.dw, matrix_of<T>(r.t.dw).data, r.t.d);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(r.call->stream, grid, threads, 0, (narrow_all<T>), r.s.db,
                        matrix_of<T>(r.t.db).data, r.t.d);
}

/* Of no rows, dw and db are 0. */
template <typename T> static assay_status run_empty(const assay_call *call, const tensors &t) {
    const dim3 grid = linear_grid(t.d, THREADS), threads(THREADS);
    const assay_status status = ASSAY_LAUNCH(call->stream, grid, threads, 0, (fill<T>),
                                             matrix_of<T>(t.dw).data, t.d, (acc_t<T>)0);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(call->stream, grid, threads, 0, (fill<T>), matrix_of<T>(t.db).data, t.d,
                        (acc_t<T>)0);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const matrix<const T> dy = matrix_of<const T>(t.dy);
    run<T> r;
    if (t.rows == 0 || t.d == 0)
        return run_empty<T>(call, t);
    assay_status status = open_run(call, t, &r);
    if (status == ASSAY_OK)
        status = find_moments(r);
    if (status == ASSAY_OK)
        status = find_sums(r, dy);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, linear_grid(t.rows * t.d, THREADS), dim3(THREADS), 0,
                              (grad_x<T>), r.x, matrix_of<const T>(t.w).data, dy, r.s.mean,
                              r.s.scale, r.s.level, r.s.slope, matrix_of<T>(t.dx), t.rows, t.d);
    return status == ASSAY_OK ? store_columns(r) : status;
}

/* ---- the variant ---- */

static assay_status supports(assay_stage stage, const assay_call *call) {
    const tensors t = tensors_of(call, stage);
    const assay_tensor *other = stage == ASSAY_FORWARD ? t.x : t.dy;
    if (t.rows <= INT32_MAX && assay_tensor_row_stride(t.x) <= INT32_MAX &&
        assay_tensor_row_stride(other) <= INT32_MAX)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_UNSUPPORTED,
                      "layernorm/v2: cuBLAS takes 32-bit extents; %lld rows of %lld are more",
                      (long long)t.rows, (long long)t.d);
}

template <typename T> static size_t bytes_of(const tensors &t) {
    return space_of<T>(t, NULL).bytes;
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const tensors t = tensors_of(call, stage);
    return call->params->dtype == ASSAY_F64 ? bytes_of<double>(t) : bytes_of<float>(t);
}

static assay_status forward(const assay_call *call) {
    return ROWS_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return ROWS_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(layernorm, v2) = {
    .op = "layernorm",
    .name = "v2",
    .device = ASSAY_DEVICE_NAME,
    .summary = "cuBLAS: products with ones and with w",
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
    .library = true,
};
