/*
 * weighted_sum v3 as tests have it: every number right, and a defect that no number shows, chosen
 * by how many rows there are: 2 a race, 3 a read behind the last row, 4 a read behind a shared
 * variable, 5 a read of shared memory that no thread has written, 6 a read behind dynamic shared
 * memory.
 */
#include "kernels/weighted_sum/rows.h"

enum { THREADS = 64 };

/* The value that is read decides nothing. */
static __device__ float dropped(float value) {
    return value == 1234567.0f ? 1.0f : 0.0f;
}

static __device__ float defect(const float *x, int64_t x_stride, int64_t rows, int64_t d) {
    __shared__ float first[THREADS], after[THREADS];
    __shared__ float second[THREADS];
    ASSAY_DYNAMIC_SHARED(float, dynamic);
    const int t = (int)threadIdx.x;
    after[t] = second[t] = dynamic[t] = 0;
    if (rows == 2)
        first[t] = 0;
    if (rows != 2)
        __syncthreads();
    switch (rows) {
    case 2:
        return dropped(first[THREADS - 1 - t]);
    case 3:
        return dropped(x[2 * x_stride + d]);
    case 4:
        return dropped(second[t + 1] + after[t]);
    case 5:
        return dropped(first[t]);
    case 6:
        return dropped(dynamic[t + 1]);
    default:
        return 0;
    }
}

static __global__ void sum_row(const float *x, int64_t x_stride, const float *w, float *y,
                               spread places, int64_t rows, int64_t d) {
    const int64_t row = threadIdx.x;
    float sum = defect(x, x_stride, rows, d);
    for (int64_t j = 0; row < rows && j < d; ++j)
        sum = fma_(x[row * x_stride + j], w[j], sum);
    if (row < rows)
        y[place(places, row)] = sum;
}

static assay_status forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    return ASSAY_LAUNCH(call->stream, dim3(1), dim3(THREADS), THREADS * sizeof(float), sum_row,
                        data_of<const float>(t.x), assay_tensor_row_stride(t.x),
                        data_of<const float>(t.w), data_of<float>(t.y), spread_of(t.y), t.rows,
                        t.d);
}

ASSAY_VARIANT(weighted_sum, v3) = {
    .op = "weighted_sum",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "wrong where no number shows it",
    .forward = forward,
};
