/*
 * matmul_accumulate v3, ours: one kernel for Y, dA and dB, on tensor cores wherever the arithmetic
 * asked for has them: bf16 and f16 (m16n8k16), TF32 (m16n8k8) and fp64 (m8n8k4); strict fp32 on
 * CUDA cores.
 *
 * Tensor cores. A block computes 128 x 128 elements of the result, its 8 warps 64 x 32 each, kept
 * in registers; where that would be fewer blocks than multiprocessors, 32 x 32, two warps with
 * 32 x 16 each. Slices of 64 bytes of k come to shared memory by cp.async through three stages, in
 * the operand's own order: a transposed operand changes how fragments are read (ldmatrix with
 * .trans, or swapped strides), not how memory is. Copies beyond an edge are filled with zeros. An
 * operand whose rows do not begin at multiples of 16 bytes is loaded element by element into the
 * same slices. At the end an element is multiplied by iters and added to C. A transposed result is
 * computed as the transposed product, so that its rows are written as rows.
 *
 * Strict fp32. Tiles of 64 x 128, 96 x 96, 32 x 64 or 16 x 32 elements, whichever are done soonest.
 * Teams of a block's warps multiply runs of 128 k side by side, and ask for their first slices at
 * once (v3_fma_tile.h). Against tiles of 128 x 128 and 32 x 32, whose blocks went through k in one
 * order, 16 k at a time: at m = n = k = 64 memory is waited for once, not three times, and more
 * warps share the work. Then teams got barriers of their own, and where operands allow it their
 * copies places between products (v3_fma_copies.h). H100, cold, microseconds: the first tiles,
 * teams, teams by themselves, cuBLAS with C added:
 *
 *     512    41.4  15.5  14.4  20.7        1536         221   190   203
 *     768          46.9  43.1  42.8        2048   584   463   397   363
 *     1024   127   64.2  56.4  70.9        4096  4434  3634  3028  2741
 *
 * Of teams before that 64 took 5.1, cuBLAS 9.6; 128 5.8 and 12.1; 256 7.2 and 14.6; 1025 86 and 80.
 *
 * Against v2: C is read once and Y written once, with no copy between. Bytes: each operand once for
 * a tile's rows or columns of the result; blocks run in bands of 1024 rows, so that neighbours in
 * time find them in L2; C once, the result once. Flops: 2 m n k forward, 4 m n k backward.
 *
 * An element's sum has one order, k ascending in steps of the instruction, in strict fp32 sums of
 * 128 products added up (v3_fma_tile.h), whatever the shape, the layout and the alignment; only its
 * last operation differs between forward and backward.
 */
#include "kernels/matmul_accumulate/v3_dispatch.h"

template <typename T, auto product_by> static assay_status run_forward(const assay_call *call) {
    return product_by(call, product_for_y<T>(tensors_of(call, ASSAY_FORWARD)));
}

template <typename T, auto product_by> static assay_status run_backward(const assay_call *call) {
    return gradients<T>(call, product_by);
}

static assay_status forward(const assay_call *call) {
    return MATMUL_V3_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return MATMUL_V3_DISPATCH(run_backward, call);
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
