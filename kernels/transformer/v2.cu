/*
 * transformer v2, the vendor's library where that has the operator: cuBLAS for every product of
 * linear and attention, v3 of the others.
 *
 * Against v1: products go through shared memory and tensor cores. Scores still go through memory.
 */
#include "kernels/transformer/stages.h"

static constexpr composition parts = {
    .name = "v2",
    .embedding = "v3",
    .rmsnorm = "v3",
    .linear = "v2",
    .attention = "v2",
    .swiglu = "v3",
    .cross_entropy = "v3",
    .adamw = "v3",
    .fused = NULL,
};

ASSAY_VARIANT(transformer, v2) = {
    .op = "transformer",
    .name = "v2",
    .device = ASSAY_DEVICE_NAME,
    .summary = "cuBLAS for linear and attention, v3 of the others",
    .supports = supports<parts>,
    .workspace = workspace<parts>,
    .forward = forward<parts>,
    .backward = backward<parts>,
    .library = true,
};
