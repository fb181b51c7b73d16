/*
 * attention v3, ours: tiled, with an online softmax, on tensor cores wherever the arithmetic asked
 * for has them: bf16 and f16 (m16n8k16), TF32 (m16n8k8); strict fp32 on CUDA cores.
 *
 * Forward: a block keeps 64 or 128 queries in shared memory and streams keys and values past them,
 * 32 or 64 at a time, by cp.async through two stages (v3_plan.h says why so many). A warp has whole
 * rows of scores, in registers: it keeps each row's largest score and sum, rescales what it has
 * summed of o when the largest grows, and multiplies P by the values. Backward: first lse and Δ of
 * every query side by side in the workspace; then dk and dv, a tile of keys a block, along the
 * queries that see them; then dq, a tile of queries a block, along the keys that they see. Tiles
 * beyond the causal edge are skipped, tiles on it are masked, and blocks with long walks begin
 * first.
 *
 * Against v1 and v2: no S or P in global memory, so bytes grow with sq + sk, not with sq sk.
 *
 * Flops: 4 sq sk d a head forward. Backward makes P and dS twice, 14 sq sk d in place of 10, so
 * that each gradient has one owner and one order of summation: no atomics, the same bits every
 * time. Of either, half where causal and sq = sk. Bytes: q and o once; k and v once for each tile
 * of queries, most of it from L2, since blocks that run together walk along the same tiles.
 * Backward: q, dout and dq likewise beside k and v, then k, v, dk and dv beside q and dout; and 8
 * bytes for each query written once, and read with it.
 *
 * P and dS are rounded to the operands' type to nearest (to TF32, too) before they are multiplied;
 * the row sums take P before that. q, k, v and dout are cut to TF32 by the instruction. Sums have
 * one order, set by d and the arithmetic alone.
 */
#include "kernels/attention/v3_backward.h"
#include "kernels/attention/v3_forward.h"

static float log2_scale_of(const sizes &n) {
    return (float)(1.4426950408889634 / sqrt((double)n.d));
}

template <typename Core, int D> static assay_status run_forward(const assay_call *call) {
    typedef typename Core::storage T;
    typedef typename plans<Core, D>::forward plan;
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const sizes n = sizes_of(call->params);
    const forward_problem<T> p = {n,
                                  log2_scale_of(n),
                                  sequence_of<const T>(t.q),
                                  sequence_of<const T>(t.k),
                                  sequence_of<const T>(t.v),
                                  sequence_of<T>(t.o),
                                  rows_of<float>(t.lse)};
    return ASSAY_LAUNCH(call->stream, whole_grid(n.heads * ceil_div(n.sq, plan::ROWS)),
                        dim3(plan::THREADS), (forward_shared<Core, plan>() * sizeof(T)),
                        (forward_tiles<Core, plan>), p);
}

template <typename T> static backward_problem<T> backward_problem_of(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const sizes n = sizes_of(call->params);
    return {n,
            log2_scale_of(n),
            sequence_of<const T>(t.q),
            sequence_of<const T>(t.k),
            sequence_of<const T>(t.v),
            sequence_of<const T>(t.o),
            sequence_of<const T>(t.dout),
            rows_of<const float>(t.lse),
            static_cast<float2 *>(call->workspace),
            sequence_of<T>(t.dq),
            sequence_of<T>(t.dk),
            sequence_of<T>(t.dv)};
}

template <typename Core, int D> static assay_status run_backward(const assay_call *call) {
    typedef typename Core::storage T;
    typedef typename plans<Core, D>::queries for_queries;
    typedef typename plans<Core, D>::keys for_keys;
    const backward_problem<T> p = backward_problem_of<T>(call);
    const int64_t key_tiles = p.n.heads * ceil_div(p.n.sk, for_keys::ROWS);
    const int64_t query_tiles = p.n.heads * ceil_div(p.n.sq, for_queries::ROWS);
    assay_status status = ASSAY_LAUNCH(call->stream, linear_grid(p.n.heads * p.n.sq, TERMS_WARPS),
                                       dim3(TERMS_WARPS * WARP), 0, (make_terms<T>), p);
    if (status == ASSAY_OK)
        status =
            ASSAY_LAUNCH(call->stream, whole_grid(key_tiles * for_keys::PARTS),
                         dim3(for_keys::THREADS), (backward_shared<Core, for_keys>() * sizeof(T)),
                         (gradients_of_keys<Core, for_keys>), p);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, whole_grid(query_tiles), dim3(for_queries::THREADS),
                              (backward_shared<Core, for_queries>() * sizeof(T)),
                              (gradients_of_queries<Core, for_queries>), p);
    return status;
}

/* Calls `function<core, D>(call)` with the core for the call's type and precision, and the head dim
 * that its tiles are made for. */
#define DISPATCH_DEPTH(function, core, call)                                                       \
    ((call)->in[0].shape[3] <= 32    ? function<core, 32>(call)                                    \
     : (call)->in[0].shape[3] <= 64  ? function<core, 64>(call)                                    \
     : (call)->in[0].shape[3] <= 128 ? function<core, 128>(call)                                   \
                                     : function<core, 256>(call))
#define DISPATCH(function, call)                                                                   \
    ((call)->params->dtype == ASSAY_BF16                                                           \
         ? DISPATCH_DEPTH(function, tensor_core<__nv_bfloat16>, call)                              \
     : (call)->params->dtype == ASSAY_F16 ? DISPATCH_DEPTH(function, tensor_core<__half>, call)    \
     : (call)->params->math == ASSAY_TF32 ? DISPATCH_DEPTH(function, tensor_core<float>, call)     \
                                          : DISPATCH_DEPTH(function, fma_core, call))

static assay_status forward(const assay_call *call) {
    return DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return DISPATCH(run_backward, call);
}

/* The backward's terms of each query. */
static size_t workspace(assay_stage stage, const assay_call *call) {
    const int64_t *shape = call->in[0].shape;
    return stage == ASSAY_FORWARD ? 0 : (size_t)(shape[0] * shape[1] * shape[2]) * sizeof(float2);
}

ASSAY_VARIANT(attention, v3) = {
    .op = "attention",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "tiled online softmax on tensor cores, forward and backward",
    .supports = NULL,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
