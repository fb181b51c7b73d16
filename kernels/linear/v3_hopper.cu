/*
 * linear v3_hopper, ours, for sm_90a alone and bf16 alone: v3's products by TMA and wgmma, on the
 * tiles of matmul_accumulate v3_hopper (hopper_multiply.h there) with nothing added. Y, dX and dW
 * differ in which operands' lines are along the sum, which descriptors tell wgmma; none is
 * transposed in memory. The bits are v3's.
 *
 * Bytes: each operand once for a tile's rows or columns of the result, found in L2 by neighbours;
 * each result once. Flops: 2 m n k forward, 4 m n k backward.
 */
#include "kernels/linear/products.h"
#include "kernels/matmul_accumulate/hopper_multiply.h"

static assay_status forward(const assay_call *call) {
    return hopper_multiply<false>(call, product_for_y<bf16>(call));
}

static assay_status backward(const assay_call *call) {
    return both_gradients<bf16>(call, hopper_multiply<false>);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    if (stage == ASSAY_FORWARD)
        return hopper_workspace(product_for_y<bf16>(call));
    const size_t dx = hopper_workspace(product_for_dx<bf16>(call)),
                 dw = hopper_workspace(product_for_dw<bf16>(call));
    return dx > dw ? dx : dw;
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    return hopper_supports("linear/v3_hopper", call);
}

ASSAY_VARIANT(linear, v3_hopper) = {
    .op = "linear",
    .name = "v3_hopper",
    .device = ASSAY_DEVICE_NAME,
    .summary = "v3 in bf16 on sm_90a: TMA, wgmma",
    .tiles = tiles_of_hopper,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
