/* How attention v3 launches its kernels: with the tiles of v3_plan.h, by the call's sizes. */
#ifndef ASSAY_ATTENTION_V3_LAUNCH_H
#define ASSAY_ATTENTION_V3_LAUNCH_H

#include "kernels/attention/v3_backward.h"
#include "kernels/attention/v3_forward.h"

static inline exponent to_log2(const sizes &n) {
    const double factor = 1.4426950408889634 / sqrt((double)n.d);
    return {(float)factor, (float)(-151 / factor)};
}

/* Whether this many blocks would leave more than a sixteenth of the multiprocessors idle. */
static inline bool too_few(int64_t blocks) {
    return blocks < ASSAY_MULTIPROCESSORS - ASSAY_MULTIPROCESSORS / 16;
}

template <typename Core, typename Plan>
static assay_status launch_forward(void *stream, const forward_problem<typename Core::storage> &p) {
    return ASSAY_LAUNCH(stream, whole_grid(p.n.heads * ceil_div(p.n.sq, Plan::ROWS)),
                        dim3(Plan::THREADS),
                        (forward_shared<Core, Plan>() * sizeof(typename Core::storage)),
                        (forward_tiles<Core, Plan>), p);
}

template <typename T> static forward_problem<T> forward_problem_of(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const sizes n = sizes_of(call->params);
    return {n,
            to_log2(n),
            sequence_of<const T>(t.q),
            sequence_of<const T>(t.k),
            sequence_of<const T>(t.v),
            sequence_of<T>(t.o),
            rows_of<float>(t.lse)};
}

template <typename Core, int D> static assay_status run_forward(const assay_call *call) {
    typedef plans<Core, D> plans;
    const forward_problem<typename Core::storage> p =
        forward_problem_of<typename Core::storage>(call);
    const sizes &n = p.n;
    if constexpr (Core::SPLITS) {
        if (too_few(n.heads * ceil_div(n.sq, plans::forward_few::ROWS)))
            return launch_forward<Core, typename plans::forward_fewer>(call->stream, p);
        if (too_few(n.heads * ceil_div(n.sq, plans::forward::ROWS)))
            return launch_forward<Core, typename plans::forward_few>(call->stream, p);
    }
    return launch_forward<Core, typename plans::forward>(call->stream, p);
}

/* Bytes of the workspace that hold the terms; slopes begin behind them. */
static inline size_t terms_bytes(const sizes &n) {
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
            {reinterpret_cast<float2 *>(workspace), n.sq},
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

template <typename T> static assay_status launch_terms(void *stream, const backward_problem<T> &p) {
    return ASSAY_LAUNCH(stream, linear_grid(p.n.heads * p.n.sq, TERMS_WARPS),
                        dim3(TERMS_WARPS * WARP), 0, (make_terms<T>), p);
}

template <typename Core, int D> static assay_status run_backward(const assay_call *call) {
    typedef typename Core::storage T;
    const backward_problem<T> p = backward_problem_of<T>(call);
    assay_status status = launch_terms(call->stream, p);
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

/* Backward's terms of each query and, in strict fp32, dS of a part. */
static inline size_t v3_workspace(assay_stage stage, const assay_call *call) {
    if (stage == ASSAY_FORWARD)
        return 0;
    const sizes n = sizes_of(call->params);
    const bool strict = call->params->dtype == ASSAY_F32 && call->params->math != ASSAY_TF32;
    return terms_bytes(n) + (strict ? slopes_bytes(n) : 0);
}

#endif
