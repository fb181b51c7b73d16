/*
 * attention v3_bf16x3, ours, for sm_90a alone and math=tf32 alone: v3_bf16x6's kernels with two
 * bf16 digits in place of three, three products in place of six, and with one product of f16
 * numbers for scores.
 *
 * Two digits have 16 bits, TF32 has 11. f16 has 11, too: q and k times 256 are rounded to it, to
 * nearest; heads with |q|² + |k|² beyond 2^15, where that would not do, are v3's strict fp32, as
 * are those with numbers that have no digits. docs/numerics.md tells why all this is within TF32's
 * bounds. wgmma takes TF32 from shared memory only with lines along the sum; 16-bit numbers it
 * takes either way. So nothing is transposed, and P·v, Pᵀ·do, dSᵀ·q and dS·k cost 1.5 products of
 * TF32, scores a half.
 *
 * Sums stay in the tensor cores from one tile to the next. Backward, both products that need
 * nothing but inputs, q·k and do·v, begin together. Head dims up to 32 and from 129 on, and cases
 * of few scores, are v3's in TF32.
 *
 * Flops, as products of 16 bits: (1 + 3) / 2 times 4 sq sk d a head forward, (1 + 4 · 3) / 5 times
 * 10 backward: at 989 TFLOP/s, b = 8, s = 16384, d = 128 takes 2.2 and 7.2 ms. Bytes as v3_bf16x6,
 * with 2 for an element of q and k for scores, 4 for the digits: dS, 8.6 GB, is written once and
 * read once, which alone takes 5 ms of memory's time.
 *
 * H100, b = 8, h = 1, cold, no mask, in microseconds, v3 in TF32, this: forward s = 1024, d = 64
 * 64, 40; d = 128 95, 60; s = 4096 303, 171; 694, 259; s = 16384 4,536, 2,149; 10,572, 3,286.
 * Backward s = 1024 150, 98; 268, 135; s = 4096 838, 756; 1,935, 1,080; s = 16384 12,648, 10,504;
 * 29,584, 15,443. At s = 16384 q·k by three products of digits made forward 4,178 and 2,550. Blocks
 * of 128 keys, 64 a warpgroup, made backward no faster at d = 128, and slower at d = 64; three
 * warpgroups made forward slower at d = 64.
 */
#include "kernels/attention/digit_launch.h"

struct tf32_plans {
    typedef tf32_digits Digits;
    static constexpr int64_t FEWEST_SCORES = 8192;
    typedef digit_plan<Digits, 64, 128, 11> narrow;
    typedef digit_plan<Digits, 128, 128, 6> middle;
    typedef digit_keys_plan<Digits, 64, 64, 22> narrow_keys;
    typedef digit_keys_plan<Digits, 128, 64, 10> middle_keys;
    typedef digit_queries_plan<Digits, 64, 128, 12> narrow_queries;
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
