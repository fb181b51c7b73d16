/* attention v3_bf16x3 */
#include "kernels/attention/digit_launch.h"

struct tf32_plans {
    typedef tf32_digits Digits;
    static constexpr int64_t FEWEST_SCORES = 8192;
    typedef digit_plan<Digits, 64, 128, 11> narrow;
    typedef digit_plan<Digits, 128, 128, 6> middle;
    typedef digit_keys_plan<Digits, 64, 64, 20, 2> narrow_keys;
    typedef digit_keys_plan<Digits, 128, 32, 16, 2> middle_keys;
    typedef digit_queries_plan<Digits, 64, 64, 24> narrow_queries;
    typedef digit_queries_plan<Digits, 128, 64, 12> middle_queries;
};

static assay_status forward(const assay_call *call) {
    return takes_digits<tf32_plans>(sizes_of(call->params))
               ? forward_by_digits<tf32_plans>(call)
               : DISPATCH_DEPTH(run_forward, tensor_core<float>, call);
}

static assay_status backward(const assay_call *call) {
    return takes_digits<tf32_plans>(sizes_of(call->params))
               ? backward_by_digits<tf32_plans>(call)
               : DISPATCH_DEPTH(run_backward, tensor_core<float>, call);
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    const assay_params *const params = call->params;
    if (params->dtype != ASSAY_F32 || params->math != ASSAY_TF32)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "attention/v3_bf16x3: f32 with math=tf32 alone; v3 takes all types");
    return require_hopper("attention/v3_bf16x3");
}

ASSAY_VARIANT(attention, v3_bf16x3) = {
    .op = "attention",
    .name = "v3_bf16x3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "fp32 as TF32 by three products of bf16 digits: TMA, wgmma",
    .supports = supports,
    .workspace = digit_workspace<tf32_plans>,
    .forward = forward,
    .backward = backward,
};
