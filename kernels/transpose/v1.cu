/*
 * transpose v1, naive: one thread for each element of the result.
 *
 * Bytes: every element is read and written once. A warp writes 32 elements of a row and reads from
 * 32 rows, a sector for each. No flops.
 */
#include "kernels/transpose/matrices.h"

enum { THREADS = 256 };

template <typename T> static __global__ void turn(matrix<const T> from, matrix<T> to, sizes s) {
    for (int64_t e = grid_thread(); e < s.matrices * s.rows * s.columns; e += grid_threads()) {
        const int64_t m = e / (s.rows * s.columns), j = e / s.rows % s.columns, i = e % s.rows;
        to.row(m * s.columns + j)[i] = from.row(m * s.rows + i)[j];
    }
}

template <typename T> static assay_status run(const assay_call *call, assay_stage stage) {
    const assay_tensor *from = source_of(call, stage);
    const sizes s = sizes_of(from);
    return ASSAY_LAUNCH(call->stream, linear_grid(s.matrices * s.rows * s.columns, THREADS),
                        dim3(THREADS), 0, (turn<T>), matrix_of<const T>(from),
                        matrix_of<T>(&call->out[0]), s);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    return run<T>(call, ASSAY_FORWARD);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    return run<T>(call, ASSAY_BACKWARD);
}

static assay_status forward(const assay_call *call) {
    return ROWS_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return ROWS_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(transpose, v1) = {
    .op = "transpose",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: one thread for each element of the result",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
