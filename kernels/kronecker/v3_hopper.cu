/*
 * kronecker v3_hopper, for sm_90a alone: v3_tensor, and forward of two factors of 128 x 128 in bf16
 * by wgmma, whose operands lie in shared memory (hopper_rows.h).
 */
#include "kernels/common/variants.h"
#include "kernels/kronecker/hopper_rows.h"

static const assay_variant *v3_tensor() {
    return variant_of("kronecker", "v3_tensor");
}

/* Whether forward goes by rows. */
static bool takes_rows(const chain &c) {
    return c.count == 2 && c.modes == 2 && c.stages[0].p == ROW_EXTENT &&
           c.stages[0].q == ROW_EXTENT && c.stages[1].p == ROW_EXTENT &&
           c.stages[1].q == ROW_EXTENT;
}

template <typename T> static bool takes_row_packs(const state<T> &s) {
    return (uintptr_t)s.data % PACK_BYTES == 0 && s.stride % pack<bf16>::size == 0;
}

static assay_status forward(const assay_call *call) {
    const chain c = chain_of(call);
    if (call->params->dtype != ASSAY_BF16 || !takes_rows(c))
        return v3_tensor()->forward(call);
    hopper_rows p = {};
    p.in = state_of<const bf16>(x_of(call));
    p.out = state_of<bf16>(&call->out[0]);
    p.w = factor_of<const bf16>(factor_tensor(call, c.stages[1]));
    p.v = factor_of<const bf16>(factor_tensor(call, c.stages[0]));
    p.rows = c.rows;
    p.in_packs = takes_row_packs(p.in);
    p.out_packs = takes_row_packs(p.out);
    return ASSAY_LAUNCH(call->stream, whole_grid(clamp(c.rows, 0, ASSAY_MULTIPROCESSORS)),
                        dim3(ROW_THREADS), ROW_SHARED, forward_rows, p);
}

static assay_status backward(const assay_call *call) {
    return v3_tensor()->backward(call);
}

static size_t workspace(assay_stage direction, const assay_call *call) {
    return v3_tensor()->workspace(direction, call);
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    const assay_status status = v3_tensor()->supports(stage, call);
    return status == ASSAY_OK ? require_hopper("kronecker/v3_hopper") : status;
}

static const int32_t tiles[] = {ROW_EXTENT, 0};

ASSAY_VARIANT(kronecker, v3_hopper) = {
    .op = "kronecker",
    .name = "v3_hopper",
    .device = ASSAY_DEVICE_NAME,
    .summary = "v3_tensor, two factors of 128 in bf16 forward by wgmma",
    .tiles = tiles,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
