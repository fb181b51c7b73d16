// softmin, naive: one thread a row. A kernel to begin with, for a simulated device and for a GPU.
#include "device/kernel.h"
#include "kernels/common/exp.h"
#include "kernels/common/exp64.h"

static constexpr unsigned THREADS = 128;

template <typename T>
static __global__ void values(const T *x, int64_t x_stride, T *y, int64_t y_stride, int64_t rows,
                              int64_t d) {
    const int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    x += row * x_stride;
    y += row * y_stride;
    acc_t<T> least = INFINITY, sum = 0;
    for (int64_t j = 0; j < d; ++j)
        least = widen(x[j]) < least ? widen(x[j]) : least;
    for (int64_t j = 0; j < d; ++j)
        sum += exp_(least - widen(x[j]));
    for (int64_t j = 0; j < d; ++j)
        y[j] = narrow<T>(exp_(least - widen(x[j])) / sum);
}

template <typename T>
static __global__ void slopes(const T *y, int64_t y_stride, const T *dy, int64_t dy_stride, T *dx,
                              int64_t dx_stride, int64_t rows, int64_t d) {
    const int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    y += row * y_stride;
    dy += row * dy_stride;
    dx += row * dx_stride;
    acc_t<T> along = 0;
    for (int64_t j = 0; j < d; ++j)
        along = fma_(widen(y[j]), widen(dy[j]), along);
    for (int64_t j = 0; j < d; ++j)
        dx[j] = narrow<T>(widen(y[j]) * (along - widen(dy[j])));
}

static dim3 blocks(int64_t rows) {
    return dim3((unsigned)((rows + THREADS - 1) / THREADS));
}

// Inputs: x. Outputs: y.
template <typename T> static assay_status run_forward(const assay_call *call) {
    const assay_tensor &x = call->in[0], &y = call->out[0];
    const int64_t rows = assay_tensor_rows(&x), d = assay_tensor_row_length(&x);
    return ASSAY_LAUNCH(call->stream, blocks(rows), dim3(THREADS), 0, (values<T>),
                        static_cast<const T *>(x.data), assay_tensor_row_stride(&x),
                        static_cast<T *>(y.data), assay_tensor_row_stride(&y), rows, d);
}

// Inputs: x, the y that forward left, and dy. Outputs: dx.
template <typename T> static assay_status run_backward(const assay_call *call) {
    const assay_tensor &y = call->in[1], &dy = call->in[2], &dx = call->out[0];
    const int64_t rows = assay_tensor_rows(&y), d = assay_tensor_row_length(&y);
    return ASSAY_LAUNCH(call->stream, blocks(rows), dim3(THREADS), 0, (slopes<T>),
                        static_cast<const T *>(y.data), assay_tensor_row_stride(&y),
                        static_cast<const T *>(dy.data), assay_tensor_row_stride(&dy),
                        static_cast<T *>(dx.data), assay_tensor_row_stride(&dx), rows, d);
}

static assay_status forward(const assay_call *call) {
    switch (call->params->dtype) {
    case ASSAY_F64:
        return run_forward<double>(call);
    case ASSAY_BF16:
        return run_forward<__nv_bfloat16>(call);
    case ASSAY_F16:
        return run_forward<__half>(call);
    default:
        return run_forward<float>(call);
    }
}

static assay_status backward(const assay_call *call) {
    switch (call->params->dtype) {
    case ASSAY_F64:
        return run_backward<double>(call);
    case ASSAY_BF16:
        return run_backward<__nv_bfloat16>(call);
    case ASSAY_F16:
        return run_backward<__half>(call);
    default:
        return run_backward<float>(call);
    }
}

ASSAY_VARIANT(softmin, v1) = {.op = "softmin",
                              .name = "v1",
                              .device = ASSAY_DEVICE_NAME,
                              .summary = "naive: one thread a row",
                              .forward = forward,
                              .backward = backward};
