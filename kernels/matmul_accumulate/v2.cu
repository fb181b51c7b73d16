/*
 * matmul_accumulate v2, the vendor's library: one gemm each for Y, dA and dB, with alpha = iters.
 * cuBLAS is column-major, so it sees each matrix as its transpose and computes (A B)ᵀ = Bᵀ Aᵀ;
 * transposed operands and padded rows cost nothing.
 *
 * Y in fp32 and fp64 is cuBLASLt's D = alpha A B + C with D apart from C (v2_fused.h). Where that
 * has no algorithm, and in bf16 and f16, Y starts as a copy of C which gemm adds to.
 *
 * fp32 and fp64 are pedantic. bf16, f16 and math=tf32 use tensor cores with fp32 sums, also where
 * cuBLAS splits k. 16-bit results are fp32 sums in the workspace until a last kernel rounds them:
 * asked for a bf16 result with beta = 1, cuBLAS 13.0 rounds the product to bf16 before it adds C in
 * some shapes (64 x 64 x 64 is one), which is not one rounding but two.
 *
 * Against v1: operands go through shared memory, iters is free. Bytes: A, B and C are read and Y is
 * written once, if cuBLAS finds its operands in cache; that saves the 2 m n elements which a copy
 * of C costs, written and read again. 16-bit types pay them, in fp32, and as many again for the
 * last kernel. Flops: 2 m n k forward, 4 m n k backward.
 */
#include "kernels/matmul_accumulate/v2_fused.h"

template <typename T> static constexpr bool stored_as_summed = sizeof(T) == sizeof(acc_t<T>);

/* Where the sums of `p` are made: in its result if that is of their type, else in the workspace. */
template <typename T>
static matrix<acc_t<T>> sums_for(const assay_call *call, const product<T> &p) {
    if constexpr (stored_as_summed<T>)
        return p.out;
    else
        return {static_cast<acc_t<T> *>(call->workspace), p.n, false};
}

/* Onto a copy of what is added. */
template <typename T>
static assay_status multiply_onto_copy(const assay_call *call, const product<T> &p) {
    const bool adds = p.added.data != NULL;
    const matrix<acc_t<T>> sums = sums_for<T>(call, p);
    assay_status status = ASSAY_OK;
    if (adds)
        status = launch_copy(call->stream, p.added, sums, p.m, p.n);
    cublasHandle_t blas;
    if (status == ASSAY_OK)
        status = assay_blas_handle(call->stream, &blas);
    if (status == ASSAY_OK)
        status = gemm(blas, call->params->math, shape_of(p, sums), (acc_t<T>)p.times, p.right.data,
                      p.left.data, (acc_t<T>)(adds ? 1 : 0), sums.data);
    if (status != ASSAY_OK || stored_as_summed<T>)
        return status;
    const matrix<const acc_t<T>> made = {sums.data, sums.stride, sums.transposed};
    return launch_copy(call->stream, made, p.out, p.m, p.n);
}

/* `p` adds, and its sums are of its result's type. */
template <typename T> static fused<T> fused_of(const product<T> &p) {
    return {shape_of(p, p.out), (T)p.times,       p.right.data, p.left.data,
            p.added.data,       leading(p.added), p.out.data};
}

template <typename T>
static assay_status multiply(const assay_call *call, const product<T> &asked) {
    const product<T> p = with_rows(asked);
    if (p.m == 0 || p.n == 0)
        return ASSAY_OK;
    if (p.k == 0)
        return launch_copy(call->stream, p.added, p.out, p.m, p.n);
    if constexpr (stored_as_summed<T>) {
        bool done = false;
        const assay_status status = p.added.data ? add_fused(call, fused_of(p), &done) : ASSAY_OK;
        if (status != ASSAY_OK || done)
            return status;
    }
    return multiply_onto_copy(call, p);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    return multiply(call, product_for_y<T>(tensors_of(call, ASSAY_FORWARD)));
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    return gradients<T>(call, multiply<T>);
}

/* 16-bit types: the largest result of the stage in fp32. */
static size_t workspace(assay_stage stage, const assay_call *call) {
    size_t most = 0;
    for (int32_t i = 0; i < call->n_out; ++i) {
        const size_t elements = (size_t)assay_tensor_count(&call->out[i]);
        most = elements > most ? elements : most;
    }
    if (assay_dtype_size(call->params->dtype) < sizeof(float))
        return most * sizeof(float);
    return stage == ASSAY_FORWARD ? fused_workspace(most * assay_dtype_size(call->params->dtype))
                                  : 0;
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    const tensors t = tensors_of(call, stage);
    const assay_tensor *const all[] = {t.a, t.b, t.c, t.y, t.dy, t.da, t.db};
    bool fits = t.m <= INT32_MAX && t.n <= INT32_MAX && t.k <= INT32_MAX;
    for (const assay_tensor *x : all)
        fits = fits && (!x || assay_tensor_row_stride(x) <= INT32_MAX);
    if (!fits)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "matmul_accumulate/v2: cuBLAS takes 32-bit extents and strides; those of "
                          "m=%lld n=%lld k=%lld are more",
                          (long long)t.m, (long long)t.n, (long long)t.k);
    return ASSAY_OK;
}

static assay_status forward(const assay_call *call) {
    return MATMUL_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return MATMUL_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(matmul_accumulate, v2) = {
    .op = "matmul_accumulate",
    .name = "v2",
    .device = ASSAY_DEVICE_NAME,
    .summary = "cuBLAS: gemm that adds c where it lies",
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
    .library = true,
};
