/*
 * transformer v3_hopper, ours, for sm_90a alone and bf16 alone: v3 with products and attention by
 * TMA and wgmma.
 *
 * Against v3: linear and attention v3_hopper, and inside of the products swiglu (hopper_gates.h),
 * the heads' layout and rope (hopper_heads.h), gradients in fp32 (hopper_grads.h) and the copy of
 * the next layer's parameters (hopper_frame.h), where sizes allow it: 64 columns a head and a
 * multiple of 128 tokens for the heads, whole packs for the others. A case that linear or attention
 * declines, it declines by that one's line.
 */
#include "kernels/transformer/hopper_fused.h"
#include "kernels/transformer/stages.h"

static constexpr composition parts = {
    .name = "v3_hopper",
    .embedding = "v3",
    .rmsnorm = "v3",
    .linear = "v3_hopper",
    .attention = "v3_hopper",
    .swiglu = "v3",
    .cross_entropy = "v3",
    .adamw = "v3",
    .fused = &hopper_fused,
};

ASSAY_VARIANT(transformer, v3_hopper) = {
    .op = "transformer",
    .name = "v3_hopper",
    .device = ASSAY_DEVICE_NAME,
    .summary = "v3_hopper of linear and attention, v3 of the others; bf16 on sm_90a",
    .supports = supports<parts>,
    .workspace = workspace<parts>,
    .forward = forward<parts>,
    .backward = backward<parts>,
};
