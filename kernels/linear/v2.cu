/*
 * linear v2, the vendor's library: one gemm each for Y, dX and dW. cuBLAS is column-major, so it
 * sees each matrix as its transpose and computes (A B)ᵀ = Bᵀ Aᵀ; transposed operands and padded
 * rows cost nothing.
 *
 * fp32 and fp64 are pedantic. bf16, f16 and math=tf32 use tensor cores with fp32 sums, also where
 * cuBLAS splits k, and with nothing to add a 16-bit result is rounded once.
 *
 * Against v1: operands go through shared memory. Bytes: X, W and dY are read and each result is
 * written once, if cuBLAS finds its operands in cache. Flops: 2 m n k forward, 4 m n k backward.
 */
#include "kernels/linear/products.h"
#include "kernels/matmul_accumulate/v2_gemm.h"

template <typename T> static assay_status multiply(const assay_call *call, const product<T> &p) {
    if (p.m == 0 || p.n == 0)
        return ASSAY_OK;
    if (p.k == 0)
        return launch_copy(call->stream, p.added, p.out, p.m, p.n);
    cublasHandle_t blas;
    const assay_status status = assay_blas_handle(call->stream, &blas);
    if (status != ASSAY_OK)
        return status;
    return gemm(blas, call->params->math, shape_of(p, p.out), (acc_t<T>)1, p.right.data,
                p.left.data, (acc_t<T>)0, p.out.data);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    return multiply(call, product_for_y<T>(call));
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    return both_gradients<T>(call, multiply<T>);
}

static bool fits(const assay_tensor &t) {
    return t.shape[0] <= INT32_MAX && t.shape[1] <= INT32_MAX &&
           assay_tensor_row_stride(&t) <= INT32_MAX;
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    bool all = true;
    for (int32_t i = 0; i < call->n_in; ++i)
        all = all && fits(call->in[i]);
    for (int32_t i = 0; i < call->n_out; ++i)
        all = all && fits(call->out[i]);
    if (all)
        return ASSAY_OK;
    const layer l = layer_of(call);
    return assay_fail(ASSAY_ERR_UNSUPPORTED,
                      "linear/v2: cuBLAS takes 32-bit extents and strides; those of m=%lld n=%lld "
                      "k=%lld are more",
                      (long long)l.m, (long long)l.n, (long long)l.k);
}

static assay_status forward(const assay_call *call) {
    return MATMUL_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return MATMUL_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(linear, v2) = {
    .op = "linear",
    .name = "v2",
    .device = ASSAY_DEVICE_NAME,
    .summary = "cuBLAS: gemm",
    .supports = supports,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
    .library = true,
};
