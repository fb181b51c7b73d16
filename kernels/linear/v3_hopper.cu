/*
 * linear v3_hopper, ours, for sm_90a alone, bf16, f16, TF32 and fp64: v3's products by TMA and
 * wgmma, or mma.sync in fp64, on the tiles of matmul_accumulate v3_hopper (hopper_multiply.h,
 * hopper_tf32.h and hopper_f64.h there) with nothing added. Y, dX and dW differ in which operands'
 * lines are along the sum, which descriptors tell wgmma, and addresses fp64's loads; in TF32, of
 * dW's operands one is transposed in workspace. The bits are v3's, but for TF32, which TMA rounds
 * and v3 cuts.
 *
 * Bytes: each operand once for a tile's rows or columns of the result, found in L2 by neighbours;
 * each result once. Flops: 2 m n k forward, 4 m n k backward.
 */
#include "kernels/linear/products.h"
#include "kernels/matmul_accumulate/hopper_f64.h"
#include "kernels/matmul_accumulate/hopper_multiply.h"
#include "kernels/matmul_accumulate/hopper_tf32.h"

/* Calls `function<T, multiply>(call)` with the call's type and the product in it. */
#define HOPPER_DISPATCH(function, call)                                                             \
    ((call)->params->dtype == ASSAY_F64    ? function<double, f64_multiply<false>>(call)            \
     : (call)->params->dtype == ASSAY_BF16 ? function<bf16, hopper_multiply<bf16, false>>(call)     \
     : (call)->params->dtype == ASSAY_F16  ? function<__half, hopper_multiply<__half, false>>(call) \
                                           : function<float, tf32_multiply<false>>(call))

template <typename T, auto product_by> static assay_status run_forward(const assay_call *call) {
    return product_by(call, product_for_y<T>(call));
}

template <typename T, auto product_by> static assay_status run_backward(const assay_call *call) {
    return both_gradients<T>(call, product_by);
}

static assay_status forward(const assay_call *call) {
    return HOPPER_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return HOPPER_DISPATCH(run_backward, call);
}

template <typename T> static size_t workspace_of(assay_stage stage, const assay_call *call) {
    if (stage == ASSAY_FORWARD)
        return hopper_workspace(product_for_y<T>(call));
    const size_t dx = hopper_workspace(product_for_dx<T>(call)),
                 dw = hopper_workspace(product_for_dw<T>(call));
    return dx > dw ? dx : dw;
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    return call->params->dtype == ASSAY_F64    ? workspace_of<double>(stage, call)
           : call->params->dtype == ASSAY_BF16 ? workspace_of<bf16>(stage, call)
           : call->params->dtype == ASSAY_F16  ? workspace_of<__half>(stage, call)
                                               : workspace_of<float>(stage, call);
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    return hopper_supports("linear/v3_hopper", call);
}

ASSAY_VARIANT(linear, v3_hopper) = {
    .op = "linear",
    .name = "v3_hopper",
    .device = ASSAY_DEVICE_NAME,
    .summary = "v3 in bf16, f16, tf32 and f64 on sm_90a: TMA, wgmma",
    .tiles = tiles_of_hopper,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
