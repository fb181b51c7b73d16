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
 * where rows are few, warps share them (v3_splits.h).
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
#include "kernels/attention/v3_backward.h"
#include "kernels/attention/v3_forward.h"

static exponent to_log2(const sizes &n) {
    const double factor = 1.4426950408889634 / sqrt((double)n.d);
    return {(float)factor, (float)(-151 / factor)};
}

/* Whether this many blocks would leave more than a sixteenth of the multiprocessors idle. */
static bool too_few(int64_t blocks) {
    return blocks < ASSAY_MULTIPROCESSORS - ASSAY_MULTIPROCESSORS / 16;
}

template <typename Core, typename Plan>
static assay_status launch_forward(void *stream, const forward_problem<typename Core::storage> &p) {
    return ASSAY_LAUNCH(stream, whole_grid(p.n.heads * ceil_div(p.n.sq, Plan::ROWS)),
                        dim3(Plan::THREADS),
                        (forward_shared<Core, Plan>() * sizeof(typename Core::storage)),
                        (forward_tiles<Core, Plan>), p);
}

template <typename Core, int D> static assay_status run_forward(const assay_call *call) {
    typedef typename Core::storage T;
    typedef plans<Core, D> plans;
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const sizes n = sizes_of(call->params);
    const forward_problem<T> p = {n,
                                  to_log2(n),
                                  sequence_of<const T>(t.q),
                                  sequence_of<const T>(t.k),
                                  sequence_of<const T>(t.v),
                                  sequence_of<T>(t.o),
                                  rows_of<float>(t.lse)};
    if constexpr (Core::SPLITS) {
        if (too_few(n.heads * ceil_div(n.sq, plans::forward_few::ROWS)))
            return launch_forward<Core, typename plans::forward_fewer>(call->stream, p);
        if (too_few(n.heads * ceil_div(n.sq, plans::forward::ROWS)))
            return launch_forward<Core, typename plans::forward_few>(call->stream, p);
    }
    return launch_forward<Core, typename plans::forward>(call->stream, p);
}

/* Bytes of the workspace that hold the terms; slopes begin behind them. */
static size_t terms_bytes(const sizes &n) {
    return (size_t)(ceil_div(n.heads * n.sq, 16) * 16) * sizeof(float2);
}

template <typename T> static backward_problem<T> backward_problem_of(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const sizes n = sizes_of(call->params);
    char *const workspace = static_cast<char *>(call->workspace);
    return {n,
            sequence_of<const T>(t.q),
            sequence_of<const T>(t.k),
            sequence_of<const T>(t.v),
            sequence_of<const T>(t.o),
            sequence_of<const T>(t.dout),
            rows_of<const float>(t.lse),
            reinterpret_cast<float2 *>(workspace),
            sequence_of<T>(t.dq),
            sequence_of<T>(t.dk),
            sequence_of<T>(t.dv),
            {0, n.heads, 0, n.sk},
            slopes_of(n, reinterpret_cast<float *>(workspace + terms_bytes(n)))};
}

template <typename Core, typename Plan>
static assay_status launch_keys(void *stream, const backward_problem<typename Core::storage> &p) {
    static_assert(KEYS_EACH % Plan::ROWS == 0, "the keys of a tile are of one part");
    const int64_t tiles = p.part.heads * ceil_div(p.part.keys, Plan::ROWS);
    return ASSAY_LAUNCH(stream, whole_grid(tiles * Plan::PARTS), dim3(Plan::THREADS),
                        (backward_shared<Core, Plan>() * sizeof(typename Core::storage)),
                        (gradients_of_keys<Core, Plan>), p);
}

template <typename Core, typename Plan>
static assay_status launch_queries(void *stream,
                                   const backward_problem<typename Core::storage> &p) {
    return ASSAY_LAUNCH(stream, whole_grid(p.n.heads * ceil_div(p.n.sq, Plan::ROWS)),
                        dim3(Plan::THREADS),
                        (backward_shared<Core, Plan>() * sizeof(typename Core::storage)),
                        (gradients_of_queries<Core, Plan>), p);
}

template <typename Plan>
static assay_status launch_slopes(void *stream, const backward_problem<float> &p) {
    return ASSAY_LAUNCH(stream, whole_grid(p.part.heads * ceil_div(p.n.sq, Plan::ROWS)),
                        dim3(Plan::THREADS), (slopes_shared<Plan>() * sizeof(float)),
                        (gradients_from_slopes<Plan>), p.n, p.part, p.kept, p.k, p.dq);
}

template <typename Core, int D>
static assay_status launch_part(void *stream, const backward_problem<float> &p) {
    typedef plans<Core, D> plans;
    assay_status status;
    if (too_few(p.n.heads * ceil_div(p.n.sk, plans::keys_few::ROWS)))
        status = launch_keys<Core, typename plans::keys_fewer>(stream, p);
    else if (too_few(p.n.heads * ceil_div(p.n.sk, plans::keys::ROWS)))
        status = launch_keys<Core, typename plans::keys_few>(stream, p);
    else
        status = launch_keys<Core, typename plans::keys>(stream, p);
    if (status != ASSAY_OK)
        return status;
    if (too_few(p.n.heads * ceil_div(p.n.sq, plans::slopes::ROWS)))
        return launch_slopes<typename plans::slopes_few>(stream, p);
    return launch_slopes<typename plans::slopes>(stream, p);
}

/* All gradients, a part of the scores at a time. */
template <typename Core, int D>
static assay_status launch_parts(void *stream, backward_problem<float> p) {
    assay_status status = ASSAY_OK;
    for (p.part = part_at(p.n, 0, 0); status == ASSAY_OK && p.part.heads > 0;
         p.part = part_behind(p.n, p.part))
        status = launch_part<Core, D>(stream, p);
    return status;
}

template <typename Core, int D> static assay_status run_backward(const assay_call *call) {
    typedef typename Core::storage T;
    const backward_problem<T> p = backward_problem_of<T>(call);
    assay_status status = ASSAY_LAUNCH(call->stream, linear_grid(p.n.heads * p.n.sq, TERMS_WARPS),
                                       dim3(TERMS_WARPS * WARP), 0, (make_terms<T>), p);
    if (status != ASSAY_OK)
        return status;
    if constexpr (Core::KEEPS_SLOPES) {
        return launch_parts<Core, D>(call->stream, p);
    } else {
        status = launch_keys<Core, typename plans<Core, D>::keys>(call->stream, p);
        if (status == ASSAY_OK)
            status = launch_queries<Core, typename plans<Core, D>::queries>(call->stream, p);
        return status;
    }
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
     : (call)->in[0].shape[3] <= 16       ? function<fma_core, 16>(call)                           \
                                          : DISPATCH_DEPTH(function, fma_core, call))

static assay_status forward(const assay_call *call) {
    return DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return DISPATCH(run_backward, call);
}

/* Backward's terms of each query and, in strict fp32, dS of a part. */
static size_t workspace(assay_stage stage, const assay_call *call) {
    if (stage == ASSAY_FORWARD)
        return 0;
    const sizes n = sizes_of(call->params);
    const bool strict = call->params->dtype == ASSAY_F32 && call->params->math != ASSAY_TF32;
    return terms_bytes(n) + (strict ? slopes_bytes(n) : 0);
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
