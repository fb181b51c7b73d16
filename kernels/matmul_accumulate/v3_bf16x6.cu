/*
 * matmul_accumulate v3_bf16x6, ours, for sm_90a alone and strict fp32 alone: six products of bf16
 * digits on tensor cores, as accurate as a chain of fp32 multiply-adds, and faster.
 *
 * Three passes. Each line of an operand, a row of the left or a column of the right one, is
 * searched for its largest and its smallest number; its numbers are split into three bf16 digits,
 * in workspace, k by k whatever the order in memory was (digits.h says how, and that nothing is
 * lost); then a persistent kernel adds up six products of digits (digit_products.h says which, and
 * in which order). Elements of marked lines, whose numbers have no such digits, are computed by
 * v3's chains of multiply-adds, and so is all of a product of less than FEWEST_K terms: there
 * docs/numerics.md does not prove the six products within the bound of fp32. An element's bits
 * depend on its own row, its own column and k alone.
 *
 * H100, cold, forward: 4096 takes 1.35 ms, cuBLAS 2.70 and v3 4.47; 8192 takes 9.8, cuBLAS 21.5.
 *
 * Bytes: 8 an element of each operand read, in two passes, 6 written; those 6 once for 128 rows or
 * columns of the result, found in L2 by neighbours; C once, the result once. Flops: 12 m n k
 * forward on tensor cores, 24 m n k backward.
 */
#include "kernels/matmul_accumulate/digit_multiply.h"

static assay_status forward(const assay_call *call) {
    return digit_multiply(call, product_for_y<float>(tensors_of(call, ASSAY_FORWARD)));
}

static assay_status backward(const assay_call *call) {
    return gradients<float>(call, digit_multiply);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const tensors t = tensors_of(call, stage);
    if (stage == ASSAY_FORWARD)
        return digit_bytes(product_for_y<float>(t));
    const size_t da = digit_bytes(product_for_da<float>(t)),
                 db = digit_bytes(product_for_db<float>(t));
    return da > db ? da : db;
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    return digit_supports("matmul_accumulate/v3_bf16x6", call);
}

ASSAY_VARIANT(matmul_accumulate, v3_bf16x6) = {
    .op = "matmul_accumulate",
    .name = "v3_bf16x6",
    .device = ASSAY_DEVICE_NAME,
    .summary = "strict fp32 by six products of bf16 digits: TMA, wgmma",
    .tiles = tiles_of_digits,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
