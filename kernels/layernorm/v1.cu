/*
 * layernorm v1, naive: the definition, one kernel a step. Forward: mean and scale of each row, one
 * thread a row, into the workspace; y, one thread an element. Backward: the same and the means of g
 * and g x^ beside them, one thread a row; dx, one thread an element; dw and db, one thread a
 * column.
 *
 * Bytes: forward reads x three times and writes y; backward reads x five times and dy three times.
 * The threads of a warp walk 32 different rows in the sums. Flops: 8 rows d forward, 20 rows d
 * backward.
 */
#include "kernels/layernorm/steps.h"

enum { THREADS = 256 };

template <typename T>
static __global__ void find_moments(matrix<const T> x, acc_t<T> *mean, acc_t<T> *scale,
                                    int64_t rows, int64_t d, acc_t<T> eps) {
    for (int64_t i = grid_thread(); i < rows; i += grid_threads()) {
        acc_t<T> sum = 0, squares = 0;
        for (int64_t j = 0; j < d; ++j)
            sum += widen(x.row(i)[j]);
        const acc_t<T> middle = sum / (acc_t<T>)d;
        for (int64_t j = 0; j < d; ++j) {
            const acc_t<T> centred = widen(x.row(i)[j]) - middle;
            squares = fma_(centred, centred, squares);
        }
        mean[i] = middle;
        scale[i] = scale_of(squares, d, eps);
    }
}

/* mean(g) and mean(g x^) of each row. */
template <typename T>
static __global__ void find_slopes(matrix<const T> x, const T *w, matrix<const T> dy,
                                   const acc_t<T> *mean, const acc_t<T> *scale, acc_t<T> *level,
                                   acc_t<T> *slope, int64_t rows, int64_t d) {
    for (int64_t i = grid_thread(); i < rows; i += grid_threads()) {
        acc_t<T> sum = 0, along = 0;
        for (int64_t j = 0; j < d; ++j) {
            const acc_t<T> g = widen(dy.row(i)[j]) * widen(w[j]);
            sum += g;
            along = fma_(g, (widen(x.row(i)[j]) - mean[i]) * scale[i], along);
        }
        level[i] = sum / (acc_t<T>)d;
        slope[i] = along / (acc_t<T>)d;
    }
}

template <typename T>
static __global__ void grad_columns(matrix<const T> x, matrix<const T> dy, const acc_t<T> *mean,
                                    const acc_t<T> *scale, T *dw, T *db, int64_t rows, int64_t d) {
    for (int64_t j = grid_thread(); j < d; j += grid_threads()) {
        acc_t<T> of_w = 0, of_b = 0;
        for (int64_t i = 0; i < rows; ++i) {
            const acc_t<T> unit = (widen(x.row(i)[j]) - mean[i]) * scale[i];
            of_w = fma_(widen(dy.row(i)[j]), unit, of_w);
            of_b += widen(dy.row(i)[j]);
        }
        dw[j] = narrow<T>(of_w);
        db[j] = narrow<T>(of_b);
    }
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const matrix<const T> x = matrix_of<const T>(t.x);
    acc_t<T> *mean = static_cast<acc_t<T> *>(call->workspace), *scale = mean + t.rows;
    const assay_status status =
        ASSAY_LAUNCH(call->stream, linear_grid(t.rows, THREADS), dim3(THREADS), 0,
                     (find_moments<T>), x, mean, scale, t.rows, t.d, (acc_t<T>)t.eps);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(call->stream, linear_grid(t.rows * t.d, THREADS), dim3(THREADS), 0,
                        (normalise<T>), x, matrix_of<const T>(t.w).data,
                        matrix_of<const T>(t.b).data, mean, scale, matrix_of<T>(t.y), t.rows, t.d);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const matrix<const T> x = matrix_of<const T>(t.x), dy = matrix_of<const T>(t.dy);
    const T *w = matrix_of<const T>(t.w).data;
    const dim3 rows = linear_grid(t.rows, THREADS), threads(THREADS);
    acc_t<T> *mean = static_cast<acc_t<T> *>(call->workspace), *scale = mean + t.rows,
             *level = scale + t.rows, *slope = level + t.rows;
    assay_status status = ASSAY_LAUNCH(call->stream, rows, threads, 0, (find_moments<T>), x, mean,
                                       scale, t.rows, t.d, (acc_t<T>)t.eps);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, rows, threads, 0, (find_slopes<T>), x, w, dy, mean,
                              scale, level, slope, t.rows, t.d);
    if (status == ASSAY_OK)
        status =
            ASSAY_LAUNCH(call->stream, linear_grid(t.rows * t.d, THREADS), threads, 0, (grad_x<T>),
                         x, w, dy, mean, scale, level, slope, matrix_of<T>(t.dx), t.rows, t.d);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, linear_grid(t.d, THREADS), threads, 0,
                              (grad_columns<T>), x, dy, mean, scale, matrix_of<T>(t.dw).data,
                              matrix_of<T>(t.db).data, t.rows, t.d);
    return status;
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const tensors t = tensors_of(call, stage);
    const size_t size = call->params->dtype == ASSAY_F64 ? sizeof(double) : sizeof(float);
    return (size_t)t.rows * size * (stage == ASSAY_FORWARD ? 2 : 4);
}

static assay_status forward(const assay_call *call) {
    return ROWS_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return ROWS_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(layernorm, v1) = {
    .op = "layernorm",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: one kernel a step, one thread a row, an element or a column",
    .supports = NULL,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
