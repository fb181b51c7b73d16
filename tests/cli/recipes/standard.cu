// standard, one thread a row.
#include "device/kernel.h"
#include "kernels/common/numeric.h"

template <typename T>
static __global__ void standard(const T *x, int64_t x_stride, T *y, int64_t y_stride, int64_t rows,
                                int64_t d) {
    const int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0, squares = 0;
    for (int64_t j = 0; j < d; ++j)
        sum += widen(x[row * x_stride + j]);
    const float mean = sum / (float)d;
    for (int64_t j = 0; j < d; ++j) {
        const float centred = widen(x[row * x_stride + j]) - mean;
        squares = fmaf(centred, centred, squares);
    }
    const float scale = 1 / sqrtf(squares / (float)d + 0x1p-6f);
    for (int64_t j = 0; j < d; ++j)
        y[row * y_stride + j] = narrow<T>((widen(x[row * x_stride + j]) - mean) * scale);
}

template <typename T> static assay_status run(const assay_call *call) {
    const assay_tensor &x = call->in[0], &y = call->out[0];
    return ASSAY_LAUNCH(call->stream, dim3((unsigned)(assay_tensor_rows(&x) / 32 + 1)), dim3(32), 0,
                        (standard<T>), static_cast<const T *>(x.data), assay_tensor_row_stride(&x),
                        static_cast<T *>(y.data), assay_tensor_row_stride(&y),
                        assay_tensor_rows(&x), assay_tensor_row_length(&x));
}

static assay_status forward(const assay_call *call) {
    return call->params->dtype == ASSAY_BF16 ? run<__nv_bfloat16>(call) : run<float>(call);
}

ASSAY_VARIANT(standard, mine) = {.op = "standard",
                                 .name = "mine",
                                 .device = ASSAY_DEVICE_NAME,
                                 .summary = "one thread a row",
                                 .forward = forward};
