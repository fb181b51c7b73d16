/*
 * A product in strict fp32 by digits: operands split (digits.h), six products of digits
 * (digit_products.h), and v3's chains of multiply-adds for elements whose lines have no digits.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_DIGIT_MULTIPLY_H
#define ASSAY_MATMUL_ACCUMULATE_DIGIT_MULTIPLY_H

#include "kernels/matmul_accumulate/digit_products.h"
#include "kernels/matmul_accumulate/marked_lines.h"

static assay_status digit_multiply(const assay_call *call, const product<float> &asked) {
    const product<float> x = with_rows(asked);
    if (!has_digits(x))
        return multiply_strictly(call, asked);
    const digit_operands of = operands_of(x);
    char *const base = static_cast<char *>(call->workspace);
    size_t used = 0;
    const digit_lines<bf16x6> left = place_digits<bf16x6>(of.left, base, &used);
    const digit_lines<bf16x6> right = place_digits<bf16x6>(of.right, base, &used);
    assay_status status = split_operand(call->stream, of.left, left);
    if (status == ASSAY_OK)
        status = split_operand(call->stream, of.right, right);
    if (status == ASSAY_OK)
        status = launch_by_digits(call->stream, x, left, right, every_element());
    if (status == ASSAY_OK)
        status = multiply_marked_lines(call->stream, x, {left.power, right.power});
    return status;
}

/* Of workspace, for one product. */
static inline size_t digit_bytes(const product<float> &asked) {
    const product<float> x = with_rows(asked);
    const digit_operands of = operands_of(x);
    size_t used = 0;
    if (has_digits(x)) {
        (void)place_digits<bf16x6>(of.left, NULL, &used);
        (void)place_digits<bf16x6>(of.right, NULL, &used);
    }
    return used;
}

#endif
