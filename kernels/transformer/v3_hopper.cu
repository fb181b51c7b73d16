/*
 * transformer v3_hopper, ours, for sm_90a alone and bf16 alone: v3 with products and attention by
 * TMA and wgmma.
 *
 * Against v3: linear and attention v3_hopper, and inside of the products swiglu (hopper_gates.h),
 * the heads' layout and rope (hopper_heads.h), gradients in fp32 (hopper_grads.h) and the rounding
 * of parameters that products to come read (ahead.h), where sizes allow it: 64 columns a head and a
 * multiple of 128 tokens for the heads, whole packs for the others. The embedding reads its rows
 * from the parameter (hopper_embed.h). A case that linear or attention declines, it declines by
 * that one's line.
 *
 * Forward at b = 4, t = 128, one CUDA graph, H100, ms, of small, medium, large and xl: parameters
 * rounded by kernels, before the layers, 0.95, 2.52, 5.05 and 9.48; by products' spare blocks 0.80,
 * 2.19, 4.44 and 8.26; torch.compile 0.98, 2.49, 5.13 and 9.30.
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
