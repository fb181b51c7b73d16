/* y = x w, dx = dy w, dw = sum of dy x: a thread for each element, any stride, f32 only. */
#include "device/grid.h"
#include "kernels/common/numeric.h"

static __global__ void sum_row(const float *x, int64_t x_stride, const float *w, float *y,
                               int64_t y_length, int64_t y_stride, int64_t rows, int64_t d) {
    for (int64_t row = grid_thread(); row < rows; row += grid_threads()) {
        float sum = 0;
        for (int64_t j = 0; j < d; ++j)
            sum = fma_(x[row * x_stride + j], w[j], sum);
        y[row / y_length * y_stride + row % y_length] = sum;
    }
}

static __global__ void grad_x(const float *w, const float *dy, int64_t y_length, int64_t y_stride,
                              float *dx, int64_t dx_stride, int64_t rows, int64_t d) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads()) {
        const int64_t row = e / d, j = e % d;
        dx[row * dx_stride + j] = dy[row / y_length * y_stride + row % y_length] * w[j];
    }
}

static __global__ void grad_w(const float *x, int64_t x_stride, const float *dy, int64_t y_length,
                              int64_t y_stride, float *dw, int64_t rows, int64_t d) {
    for (int64_t j = grid_thread(); j < d; j += grid_threads()) {
        float sum = 0;
        for (int64_t row = 0; row < rows; ++row)
            sum = fma_(dy[row / y_length * y_stride + row % y_length], x[row * x_stride + j], sum);
        dw[j] = sum;
    }
}

static assay_status forward(const assay_call *call) {
    const assay_tensor *x = &call->in[0], *w = &call->in[1], *y = &call->out[0];
    const int64_t rows = assay_tensor_rows(x);
    return ASSAY_LAUNCH(call->stream, linear_grid(rows, 128), dim3(128), 0, sum_row,
                        (const float *)x->data, assay_tensor_row_stride(x), (const float *)w->data,
                        (float *)y->data, assay_tensor_row_length(y), assay_tensor_row_stride(y),
                        rows, assay_tensor_row_length(x));
}

static assay_status backward(const assay_call *call) {
    const assay_tensor *x = &call->in[0], *w = &call->in[1], *dy = &call->in[3];
    const assay_tensor *dx = &call->out[0], *dw = &call->out[1];
    const int64_t rows = assay_tensor_rows(x), d = assay_tensor_row_length(x);
    const int64_t length = assay_tensor_row_length(dy), stride = assay_tensor_row_stride(dy);
    const assay_status status =
        ASSAY_LAUNCH(call->stream, linear_grid(rows * d, 128), dim3(128), 0, grad_x,
                     (const float *)w->data, (const float *)dy->data, length, stride,
                     (float *)dx->data, assay_tensor_row_stride(dx), rows, d);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(call->stream, linear_grid(d, 128), dim3(128), 0, grad_w,
                        (const float *)x->data, assay_tensor_row_stride(x), (const float *)dy->data,
                        length, stride, (float *)dw->data, rows, d);
}

ASSAY_VARIANT(weighted_sum, mine) = {
    .op = "weighted_sum",
    .name = "mine",
    .device = ASSAY_DEVICE_NAME,
    .summary = "a kernel from outside of the tree",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
