/*
 * swiglu v1, naive: the definition, one thread for each element of y, da and db, one kernel for
 * each of them.
 *
 * No vendor's library has the operator, so that there is no v2.
 *
 * Bytes: forward reads a and b and writes y; backward reads a and dy twice and b once and writes da
 * and db. Accesses are one element wide, and each element finds its row by a division. Flops: an
 * exp, a division and 3 more an element of y, 2 exps, 2 divisions and 9 more one of da and db.
 */
#include "kernels/swiglu/gate.h"

enum { THREADS = 256 };

template <typename T>
static __global__ void gate(matrix<const T> a, matrix<const T> b, matrix<T> y, int64_t rows,
                            int64_t d) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads()) {
        const int64_t i = e / d, j = e % d;
        const acc_t<T> x = widen(a.row(i)[j]);
        y.row(i)[j] = narrow<T>(gated(x, sigma_of(x), widen(b.row(i)[j])));
    }
}

template <typename T>
static __global__ void grad_a(matrix<const T> a, matrix<const T> b, matrix<const T> dy,
                              matrix<T> da, int64_t rows, int64_t d) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads()) {
        const int64_t i = e / d, j = e % d;
        const acc_t<T> x = widen(a.row(i)[j]);
        da.row(i)[j] =
            narrow<T>(grad_gate(x, sigma_of(x), widen(b.row(i)[j]), widen(dy.row(i)[j])));
    }
}

template <typename T>
static assay_status launch_gate(const assay_call *call, const tensors &t, const assay_tensor *b,
                                const assay_tensor *y) {
    return ASSAY_LAUNCH(call->stream, linear_grid(t.rows * t.d, THREADS), dim3(THREADS), 0,
                        (gate<T>), matrix_of<const T>(t.a), matrix_of<const T>(b), matrix_of<T>(y),
                        t.rows, t.d);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    return launch_gate<T>(call, t, t.b, t.y);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const assay_status status =
        ASSAY_LAUNCH(call->stream, linear_grid(t.rows * t.d, THREADS), dim3(THREADS), 0,
                     (grad_a<T>), matrix_of<const T>(t.a), matrix_of<const T>(t.b),
                     matrix_of<const T>(t.dy), matrix_of<T>(t.da), t.rows, t.d);
    return status == ASSAY_OK ? launch_gate<T>(call, t, t.dy, t.db) : status;
}

static assay_status forward(const assay_call *call) {
    return SWIGLU_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return SWIGLU_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(swiglu, v1) = {
    .op = "swiglu",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: one thread for each element of y, da, db",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
