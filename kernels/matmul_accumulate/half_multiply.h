/*
 * A product in strict fp32 by three products of fp16 digits (half_products.h), by six of bf16
 * digits where those are not proven to do (half_left_over.h), and by v3's chains of multiply-adds
 * for elements whose lines have no digits.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_HALF_MULTIPLY_H
#define ASSAY_MATMUL_ACCUMULATE_HALF_MULTIPLY_H

#include "kernels/matmul_accumulate/digit_products.h"
#include "kernels/matmul_accumulate/half_left_over.h"
#include "kernels/matmul_accumulate/half_products.h"
#include "kernels/matmul_accumulate/marked_lines.h"

/* Of workspace: the operands in fp16 digits, later in bf16 digits in their place, and what is left
 * over. */
struct half_room {
    digit_lines<f16x3> left, right;
    left_over rest;
};

static inline half_room place_halves(const product<float> &x, char *base, size_t *used) {
    const digit_operands of = operands_of(x);
    half_room room = {};
    room.left = place_digits<f16x3, bf16x6>(of.left, base, used);
    room.right = place_digits<f16x3, bf16x6>(of.right, base, used);
    room.rest = place_left_over(x.m, x.n, base, used);
    return room;
}

static assay_status multiply_proven(void *stream, const product<float> &x, const half_room &room) {
    const digit_operands of = operands_of(x);
    const left_over &rest = room.rest;
    assay_status status = split_operand(stream, of.left, room.left);
    if (status == ASSAY_OK)
        status = split_operand(stream, of.right, room.right);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(
            stream, linear_grid(rest.down * rest.across + rest.down + rest.across, SPLIT_THREADS),
            dim3(SPLIT_THREADS), 0, forget_left_over, rest);
    if (status == ASSAY_OK)
        status = launch_by_digits(stream, x, room.left, room.right,
                                  proven_elements{room.left.small, room.right.small, rest, 0});
    return status;
}

static assay_status multiply_left_over(void *stream, const product<float> &x,
                                       const half_room &room) {
    const digit_operands of = operands_of(x);
    const digit_lines<bf16x6> left = in_place_of<bf16x6>(room.left);
    const digit_lines<bf16x6> right = in_place_of<bf16x6>(room.right);
    assay_status status = split_searched(stream, of.left, left, room.rest.rows);
    if (status == ASSAY_OK)
        status = split_searched(stream, of.right, right, room.rest.columns);
    if (status == ASSAY_OK)
        status = launch_by_digits(stream, x, left, right, left_elements{room.rest, 0});
    return status;
}

static assay_status half_multiply(const assay_call *call, const product<float> &asked) {
    const product<float> x = with_rows(asked);
    if (!has_digits(x))
        return multiply_strictly(call, asked);
    size_t used = 0;
    const half_room room = place_halves(x, static_cast<char *>(call->workspace), &used);
    assay_status status = multiply_proven(call->stream, x, room);
    if (status == ASSAY_OK)
        status = multiply_left_over(call->stream, x, room);
    if (status == ASSAY_OK)
        status = multiply_marked_lines(call->stream, x, {room.left.power, room.right.power});
    return status;
}

/* Of workspace, for one product. */
static inline size_t half_bytes(const product<float> &asked) {
    const product<float> x = with_rows(asked);
    size_t used = 0;
    if (has_digits(x))
        (void)place_halves(x, NULL, &used);
    return used;
}

#endif
