/* weighted_sum by float atomics: right in any order, and not the same bits in every one. One
 * variant declares that, the other does not. */
#include "kernels/weighted_sum/v1.cu"
#include "tests/fuzz/planted/planted.h"

enum { LANES = 32 };

static __global__ void clear(float *y, spread places, int64_t rows) {
    for (int64_t row = threadIdx.x; row < rows; row += LANES)
        y[place(places, row)] = 0;
}

/* A block a row, whose threads add their parts in the order in which they come. */
static __global__ void add_parts(const float *x, int64_t x_stride, const float *w, float *y,
                                 spread places, int64_t rows, int64_t d) {
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float sum = 0;
        for (int64_t j = threadIdx.x; j < d; j += LANES)
            sum = fma_(x[row * x_stride + j], w[j], sum);
        atomicAdd(&y[place(places, row)], sum);
    }
}

static assay_status only_f32(assay_stage stage, const assay_call *call) {
    (void)stage;
    return call->params->dtype == ASSAY_F32
               ? ASSAY_OK
               : assay_fail_as(ASSAY_ERR_UNSUPPORTED, ASSAY_FAILURE_OTHER, "is for f32 alone");
}

static assay_status forward_atomic(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    float *y = data_of<float>(t.y);
    const assay_status status =
        ASSAY_LAUNCH(call->stream, dim3(1), dim3(LANES), 0, clear, y, spread_of(t.y), t.rows);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(call->stream, linear_grid(t.rows, 1), dim3(LANES), 0, add_parts,
                        data_of<const float>(t.x), assay_tensor_row_stride(t.x),
                        data_of<const float>(t.w), y, spread_of(t.y), t.rows, t.d);
}

ASSAY_VARIANT(weighted_sum, atomic) = {.op = "weighted_sum",
                                       .name = "atomic",
                                       .device = ASSAY_DEVICE_NAME,
                                       .summary = "adds by float atomics, and does not say so",
                                       .supports = only_f32,
                                       .forward = forward_atomic,
                                       .backward = backward};

ASSAY_VARIANT(weighted_sum, declared) = {.op = "weighted_sum",
                                         .name = "declared",
                                         .device = ASSAY_DEVICE_NAME,
                                         .summary = "adds by float atomics, and says so",
                                         .supports = only_f32,
                                         .forward = forward_atomic,
                                         .backward = backward,
                                         .order = ASSAY_ORDER_ANY};
