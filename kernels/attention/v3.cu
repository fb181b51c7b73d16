/*
 * attention v3, ours: tiled, with an online softmax, on tensor cores wherever the arithmetic asked
 * for has them: bf16 and f16 (m16n8k16), TF32 (m16n8k8); strict fp32 on CUDA cores.
 *
 * Forward: a block keeps a tile of queries in shared memory and streams keys and values past them,
 * 32 or 64 at a time, by cp.async (v3_plan.h says why so many). A warp has whole rows of scores, in
 * registers: it keeps each row's largest score and sum, rescales what it has summed of o when the
 * largest grows, and multiplies P by the values. Backward: first lse and Δ of every query side by
 * side in the workspace; then dk and dv, a tile of keys a block, along the queries that see them;
 * then dq, a tile of queries a block, along the keys that they see. Tiles beyond the causal edge
 * are skipped, tiles on it are masked, and blocks with long walks begin first. In strict fp32,
 * where rows are few, warps share them (v3_splits.h), or, backward, blocks have pairs of a tile of
 * keys and a tile of queries (v3_pairs.h).
 *
 * Against v1 and v2: no S or P in global memory, so bytes grow with sq + sk, not with sq sk. The
 * exception is dS in strict fp32 (v3_slopes.h): kept a part at a time, for dq.
 *
 * Flops: 4 sq sk d a head forward. Backward makes P and dS twice, 14 sq sk d in place of 10, so
 * that each gradient has one owner and one order of summation: no atomics, the same bits every
 * time; 10 in strict fp32, and 8 bytes sq sk, written and read once. Of all, half where causal and
 * sq = sk. Bytes: q and o once; k and v once for each tile of queries, most of it from L2, since
 * blocks that run together walk along the same tiles. Backward: q, dout and dq likewise beside k
 * and v, then k, v, dk and dv beside q and dout; and 8 bytes for each query written once, and read
 * with it.
 *
 * P and dS are rounded to the operands' type to nearest (to TF32, too) before they are multiplied;
 * the row sums take P before that. q, k, v and dout are cut to TF32 by the instruction. Sums have
 * one order, set by the sizes, the arithmetic and the multiprocessors that tiles are chosen for.
 */
#include "kernels/attention/v3_launch.h"

#define DISPATCH(function, call)                                                                   \
    ((call)->params->dtype == ASSAY_BF16                                                           \
         ? DISPATCH_DEPTH(function, tensor_core<__nv_bfloat16>, call)                              \
     : (call)->params->dtype == ASSAY_F16 ? DISPATCH_DEPTH(function, tensor_core<__half>, call)    \
     : (call)->params->math == ASSAY_TF32 ? DISPATCH_DEPTH(function, tensor_core<float>, call)     \
     : (call)->in[0].shape[3] <= 16       ? function<fma_core, 16>(call)                           \
                                          : DISPATCH_DEPTH(function, fma_core, call))

static assay_status forward(const assay_call *call) {
    return DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return DISPATCH(run_backward, call);
}

ASSAY_VARIANT(attention, v3) = {
    .op = "attention",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "tiled online softmax on tensor cores, forward and backward",
    .supports = NULL,
    .workspace = v3_workspace,
    .forward = forward,
    .backward = backward,
};
