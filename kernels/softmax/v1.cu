/*
 * softmax v1, naive: the definition, one kernel a step. Forward: the largest element of each row
 * and the sum of the powers, one thread a row, into the workspace; y, one thread an element.
 * Backward: the sum of y dy, one thread a row; dx, one thread an element.
 *
 * Bytes: forward reads x three times and writes y; backward reads y and dy twice each and writes
 * dx. The threads of a warp walk 32 different rows in the sums. Flops: two exps, a division and 4
 * more an element forward, 4 backward.
 */
#include "kernels/common/exp.h"
#include "kernels/common/exp64.h"
#include "kernels/common/rows.h"

enum { THREADS = 256 };

template <typename T>
static __global__ void find_sums(matrix<const T> x, acc_t<T> *largest, acc_t<T> *sums, int64_t rows,
                                 int64_t d) {
    for (int64_t i = grid_thread(); i < rows; i += grid_threads()) {
        acc_t<T> most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < d; ++j)
            most = widen(x.row(i)[j]) > most ? widen(x.row(i)[j]) : most;
        for (int64_t j = 0; j < d; ++j)
            sum += exp_(widen(x.row(i)[j]) - most);
        largest[i] = most;
        sums[i] = sum;
    }
}

template <typename T>
static __global__ void divide(matrix<const T> x, const acc_t<T> *largest, const acc_t<T> *sums,
                              matrix<T> y, int64_t rows, int64_t d) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads()) {
        const int64_t i = e / d, j = e % d;
        y.row(i)[j] = narrow<T>(exp_(widen(x.row(i)[j]) - largest[i]) / sums[i]);
    }
}

template <typename T>
static __global__ void find_slopes(matrix<const T> y, matrix<const T> dy, acc_t<T> *slopes,
                                   int64_t rows, int64_t d) {
    for (int64_t i = grid_thread(); i < rows; i += grid_threads()) {
        acc_t<T> sum = 0;
        for (int64_t j = 0; j < d; ++j)
            sum = fma_(widen(y.row(i)[j]), widen(dy.row(i)[j]), sum);
        slopes[i] = sum;
    }
}

template <typename T>
static __global__ void grad(matrix<const T> y, matrix<const T> dy, const acc_t<T> *slopes,
                            matrix<T> dx, int64_t rows, int64_t d) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads()) {
        const int64_t i = e / d, j = e % d;
        dx.row(i)[j] = narrow<T>(widen(y.row(i)[j]) * (widen(dy.row(i)[j]) - slopes[i]));
    }
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const matrix<const T> x = matrix_of<const T>(&call->in[0]);
    const int64_t rows = assay_tensor_rows(&call->in[0]);
    const int64_t d = assay_tensor_row_length(&call->in[0]);
    acc_t<T> *largest = static_cast<acc_t<T> *>(call->workspace), *sums = largest + rows;
    const assay_status status =
        ASSAY_LAUNCH(call->stream, linear_grid(rows, THREADS), dim3(THREADS), 0, (find_sums<T>), x,
                     largest, sums, rows, d);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(call->stream, linear_grid(rows * d, THREADS), dim3(THREADS), 0, (divide<T>),
                        x, largest, sums, matrix_of<T>(&call->out[0]), rows, d);
}

/* Inputs: x, y, dy. */
template <typename T> static assay_status run_backward(const assay_call *call) {
    const matrix<const T> y = matrix_of<const T>(&call->in[1]),
                          dy = matrix_of<const T>(&call->in[2]);
    const int64_t rows = assay_tensor_rows(&call->in[0]);
    const int64_t d = assay_tensor_row_length(&call->in[0]);
    acc_t<T> *slopes = static_cast<acc_t<T> *>(call->workspace);
    const assay_status status =
        ASSAY_LAUNCH(call->stream, linear_grid(rows, THREADS), dim3(THREADS), 0, (find_slopes<T>),
                     y, dy, slopes, rows, d);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(call->stream, linear_grid(rows * d, THREADS), dim3(THREADS), 0, (grad<T>),
                        y, dy, slopes, matrix_of<T>(&call->out[0]), rows, d);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const size_t size = call->params->dtype == ASSAY_F64 ? sizeof(double) : sizeof(float);
    return (size_t)assay_tensor_rows(&call->in[0]) * size * (stage == ASSAY_FORWARD ? 2 : 1);
}

static assay_status forward(const assay_call *call) {
    return ROWS_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return ROWS_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(softmax, v1) = {
    .op = "softmax",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: one kernel a step, one thread a row or an element",
    .supports = NULL,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
