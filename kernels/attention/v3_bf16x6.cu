/*
 * attention v3_bf16x6, ours, for sm_90a alone and strict fp32 alone: six products of bf16 digits on
 * tensor cores in place of chains of fp32 multiply-adds.
 *
 * First q, k and v, backward do, too, are split into three bf16 digits in the workspace, by
 * digit_split.h. Forward (digit_forward.h): a block has 128 queries, two warpgroups with 64 each,
 * and streams the digits of keys and values past theirs. Backward, for parts of the scores as v3
 * has them: dk, dv and dS (digit_keys.h), a block 64 keys and their values, whose warpgroups take
 * tiles of queries in turn; then dq from dS (digit_queries.h). P and dS are split in registers.
 * Every sum has one order. Heads without digits, head dims up to 32 and from 129 on, and cases of
 * few scores are v3's. docs/numerics.md tells of errors.
 *
 * Flops: 6 times 4 sq sk d a head forward, 6 times 10 backward, d as 64 or 128: at 989 TFLOP/s, b =
 * 8, s = 16384, d = 128 takes 6.7 and 16.7 ms. Bytes: 10 an element of q, k, v and do to split
 * them; 6 of q and o's rows once; k and v once for each 128 queries, 6 bytes an element, most of it
 * from L2, at about 16 bytes a cycle and multiprocessor. Backward q and do once for each 64 keys,
 * likewise, dS written and read once, k once for each 128 queries.
 *
 * In dk's and dv's kernel shared memory is short where d is 128: own digits take 96 KB, those of a
 * tile of 32 queries 48 KB. Products of 64 x 32 scores with both operands there read 3 KB in 16
 * cycles, which it brings in 24.
 *
 * H100, b = 8, h = 1, cold, no mask, in microseconds, v3, this: forward s = 1024, d = 64 72, 59; d
 * = 128 146, 98; s = 4096 956, 335; 1,971, 585; s = 16384 14,917, 4,568; 30,916, 8,308. Backward s
 * = 1024 176, 129; 349, 210; s = 4096 2,339, 1,231; 4,950, 2,202; s = 16384 36,446, 17,744; 78,132,
 * 37,351, the last before scores had slices. There, dq takes an eighth of it.
 */
#include "kernels/attention/digit_launch.h"

struct strict_plans {
    typedef strict_digits Digits;
    static constexpr int64_t FEWEST_SCORES = 16384;
    typedef digit_plan<Digits, 64, 64, 16> narrow;
    typedef digit_plan<Digits, 128, 64, 8> middle;
    typedef digit_keys_plan<Digits, 64, 32, 40> narrow_keys;
    typedef digit_keys_plan<Digits, 128, 32, 12> middle_keys;
    typedef digit_queries_plan<Digits, 64, 64, 24> narrow_queries;
    typedef digit_queries_plan<Digits, 128, 64, 12> middle_queries;
};

#define DISPATCH_FMA(function, call)                                                               \
    ((call)->in[0].shape[3] <= 16 ? function<fma_core, 16>(call)                                   \
                                  : DISPATCH_DEPTH(function, fma_core, call))

static assay_status forward(const assay_call *call) {
    return takes_digits<strict_plans>(sizes_of(call->params))
               ? forward_by_digits<strict_plans>(call)
               : DISPATCH_FMA(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return takes_digits<strict_plans>(sizes_of(call->params))
               ? backward_by_digits<strict_plans>(call)
               : DISPATCH_FMA(run_backward, call);
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    const assay_params *const params = call->params;
    if (params->dtype != ASSAY_F32 || params->math != ASSAY_STRICT)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "attention/v3_bf16x6: strict f32 alone; v3 takes all types");
    return require_hopper("attention/v3_bf16x6");
}

ASSAY_VARIANT(attention, v3_bf16x6) = {
    .op = "attention",
    .name = "v3_bf16x6",
    .device = ASSAY_DEVICE_NAME,
    .summary = "strict fp32 by six products of bf16 digits: TMA, wgmma",
    .supports = supports,
    .workspace = digit_workspace<strict_plans>,
    .forward = forward,
    .backward = backward,
};
