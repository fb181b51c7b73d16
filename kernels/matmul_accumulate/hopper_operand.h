/*
 * An operand as Hopper's copies take it: it begins at a multiple of 16 bytes, and so does each of
 * its lines. One whose lines do not is copied to workspace first, with lines that do.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_HOPPER_OPERAND_H
#define ASSAY_MATMUL_ACCUMULATE_HOPPER_OPERAND_H

#include "kernels/common/hopper.h"
#include "kernels/matmul_accumulate/product.h"

typedef __nv_bfloat16 bf16;

enum { PACKED = 8 /* elements of 16 bytes */, LINE = 64, WORKSPACE_ALIGNMENT = 256 };

/* Most elements along an axis: coordinates of a box that begins in the last tile fit 32 bits. */
enum { MOST_EXTENT = INT32_MAX - 1024 };

/* The lines of a matrix in memory: rows, or, transposed, columns. Maps and copies count words of 16
 * bits, of which a bf16 is one. */
template <typename T>
static inline tensor_lines lines_of(const matrix<const T> &x, int64_t rows, int64_t columns) {
    constexpr int64_t words = sizeof(T) / sizeof(uint16_t);
    return {x.data, (x.transposed ? rows : columns) * words, x.transposed ? columns : rows,
            x.stride * words, 0};
}

/* Both, and whether their lines in memory are along k. */
struct hopper_operands {
    tensor_lines left, right;
    bool left_k, right_k;
};

static inline bool has_packed_stride(const tensor_lines &x) {
    return x.stride % PACKED == 0 && x.stride < INT64_C(1) << 38;
}

/* That of a copy: whole lines of L2, 128 bytes. Boxes of lines that begin elsewhere take more of
 * its sectors: n = 4104 with a stride of 4104 takes half as long again as with one of 4160. */
static inline int64_t packed_stride(int64_t length) {
    return ceil_div(length, LINE) * LINE;
}

static inline bool can_be_mapped(const tensor_lines &x) {
    return has_packed_stride(x) && (uintptr_t)x.data % 16 == 0;
}

/* A store writes whole pieces of 16 bytes, those behind the last element of a line, too. */
static inline bool can_be_stored(const tensor_lines &x) {
    return can_be_mapped(x) && x.length % PACKED == 0;
}

/* Bytes of workspace for a copy, if its stride asks for one; 0: it does not. */
static inline size_t copy_bytes(const tensor_lines &x) {
    const size_t bytes = (size_t)(x.lines * packed_stride(x.length)) * sizeof(bf16);
    return has_packed_stride(x)
               ? 0
               : (bytes + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
}

/* A thread writes eight neighbours. What stands between lines is of no use to anyone. */
static __global__ void pack_lines(tensor_lines from, bf16 *to, int64_t stride) {
    const int64_t packs = stride / PACKED;
    for (int64_t e = grid_thread(); e < from.lines * packs; e += grid_threads()) {
        const int64_t line = e / packs, first = e % packs * PACKED;
        const bf16 *x = static_cast<const bf16 *>(from.data) + line * from.stride + first;
        for (int i = 0; i < PACKED; ++i)
            if (first + i < from.length)
                to[line * stride + first + i] = x[i];
    }
}

static inline assay_status launch_pack(void *stream, const tensor_lines &from, void *to,
                                       int64_t stride) {
    return ASSAY_LAUNCH(stream, linear_grid(from.lines * (stride / PACKED), COPY_THREADS),
                        dim3(COPY_THREADS), 0, pack_lines, from, static_cast<bf16 *>(to), stride);
}

/* Makes *x fit for copies by way of workspace, of which *used bytes are taken. */
static inline assay_status pack_operand(const assay_call *call, tensor_lines *x, size_t *used) {
    const size_t bytes = copy_bytes(*x);
    if (bytes == 0)
        return ASSAY_OK;
    void *const to = static_cast<char *>(call->workspace) + *used;
    const tensor_lines from = *x;
    x->data = to;
    x->stride = packed_stride(x->length);
    *used += bytes;
    return launch_pack(call->stream, from, to, x->stride);
}

#endif
