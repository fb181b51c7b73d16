/*
 * rmsnorm v1, naive: the definition, one kernel a step. Forward: h = x + r, one thread an element;
 * 1 / sqrt(mean(h²) + eps), one thread a row, into the workspace; y, one thread an element.
 * Backward: the inverse roots again and mean(g h) s³ beside them, one thread a row; dx, one thread
 * an element; dw, one thread a column.
 *
 * No vendor's library has the operator, so that there is no v2.
 *
 * Bytes: forward reads h twice and, with residual, x and r once, and writes h and y; backward reads
 * h and dy three times each. The threads of a warp walk 32 different rows in the sums. Flops: 5
 * rows d forward, 14 rows d backward.
 */
#include "kernels/rmsnorm/norm.h"

enum { THREADS = 256 };

template <typename T>
static __global__ void add_residual(matrix<const T> x, matrix<const T> r, matrix<T> h, int64_t rows,
                                    int64_t d) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads()) {
        const int64_t i = e / d, j = e % d;
        h.row(i)[j] = narrow<T>(widen(x.row(i)[j]) + widen(r.row(i)[j]));
    }
}

template <typename T>
static __global__ void find_inverse(matrix<const T> h, acc_t<T> *inverse, int64_t rows, int64_t d,
                                    acc_t<T> eps) {
    for (int64_t i = grid_thread(); i < rows; i += grid_threads()) {
        acc_t<T> sum = 0;
        for (int64_t j = 0; j < d; ++j)
            sum = fma_(widen(h.row(i)[j]), widen(h.row(i)[j]), sum);
        inverse[i] = inverse_root(sum, d, eps);
    }
}

template <typename T>
static __global__ void normalise(matrix<const T> h, const T *w, const acc_t<T> *inverse,
                                 matrix<T> y, int64_t rows, int64_t d) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads()) {
        const int64_t i = e / d, j = e % d;
        y.row(i)[j] = narrow<T>(widen(h.row(i)[j]) * inverse[i] * widen(w[j]));
    }
}

/* mean(g x^) of each row, x^ = h s. dx is s (g - x^ mean(g x^)): s^3 would underflow from h of
 * 10^13 on. */
template <typename T>
static __global__ void find_slope(matrix<const T> h, const T *w, matrix<const T> dy,
                                  const acc_t<T> *inverse, acc_t<T> *slope, int64_t rows,
                                  int64_t d) {
    for (int64_t i = grid_thread(); i < rows; i += grid_threads()) {
        acc_t<T> sum = 0;
        for (int64_t j = 0; j < d; ++j)
            sum = fma_(widen(dy.row(i)[j]) * widen(w[j]), widen(h.row(i)[j]), sum);
        slope[i] = inverse[i] * (sum / (acc_t<T>)d);
    }
}

template <typename T>
static __global__ void grad_x(matrix<const T> h, const T *w, matrix<const T> dy, matrix<const T> dh,
                              const acc_t<T> *inverse, const acc_t<T> *slope, matrix<T> dx,
                              matrix<T> dr, int64_t rows, int64_t d) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads()) {
        const int64_t i = e / d, j = e % d;
        const acc_t<T> normal = widen(h.row(i)[j]) * inverse[i];
        acc_t<T> g = fma_(-normal, slope[i], widen(dy.row(i)[j]) * widen(w[j])) * inverse[i];
        if (dh.present())
            g += widen(dh.row(i)[j]);
        dx.row(i)[j] = narrow<T>(g);
        if (dr.present())
            dr.row(i)[j] = narrow<T>(g);
    }
}

template <typename T>
static __global__ void grad_w(matrix<const T> h, matrix<const T> dy, const acc_t<T> *inverse, T *dw,
                              int64_t rows, int64_t d) {
    for (int64_t j = grid_thread(); j < d; j += grid_threads()) {
        acc_t<T> sum = 0;
        for (int64_t i = 0; i < rows; ++i)
            sum = fma_(widen(dy.row(i)[j]), widen(h.row(i)[j]) * inverse[i], sum);
        dw[j] = narrow<T>(sum);
    }
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const matrix<const T> h = matrix_of<const T>(t.h);
    const dim3 elements = linear_grid(t.rows * t.d, THREADS), threads(THREADS);
    acc_t<T> *inverse = static_cast<acc_t<T> *>(call->workspace);
    assay_status status = ASSAY_OK;
    if (t.r != NULL)
        status = ASSAY_LAUNCH(call->stream, elements, threads, 0, (add_residual<T>),
                              matrix_of<const T>(t.x), matrix_of<const T>(t.r), matrix_of<T>(t.h),
                              t.rows, t.d);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, linear_grid(t.rows, THREADS), threads, 0,
                              (find_inverse<T>), h, inverse, t.rows, t.d, (acc_t<T>)t.eps);
    if (status == ASSAY_OK)
        status =
            ASSAY_LAUNCH(call->stream, elements, threads, 0, (normalise<T>), h,
                         matrix_of<const T>(t.w).data, inverse, matrix_of<T>(t.y), t.rows, t.d);
    return status;
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const matrix<const T> h = matrix_of<const T>(t.h), dy = matrix_of<const T>(t.dy);
    const T *w = matrix_of<const T>(t.w).data;
    const dim3 rows = linear_grid(t.rows, THREADS), threads(THREADS);
    acc_t<T> *inverse = static_cast<acc_t<T> *>(call->workspace), *slope = inverse + t.rows;
    assay_status status = ASSAY_LAUNCH(call->stream, rows, threads, 0, (find_inverse<T>), h,
                                       inverse, t.rows, t.d, (acc_t<T>)t.eps);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, rows, threads, 0, (find_slope<T>), h, w, dy, inverse,
                              slope, t.rows, t.d);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, linear_grid(t.rows * t.d, THREADS), threads, 0,
                              (grad_x<T>), h, w, dy, matrix_of<const T>(t.dh), inverse, slope,
                              matrix_of<T>(t.dx), matrix_of<T>(t.dr), t.rows, t.d);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, linear_grid(t.d, THREADS), threads, 0, (grad_w<T>), h,
                              dy, inverse, matrix_of<T>(t.dw).data, t.rows, t.d);
    return status;
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const tensors t = tensors_of(call, stage);
    const size_t size = call->params->dtype == ASSAY_F64 ? sizeof(double) : sizeof(float);
    return (size_t)t.rows * size * (stage == ASSAY_FORWARD ? 1 : 2);
}

static assay_status forward(const assay_call *call) {
    return RMSNORM_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return RMSNORM_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(rmsnorm, v1) = {
    .op = "rmsnorm",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: one kernel a step, one thread a row, an element or a column",
    .supports = NULL,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
