/*
 * gelu v1, naive: the definition, one thread for each element of y, and of dx.
 *
 * Bytes: forward reads x and writes y; backward reads x and dy and writes dx. Accesses are one
 * element wide, and each element finds its row by a division. Flops: an exp, 3 divisions and some
 * 20 more an element (f64: 32), or an exp, a division and 8 more by tanh.
 */
#include "kernels/gelu/gate.h"

enum { THREADS = 256 };

template <typename T>
static __global__ void gate(matrix<const T> x, matrix<T> y, int64_t rows, int64_t d, bool by_tanh) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads()) {
        const int64_t i = e / d, j = e % d;
        y.row(i)[j] = narrow<T>(gated(widen(x.row(i)[j]), by_tanh));
    }
}

template <typename T>
static __global__ void grad(matrix<const T> x, matrix<const T> dy, matrix<T> dx, int64_t rows,
                            int64_t d, bool by_tanh) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads()) {
        const int64_t i = e / d, j = e % d;
        dx.row(i)[j] = narrow<T>(grad_gate(widen(x.row(i)[j]), widen(dy.row(i)[j]), by_tanh));
    }
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    return ASSAY_LAUNCH(call->stream, linear_grid(t.rows * t.d, THREADS), dim3(THREADS), 0,
                        (gate<T>), matrix_of<const T>(t.x), matrix_of<T>(t.y), t.rows, t.d,
                        t.by_tanh);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    return ASSAY_LAUNCH(call->stream, linear_grid(t.rows * t.d, THREADS), dim3(THREADS), 0,
                        (grad<T>), matrix_of<const T>(t.x), matrix_of<const T>(t.dy),
                        matrix_of<T>(t.dx), t.rows, t.d, t.by_tanh);
}

static assay_status forward(const assay_call *call) {
    return ROWS_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return ROWS_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(gelu, v1) = {
    .op = "gelu",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: one thread for each element of y, dx",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
