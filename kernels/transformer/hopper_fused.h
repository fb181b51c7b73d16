/* What v3_hopper does inside of products. */
#ifndef ASSAY_TRANSFORMER_HOPPER_FUSED_H
#define ASSAY_TRANSFORMER_HOPPER_FUSED_H

#include "kernels/transformer/hopper_embed.h"
#include "kernels/transformer/hopper_gates.h"
#include "kernels/transformer/hopper_grads.h"

static constexpr fusions hopper_fused = {
    .embed = embed,
    .rows_fit = rows_fit,
    .heads_fit = heads_fit,
    .gates_forward = gates_forward,
    .gates_backward = gates_backward,
    .forward = placed_forward,
    .dx = placed_dx,
    .grad_fits = grad_fits,
    .grad = grad_of_weight,
    .dw = placed_dw,
};

#endif
