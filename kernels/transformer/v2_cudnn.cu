/*
 * transformer v2_cudnn, v2 with the vendor's fused attention: for bf16, in the shapes that cuDNN
 * has (attention v2_cudnn): heads of a multiple of 8 dimensions; backward and training with a
 * multiple of 128 tokens.
 *
 * Against v2: no scores in memory, 4 b heads t² bytes and more for each of them and layer.
 */
#include "device/dnn.h"

#if ASSAY_DNN_GRAPH

#include "kernels/transformer/stages.h"

static constexpr composition parts = {
    .name = "v2_cudnn",
    .embedding = "v3",
    .rmsnorm = "v3",
    .linear = "v2",
    .attention = "v2_cudnn",
    .swiglu = "v3",
    .cross_entropy = "v3",
    .adamw = "v3",
    .fused = NULL,
};

#endif

/* The members are never called where the variant says what it lacks. */
ASSAY_VARIANT(transformer, v2_cudnn) = {
    .op = "transformer",
    .name = "v2_cudnn",
    .device = ASSAY_DEVICE_NAME,
    .summary = "cuBLAS for linear, cuDNN's fused attention, v3 of the others; bf16",
    .lacks = ASSAY_DNN_GRAPH_LACKS,
#if ASSAY_DNN_GRAPH
    .supports = supports<parts>,
    .workspace = workspace<parts>,
    .forward = forward<parts>,
    .backward = backward<parts>,
#endif
    .library = true,
    .order = ASSAY_ORDER_ANY, /* attention's */
    .plans = true,
};
