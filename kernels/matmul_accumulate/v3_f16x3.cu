/*
 * matmul_accumulate v3_f16x3, ours, for sm_90a alone and strict fp32 alone: three products of fp16
 * digits on tensor cores where they are proven to be within the bounds of fp32, v3_bf16x6's six of
 * bf16 digits elsewhere.
 *
 * The passes are v3_bf16x6's with two digits (half_digits.h) in place of three, and with a second
 * sum of small products (half_products.h). Each element's sum tells whether it is proven; where it
 * is not, because numbers far below the largest of their line may count, a bit in workspace is set
 * (half_left_over.h). Three more launches, which find nothing to do for ordinary data, split into
 * bf16 digits those lines that have such elements in their tile, compute tiles that have some by
 * six products, and marked lines by v3's chains. An element's bits depend on its own row, its own
 * column and k alone.
 *
 * H100, cold, forward: 4096 takes 1.00 ms, of which 0.74 are three products, 0.19 the search and
 * the split, and 0.04 launches that find nothing to do; v3_bf16x6 1.37, cuBLAS 2.73. 8192 takes
 * 6.8, 10.8 and 21.4. 1024, where the launches count, takes 0.116, v3_bf16x6 0.109. Where a tenth
 * or more of the numbers are small, both products are computed: 4096 with a spread of 80 binades
 * takes 2.16 ms, v3_bf16x6 1.39.
 *
 * Bytes: 8 an element of each operand read, in two passes, 4 written; those 4 once for 128 rows or
 * columns of the result; C once, the result once. Flops: 6 m n k forward on tensor cores, 12 m n k
 * backward.
 */
#include "kernels/matmul_accumulate/half_multiply.h"

static assay_status forward(const assay_call *call) {
    return half_multiply(call, product_for_y<float>(tensors_of(call, ASSAY_FORWARD)));
}

static assay_status backward(const assay_call *call) {
    return gradients<float>(call, half_multiply);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const tensors t = tensors_of(call, stage);
    if (stage == ASSAY_FORWARD)
        return half_bytes(product_for_y<float>(t));
    const size_t da = half_bytes(product_for_da<float>(t)),
                 db = half_bytes(product_for_db<float>(t));
    return da > db ? da : db;
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    return digit_supports("matmul_accumulate/v3_f16x3", call);
}

ASSAY_VARIANT(matmul_accumulate, v3_f16x3) = {
    .op = "matmul_accumulate",
    .name = "v3_f16x3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "strict fp32 by three products of fp16 digits where they hold: wgmma",
    .tiles = tiles_of_digits,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
