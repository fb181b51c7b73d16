/*
 * linear v1, naive: the definition, one thread for each element of Y, dX and dW. math=tf32 allows
 * less precise products; none are made here.
 *
 * Bytes: every thread reads a row and a column by itself, 2 m n k elements for each of the three
 * products; only caches stand between that and memory. Flops: 2 m n k forward, 4 m n k backward.
 */
#include "kernels/linear/products.h"

enum { THREADS = 256 };

template <typename T> static __global__ void dots(product<T> p) {
    for (int64_t e = grid_thread(); e < p.m * p.n; e += grid_threads()) {
        const int64_t i = e / p.n, j = e % p.n;
        acc_t<T> sum = 0;
        for (int64_t l = 0; l < p.k; ++l)
            sum = fma_(widen(*at(p.left, i, l)), widen(*at(p.right, l, j)), sum);
        *at(p.out, i, j) = narrow<T>(sum);
    }
}

template <typename T> static assay_status multiply(const assay_call *call, const product<T> &p) {
    return ASSAY_LAUNCH(call->stream, linear_grid(p.m * p.n, THREADS), dim3(THREADS), 0, (dots<T>),
                        p);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    return multiply(call, product_for_y<T>(call));
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    return both_gradients<T>(call, multiply<T>);
}

static assay_status forward(const assay_call *call) {
    return MATMUL_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return MATMUL_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(linear, v1) = {
    .op = "linear",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: one thread for each element of y, dx, dw",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
