/*
 * weighted_sum v1, naive: the definition, one thread for each element of y, dx and dw.
 *
 * Bytes: forward reads x once, but neighbouring threads walk different rows, so each 32-byte sector
 * serves one thread at a time. Backward reads x once for dw and writes dx once; d threads are all
 * the parallelism that dw has. Flops: 2 rows d forward, 3 rows d backward.
 */
#include "kernels/weighted_sum/rows.h"

enum { THREADS = 256 };

template <typename T>
static __global__ void sum_row(const T *x, int64_t x_stride, const T *w, T *y, spread places,
                               int64_t rows, int64_t d) {
    for (int64_t row = grid_thread(); row < rows; row += grid_threads()) {
        acc_t<T> sum = 0;
        for (int64_t j = 0; j < d; ++j)
            sum = fma_(widen(x[row * x_stride + j]), widen(w[j]), sum);
        y[place(places, row)] = narrow<T>(sum);
    }
}

template <typename T>
static __global__ void grad_x(const T *w, const T *dy, spread places, T *dx, int64_t dx_stride,
                              int64_t rows, int64_t d) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads()) {
        const int64_t row = e / d, j = e % d;
        dx[row * dx_stride + j] = narrow<T>(widen(dy[place(places, row)]) * widen(w[j]));
    }
}

template <typename T>
static __global__ void grad_w(const T *x, int64_t x_stride, const T *dy, spread places, T *dw,
                              int64_t rows, int64_t d) {
    for (int64_t j = grid_thread(); j < d; j += grid_threads()) {
        acc_t<T> sum = 0;
        for (int64_t row = 0; row < rows; ++row)
            sum = fma_(widen(dy[place(places, row)]), widen(x[row * x_stride + j]), sum);
        dw[j] = narrow<T>(sum);
    }
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    return ASSAY_LAUNCH(call->stream, linear_grid(t.rows, THREADS), dim3(THREADS), 0, (sum_row<T>),
                        data_of<const T>(t.x), assay_tensor_row_stride(t.x), data_of<const T>(t.w),
                        data_of<T>(t.y), spread_of(t.y), t.rows, t.d);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const T *x = data_of<const T>(t.x), *w = data_of<const T>(t.w), *dy = data_of<const T>(t.dy);
    const assay_status status = ASSAY_LAUNCH(
        call->stream, linear_grid(t.rows * t.d, THREADS), dim3(THREADS), 0, (grad_x<T>), w, dy,
        spread_of(t.dy), data_of<T>(t.dx), assay_tensor_row_stride(t.dx), t.rows, t.d);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(call->stream, linear_grid(t.d, THREADS), dim3(THREADS), 0, (grad_w<T>), x,
                        assay_tensor_row_stride(t.x), dy, spread_of(t.dy), data_of<T>(t.dw), t.rows,
                        t.d);
}

static assay_status forward(const assay_call *call) {
    return WEIGHTED_SUM_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return WEIGHTED_SUM_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(weighted_sum, v1) = {
    .op = "weighted_sum",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: one thread for each element of y, dx, dw",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
