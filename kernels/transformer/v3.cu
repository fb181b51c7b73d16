/*
 * transformer v3, ours: v3 of every operator.
 *
 * Against v2: no library, the same bits on every device, and no score in memory.
 */
#include "kernels/transformer/stages.h"

static constexpr composition parts = {
    .name = "v3",
    .embedding = "v3",
    .rmsnorm = "v3",
    .linear = "v3",
    .attention = "v3",
    .swiglu = "v3",
    .cross_entropy = "v3",
    .adamw = "v3",
    .fused = NULL,
};

ASSAY_VARIANT(transformer, v3) = {
    .op = "transformer",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "ours: v3 of every operator",
    .supports = supports<parts>,
    .workspace = workspace<parts>,
    .forward = forward<parts>,
    .backward = backward<parts>,
};
