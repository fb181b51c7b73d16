/*
 * attention v3_bf16x6, ours, for sm_90a alone and strict fp32 alone: forward by six products of
 * bf16 digits on tensor cores, in place of chains of fp32 multiply-adds.
 */
#include "kernels/attention/digit_forward.h"
#include "kernels/attention/v3_launch.h"

typedef digit_plan<64, 64, 16> narrow_digits;
typedef digit_plan<128, 64, 8> middle_digits;

/* A box's coordinates fit 32 bits in the last tile, too. */
static constexpr int64_t MOST_EXTENT = INT32_MAX - 1024;

#define DISPATCH_FMA(function, call)                                                               \
    ((call)->in[0].shape[3] <= 16 ? function<fma_core, 16>(call)                                   \
                                  : DISPATCH_DEPTH(function, fma_core, call))

/* Whether digits are worth their while, and copies take them. */
static bool takes_digits(const sizes &n) {
    return n.d > 32 && n.d <= 128 && n.sq > 0 && n.sk > 0 && n.heads > 0 && n.sq <= MOST_EXTENT &&
           n.sk <= MOST_EXTENT && n.heads <= MOST_EXTENT / DIGITS;
}

template <typename Plan> static assay_status launch_digits(const assay_call *call) {
    typedef typename plans<fma_core, Plan::D>::forward tiles;
    constexpr int D = Plan::D;
    const forward_problem<float> v3 = forward_problem_of<float>(call);
    const sizes &n = v3.n;
    const digit_space space = digit_space_of<D>(n);
    char *const base = static_cast<char *>(call->workspace);
    const head_marks *const marks = reinterpret_cast<head_marks *>(base + space.marks);
    const auto lines = [&](size_t at, int64_t length, int32_t box_lines) -> tensor_lines {
        return {base + at, D, length, D, box_lines, DIGITS * n.heads, length * D};
    };
    const tensor_lines q = lines(space.q, n.sq, GROUP_ROWS), k = lines(space.k, n.sk, Plan::KEYS);
    const tensor_lines v = lines(space.v, n.sk, Plan::KEYS);
    digit_maps maps = {};
    assay_status status = make_tensor_map(&maps.q, &q);
    if (status == ASSAY_OK)
        status = make_tensor_map(&maps.k, &k);
    if (status == ASSAY_OK)
        status = make_tensor_map(&maps.v, &v);
    if (status == ASSAY_OK)
        status = split_all<D>(call, n, space);
    const digit_problem p = {n, v3.to_log2.factor, v3.o, v3.lse, marks};
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, whole_grid(n.heads * ceil_div(n.sq, Plan::ROWS)),
                              dim3(Plan::THREADS), Plan::SHARED, (attend_on_digits<Plan>), p, maps);
    const int64_t blocks = n.heads * ceil_div(n.sq, tiles::ROWS);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream,
                              whole_grid(clamp(blocks, 0, tiles::BLOCKS * ASSAY_MULTIPROCESSORS)),
                              dim3(tiles::THREADS),
                              (forward_shared<fma_core, tiles>() * sizeof(float)),
                              (forward_of_marked<fma_core, tiles>), v3, marks);
    return status;
}

static assay_status forward(const assay_call *call) {
    const sizes n = sizes_of(call->params);
    if (!takes_digits(n))
        return DISPATCH_FMA(run_forward, call);
    return n.d <= 64 ? launch_digits<narrow_digits>(call) : launch_digits<middle_digits>(call);
}

static assay_status backward(const assay_call *call) {
    return DISPATCH_FMA(run_backward, call);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const sizes n = sizes_of(call->params);
    if (stage == ASSAY_BACKWARD || !takes_digits(n))
        return v3_workspace(stage, call);
    return n.d <= 64 ? digit_space_of<64>(n).bytes : digit_space_of<128>(n).bytes;
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
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
