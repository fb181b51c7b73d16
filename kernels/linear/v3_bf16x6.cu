/*
 * linear v3_bf16x6, ours, for sm_90a alone and strict fp32 alone: six products of bf16 digits on
 * tensor cores, those of matmul_accumulate v3_bf16x6 (digit_multiply.h there) with nothing added.
 *
 * Bytes and flops as there: operands twice and their digits once for each of y, dx and dw.
 */
#include "kernels/linear/products.h"
#include "kernels/matmul_accumulate/digit_multiply.h"

static assay_status forward(const assay_call *call) {
    return digit_multiply(call, product_for_y<float>(call));
}

static assay_status backward(const assay_call *call) {
    return both_gradients<float>(call, digit_multiply);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    if (stage == ASSAY_FORWARD)
        return digit_bytes(product_for_y<float>(call));
    const size_t dx = digit_bytes(product_for_dx<float>(call)),
                 dw = digit_bytes(product_for_dw<float>(call));
    return dx > dw ? dx : dw;
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    return digit_supports("linear/v3_bf16x6", call);
}

ASSAY_VARIANT(linear, v3_bf16x6) = {
    .op = "linear",
    .name = "v3_bf16x6",
    .device = ASSAY_DEVICE_NAME,
    .summary = "v3 in strict fp32 by six products of bf16 digits: TMA, wgmma",
    .tiles = tiles_of_digits,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
