// row_square: y[i] = sum over j of x[i, j] squared, and its gradient; with a wrong one beside it.
#include "device/kernel.h"

static __global__ void squares(const float *x, float *y, int64_t rows, int64_t d, int64_t columns) {
    const int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int64_t j = 0; j < columns; ++j)
        sum = fmaf(x[row * d + j], x[row * d + j], sum);
    y[row] = sum;
}

static __global__ void slopes(const float *x, const float *dy, float *dx, int64_t n, int64_t d) {
    const int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e < n)
        dx[e] = 2 * dy[e / d] * x[e];
}

static float *data(const assay_tensor &t) {
    return static_cast<float *>(t.data);
}

static dim3 blocks(int64_t threads) {
    return dim3((unsigned)((threads + 127) / 128));
}

static assay_status sum(const assay_call *call, int64_t dropped) {
    const assay_tensor &x = call->in[0];
    const int64_t rows = assay_tensor_rows(&x), d = assay_tensor_row_length(&x);
    return ASSAY_LAUNCH(call->stream, blocks(rows), dim3(128), 0, squares, data(x),
                        data(call->out[0]), rows, d, d - dropped);
}

static assay_status forward(const assay_call *call) {
    return sum(call, 0);
}

static assay_status drop_last(const assay_call *call) {
    return sum(call, 1);
}

static assay_status backward(const assay_call *call) {
    const assay_tensor &x = call->in[0];
    const int64_t n = assay_tensor_count(&x);
    return ASSAY_LAUNCH(call->stream, blocks(n), dim3(128), 0, slopes, data(x), data(call->in[2]),
                        data(call->out[0]), n, assay_tensor_row_length(&x));
}

ASSAY_VARIANT(row_square, mine) = {.op = "row_square",
                                   .name = "mine",
                                   .device = ASSAY_DEVICE_NAME,
                                   .summary = "one thread a row",
                                   .forward = forward,
                                   .backward = backward};

ASSAY_VARIANT(row_square, wrong) = {.op = "row_square",
                                    .name = "wrong",
                                    .device = ASSAY_DEVICE_NAME,
                                    .summary = "drops the last column",
                                    .forward = drop_last,
                                    .backward = backward};
