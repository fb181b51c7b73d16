/*
 * transformer v1, naive: v1 of every operator. What it costs is theirs: products read a row and a
 * column of their operands for each element, and attention keeps all scores of a head.
 */
#include "kernels/transformer/stages.h"

static constexpr composition parts = {
    .name = "v1",
    .embedding = "v1",
    .rmsnorm = "v1",
    .linear = "v1",
    .attention = "v1",
    .swiglu = "v1",
    .cross_entropy = "v1",
    .adamw = "v1",
    .fused = NULL,
};

ASSAY_VARIANT(transformer, v1) = {
    .op = "transformer",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: v1 of every operator",
    .supports = supports<parts>,
    .workspace = workspace<parts>,
    .forward = forward<parts>,
    .backward = backward<parts>,
};
