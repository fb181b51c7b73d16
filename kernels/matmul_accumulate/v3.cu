/*
 * matmul_accumulate v3, ours: one kernel for Y, dA and dB, on tensor cores wherever the arithmetic
 * asked for has them: bf16 (m16n8k16), TF32 (m16n8k8) and fp64 (m8n8k4); strict fp32 on CUDA cores.
 *
 * A block computes 128 x 128 elements of the result, its 8 warps 64 x 32 each, kept in registers;
 * where that would be fewer blocks than multiprocessors, 32 x 32, two warps with 32 x 16 each.
 * Slices of 64 bytes of k come to shared memory by cp.async through three stages, in the operand's
 * own order: a transposed operand changes how fragments are read (ldmatrix with .trans, or swapped
 * strides), not how memory is. Copies beyond an edge are filled with zeros. An operand whose rows
 * do not begin at multiples of 16 bytes is loaded element by element into the same slices. At the
 * end an element is multiplied by iters and added to C. A transposed result is computed as the
 * transposed product, so that its rows are written as rows.
 *
 * Against v2: C is read once and Y written once, with no copy between. Bytes: each operand once for
 * 128 (32) rows or columns of the result; blocks run in bands of 8 tile rows, so that neighbours in
 * time find them in L2; C once, the result once. Flops: 2 m n k forward, 4 m n k backward.
 *
 * An element's sum has one order, k ascending in steps of the instruction, in strict fp32 sums of
 * 128 products added up (v3_core.h), whatever the shape, the layout and the alignment; only its
 * last operation differs between forward and backward.
 */
#include "kernels/matmul_accumulate/v3_multiply.h"

template <template <typename> class Core> static assay_status run_forward(const assay_call *call) {
    typedef storage_of<Core> T;
    return multiply<Core, T>(call, product_for_y<T>(tensors_of(call, ASSAY_FORWARD)));
}

template <template <typename> class Core> static assay_status run_backward(const assay_call *call) {
    typedef storage_of<Core> T;
    return gradients<T>(call, multiply<Core, T>);
}

static assay_status forward(const assay_call *call) {
    return MATMUL_CORE_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return MATMUL_CORE_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(matmul_accumulate, v3) = {
    .op = "matmul_accumulate",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "fused: tensor-core tiles, three-stage copies, c added at the end",
    .tiles = tiles,
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
