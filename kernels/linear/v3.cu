/*
 * linear v3, ours: the tiles of matmul_accumulate v3 (v3_dispatch.h there) with nothing added: Y,
 * dX and dW on tensor cores wherever the arithmetic asked for has them: bf16 and f16 (m16n8k16),
 * TF32 (m16n8k8) and fp64 (m8n8k4); strict fp32 on CUDA cores. Transposes change how fragments are
 * read from shared memory, not how operands are fetched.
 *
 * Against v2: no library. Bytes: each operand once for a tile's rows or columns of the result, 16
 * to 128, found in L2 by neighbours; each result once. Flops: 2 m n k forward, 4 m n k backward.
 *
 * An element's sum has one order, k ascending in steps of the instruction, in strict fp32 sums of
 * 128 products added up (v3_fma_tile.h), whatever the shape, the layout and the alignment.
 */
#include "kernels/linear/products.h"
#include "kernels/matmul_accumulate/v3_dispatch.h"

template <typename T, auto product_by> static assay_status run_forward(const assay_call *call) {
    return product_by(call, product_for_y<T>(call));
}

template <typename T, auto product_by> static assay_status run_backward(const assay_call *call) {
    return both_gradients<T>(call, product_by);
}

static assay_status forward(const assay_call *call) {
    return MATMUL_V3_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return MATMUL_V3_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(linear, v3) = {
    .op = "linear",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "tensor-core tiles, three-stage copies",
    .tiles = tiles,
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
