/*
 * An operand as Hopper's copies take it: it begins at a multiple of 16 bytes, and so does each of
 * its lines. One whose lines do not is copied to workspace first, with lines that do, and that
 * begin where L2's do.
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
 * bits, of which a bf16 or an f16 is one. */
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

/* Whole lines of L2, 128 bytes. A box's lines that begin elsewhere lie in two each. */
static inline bool has_whole_stride(const tensor_lines &x) {
    return x.stride % LINE == 0;
}

/* That of a copy. */
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

/* Eight words of 16 bits. */
struct alignas(16) packed_words {
    uint16_t word[PACKED];
};

enum { COPY_BATCH = 8 };

/* Copies lines in units that they consist of, each by `lanes` threads, neighbours by neighbours.
 * What stands between the copied lines is of no use to anyone. */
template <typename Unit>
static __global__ void pack_lines(tensor_lines from, bf16 *to, int64_t stride, int lanes) {
    const int64_t units = from.length / (int)(sizeof(Unit) / sizeof(bf16));
    const int at_once = COPY_THREADS / lanes, lane = (int)threadIdx.x % lanes;
    for (int64_t line = (int64_t)blockIdx.x * at_once + threadIdx.x / lanes; line < from.lines;
         line += (int64_t)gridDim.x * at_once) {
        const Unit *x = reinterpret_cast<const Unit *>(static_cast<const bf16 *>(from.data) +
                                                       line * from.stride);
        Unit *const y = reinterpret_cast<Unit *>(to + line * stride);
        for (int64_t first = lane; first < units; first += COPY_BATCH * lanes) {
            Unit held[COPY_BATCH];
#pragma unroll
            for (int b = 0; b < COPY_BATCH; ++b)
                if (first + b * lanes < units)
                    held[b] = x[first + b * lanes];
#pragma unroll
            for (int b = 0; b < COPY_BATCH; ++b)
                if (first + b * lanes < units)
                    y[first + b * lanes] = held[b];
        }
    }
}

template <typename Unit> static inline bool consists_of(const tensor_lines &x) {
    constexpr int words = sizeof(Unit) / sizeof(bf16);
    return (uintptr_t)x.data % sizeof(Unit) == 0 && x.stride % words == 0 && x.length % words == 0;
}

template <typename Unit>
static assay_status launch_pack_in(void *stream, const tensor_lines &from, void *to,
                                   int64_t stride) {
    int lanes = COPY_THREADS;
    while (lanes / 2 * (int64_t)(sizeof(Unit) / sizeof(bf16)) >= from.length && lanes > 1)
        lanes /= 2;
    return ASSAY_LAUNCH(stream, linear_grid(from.lines * lanes, COPY_THREADS), dim3(COPY_THREADS),
                        0, (pack_lines<Unit>), from, static_cast<bf16 *>(to), stride, lanes);
}

static inline assay_status launch_pack(void *stream, const tensor_lines &from, void *to,
                                       int64_t stride) {
    return consists_of<packed_words>(from) ? launch_pack_in<packed_words>(stream, from, to, stride)
           : consists_of<uint32_t>(from)   ? launch_pack_in<uint32_t>(stream, from, to, stride)
                                           : launch_pack_in<uint16_t>(stream, from, to, stride);
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
