// weighted_sum: y[i] = sum over j of x[i, j] w[j], and its gradients. The kernel of README.md.
#include "device/kernel.h"

static __global__ void row_sum(const float *x, int64_t x_stride, const float *w, float *y,
                               int64_t rows, int64_t d) {
    const int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int64_t j = 0; j < d; ++j)
        sum = fmaf(x[row * x_stride + j], w[j], sum);
    y[row] = sum;
}

static __global__ void grad(const float *x, int64_t x_stride, const float *w, const float *dy,
                            float *dx, int64_t dx_stride, float *dw, int64_t rows, int64_t d) {
    const int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= d)
        return;
    float sum = 0;
    for (int64_t row = 0; row < rows; ++row) {
        dx[row * dx_stride + j] = dy[row] * w[j];
        sum = fmaf(dy[row], x[row * x_stride + j], sum);
    }
    dw[j] = sum;
}

static float *data(const assay_tensor &t) {
    return static_cast<float *>(t.data);
}

static dim3 blocks(int64_t threads) {
    return dim3((unsigned)((threads + 127) / 128));
}

// Inputs: x (rows, d) and w (d). Outputs: y (rows).
static assay_status forward(const assay_call *call) {
    const assay_tensor &x = call->in[0], &w = call->in[1], &y = call->out[0];
    const int64_t rows = assay_tensor_rows(&x), d = assay_tensor_row_length(&x);
    return ASSAY_LAUNCH(call->stream, blocks(rows), dim3(128), 0, row_sum, data(x),
                        assay_tensor_row_stride(&x), data(w), data(y), rows, d);
}

// Inputs: x, w, the y that forward left, and dy (rows). Outputs: dx (rows, d) and dw (d).
static assay_status backward(const assay_call *call) {
    const assay_tensor &x = call->in[0], &dx = call->out[0];
    const int64_t rows = assay_tensor_rows(&x), d = assay_tensor_row_length(&x);
    return ASSAY_LAUNCH(call->stream, blocks(d), dim3(128), 0, grad, data(x),
                        assay_tensor_row_stride(&x), data(call->in[1]), data(call->in[3]), data(dx),
                        assay_tensor_row_stride(&dx), data(call->out[1]), rows, d);
}

// This kernel takes packed f32 tensors y and dy only.
static assay_status supports(assay_stage stage, const assay_call *call) {
    const assay_tensor &y = stage == ASSAY_FORWARD ? call->out[0] : call->in[3];
    if (y.dtype != ASSAY_F32)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "f32 only");
    if (assay_tensor_rows(&y) > 1 && assay_tensor_row_stride(&y) != assay_tensor_row_length(&y))
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "y must be packed");
    return ASSAY_OK;
}

ASSAY_VARIANT(weighted_sum, mine) = {.op = "weighted_sum",
                                     .name = "mine",
                                     .device = ASSAY_DEVICE_NAME,
                                     .summary = "one thread a row",
                                     .supports = supports,
                                     .forward = forward,
                                     .backward = backward};
