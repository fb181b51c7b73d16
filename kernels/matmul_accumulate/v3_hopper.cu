/*
 * matmul_accumulate v3_hopper, ours, for sm_90a alone and bf16 alone: v3's product by TMA and
 * wgmma, with the bits of v3 (m64nNk16 sums like m16n8k16, and k ascends in both).
 *
 * A block stays on its multiprocessor and computes tiles of 128 x 256 elements, or 128 x 128 or
 * 128 x 64 where all are done sooner so (hopper_tile.h). Operands come in their own order, a
 * transposed one too: descriptors tell wgmma how lines lie. C comes through the same ring of stages
 * as operands do, is added in fp32, and the result, rounded once, leaves from where C stood. An
 * operand whose lines do not begin at multiples of 16 bytes is copied to workspace with lines that
 * do; where a base address does not, or k is 0, v3's tiles compute instead.
 *
 * Bytes: each operand once for 64 to 256 rows or columns of the result, found in L2 by neighbours;
 * C once, the result once. Flops: 2 m n k forward, 4 m n k backward.
 */
#include "kernels/matmul_accumulate/hopper_multiply.h"

static assay_status forward(const assay_call *call) {
    return hopper_multiply<true>(call, product_for_y<bf16>(tensors_of(call, ASSAY_FORWARD)));
}

static assay_status backward(const assay_call *call) {
    return gradients<bf16>(call, hopper_multiply<true>);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const tensors t = tensors_of(call, stage);
    if (stage == ASSAY_FORWARD)
        return hopper_workspace(product_for_y<bf16>(t));
    const size_t da = hopper_workspace(product_for_da<bf16>(t)),
                 db = hopper_workspace(product_for_db<bf16>(t));
    return da > db ? da : db;
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    return hopper_supports("matmul_accumulate/v3_hopper", call);
}

ASSAY_VARIANT(matmul_accumulate, v3_hopper) = {
    .op = "matmul_accumulate",
    .name = "v3_hopper",
    .device = ASSAY_DEVICE_NAME,
    .summary = "fused, bf16 on sm_90a: TMA, wgmma, c added on the way out",
    .tiles = tiles_of_hopper,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
