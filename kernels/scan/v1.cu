/*
 * scan v1, naive: one thread a line, which it walks from one end to the other.
 *
 * No library of the vendor's has a scan that a host calls without its headers (CUB is a header), so
 * that there is no v2.
 *
 * Bytes: every element is read and written once; along the last axis the threads of a warp walk 32
 * rows. Flops: one an element.
 */
#include "kernels/scan/lines.h"

enum { THREADS = 128 };

template <typename T> static __global__ void scan(matrix<const T> from, matrix<T> to, lines s) {
    for (int64_t line = grid_thread(); line < s.count; line += grid_threads()) {
        acc_t<T> sum = 0;
        for (int64_t k = 0; k < s.length; ++k) {
            const acc_t<T> before = sum;
            sum += widen(*s.at(from, line, k));
            *s.at(to, line, k) = narrow<T>(s.exclusive ? before : sum);
        }
    }
}

template <typename T> static assay_status run(const assay_call *call, assay_stage stage) {
    const lines s = lines_of(call, stage);
    return ASSAY_LAUNCH(call->stream, linear_grid(s.count, THREADS), dim3(THREADS), 0, (scan<T>),
                        matrix_of<const T>(source_of(call, stage)), matrix_of<T>(&call->out[0]), s);
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

ASSAY_VARIANT(scan, v1) = {
    .op = "scan",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: one thread a line",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
