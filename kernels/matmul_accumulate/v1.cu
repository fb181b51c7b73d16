/*
 * matmul_accumulate v1, naive: the definition, one thread for each element of Y, dA and dB.
 *
 * Forward makes `iters` passes over k, as the definition adds A B that many times: an element is
 * one chain of iters k multiply-adds that begins with C. Backward sums once and multiplies by
 * iters. math=tf32 allows less precise products; none are made here.
 *
 * Bytes: every thread reads a row and a column of k elements by itself, 2 m n k elements in all and
 * iters times as many forward; only caches stand between that and memory. Flops: 2 iters m n k
 * forward, 4 m n k backward.
 */
#include "kernels/matmul_accumulate/product.h"

enum { THREADS = 256 };

/* sum + row i of `left` times column j of `right`. */
template <typename T>
static __device__ __forceinline__ acc_t<T> add_dot(const product<T> &p, int64_t i, int64_t j,
                                                   acc_t<T> sum) {
    for (int64_t l = 0; l < p.k; ++l)
        sum = fma_(widen(*at(p.left, i, l)), widen(*at(p.right, l, j)), sum);
    return sum;
}

template <typename T> static __global__ void accumulate(product<T> p) {
    for (int64_t e = grid_thread(); e < p.m * p.n; e += grid_threads()) {
        const int64_t i = e / p.n, j = e % p.n;
        acc_t<T> sum = widen(*at(p.added, i, j));
        for (int pass = 0; pass < p.times; ++pass)
            sum = add_dot(p, i, j, sum);
        *at(p.out, i, j) = narrow<T>(sum);
    }
}

template <typename T> static __global__ void scale(product<T> p) {
    for (int64_t e = grid_thread(); e < p.m * p.n; e += grid_threads()) {
        const int64_t i = e / p.n, j = e % p.n;
        const acc_t<T> sum = add_dot(p, i, j, (acc_t<T>)0);
        *at(p.out, i, j) = narrow<T>((acc_t<T>)p.times * sum);
    }
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const product<T> p = product_for_y<T>(tensors_of(call, ASSAY_FORWARD));
    return ASSAY_LAUNCH(call->stream, linear_grid(p.m * p.n, THREADS), dim3(THREADS), 0,
                        (accumulate<T>), p);
}

template <typename T> static assay_status multiply(const assay_call *call, const product<T> &p) {
    return ASSAY_LAUNCH(call->stream, linear_grid(p.m * p.n, THREADS), dim3(THREADS), 0, (scale<T>),
                        p);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    return gradients<T>(call, multiply<T>);
}

static assay_status forward(const assay_call *call) {
    return MATMUL_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return MATMUL_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(matmul_accumulate, v1) = {
    .op = "matmul_accumulate",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: one thread for each element of y, da, db",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
