/* How attention v3 launches its kernels: with the tiles of v3_plan.h, by the call's sizes. */
#ifndef ASSAY_ATTENTION_V3_LAUNCH_H
#define ASSAY_ATTENTION_V3_LAUNCH_H

#include "kernels/attention/v3_backward.h"
#include "kernels/attention/v3_forward.h"
#include "kernels/attention/v3_pairs.h"

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

/* ---- few keys ---- */

enum {
    PAIR_ROWS = 64,
    FEW_PAIR_ROWS = 32,
    PAIRS_EACH = 8,     /* for each multiprocessor; with more, tiles of keys are as fast */
    FEW_KEYS_EACH = 32, /* unless those are too few */
};

/* About as many as are not hidden. */
static inline int64_t pairs_of(const sizes &n) {
    const int64_t pairs = n.heads * ceil_div(n.sk, PAIR_ROWS) * ceil_div(n.sq, PAIR_ROWS);
    return n.causal ? ceil_div(pairs, 2) : pairs;
}

/* Whether, in strict fp32, blocks have pairs of tiles (v3_pairs.h), */
static inline bool takes_pairs(const sizes &n) {
    const int64_t each = too_few(n.heads * ceil_div(n.sk, PAIR_ROWS)) ? FEW_KEYS_EACH : PAIRS_EACH;
    return n.d > 32 && n.d <= 128 && pairs_of(n) <= each * ASSAY_MULTIPROCESSORS;
}

/* and whether those are so few that smaller ones do better. */
static inline bool few_pairs(const sizes &n) {
    return too_few(pairs_of(n));
}

/* With this many tiles of queries a block: in how many turns all multiprocessors are done, and how
 * long those take, in halves of a pair; a block's own tiles and its parts take as long as one. */
template <typename Plan> static int64_t pair_turns(const sizes &n, int64_t length) {
    const int64_t query_tiles = ceil_div(n.sq, Plan::ROWS), walks = ceil_div(query_tiles, length);
    int64_t blocks = 0;
    for (int64_t t = 0; t * Plan::ROWS < n.sk; ++t) {
        const int64_t first = first_tile<Plan>(n, t);
        if (first < query_tiles)
            blocks += n.heads * (walks - first / length);
    }
    return ceil_div(blocks, ASSAY_MULTIPROCESSORS) * (2 * length + 1);
}

template <typename Plan> static pair_space pair_space_of(const sizes &n, float *memory) {
    pair_space space = {
        ceil_div(n.sk, Plan::ROWS), ceil_div(n.sq, Plan::ROWS), 1, 0, memory, memory, memory};
    int64_t least = INT64_MAX;
    for (int64_t length = 1; length <= space.query_tiles; ++length) {
        const int64_t turns = pair_turns<Plan>(n, length);
        space.length = turns < least ? length : space.length;
        least = turns < least ? turns : least;
    }
    space.walks = ceil_div(space.query_tiles, space.length);
    space.dk = memory + n.heads * space.query_tiles * space.key_tiles * Plan::PART;
    space.dv = space.dk + n.heads * space.key_tiles * space.walks * Plan::PART;
    return space;
}

template <typename Plan> static size_t pair_bytes(const sizes &n) {
    const pair_space space = pair_space_of<Plan>(n, NULL);
    return (size_t)(n.heads * space.key_tiles * (space.query_tiles + 2 * space.walks)) *
           Plan::PART * sizeof(float);
}

template <int D> static size_t pairs_bytes(const sizes &n) {
    return few_pairs(n) ? pair_bytes<pair_plan<D, FEW_PAIR_ROWS>>(n)
                        : pair_bytes<pair_plan<D, PAIR_ROWS>>(n);
}

template <typename Plan>
static assay_status launch_pairs(void *stream, const backward_problem<float> &p, float *memory) {
    const pair_space space = pair_space_of<Plan>(p.n, memory);
    const assay_status status = ASSAY_LAUNCH(
        stream, whole_grid(p.n.heads * space.key_tiles * space.walks), dim3(Plan::THREADS),
        (Plan::SHARED * sizeof(float)), (gradients_of_pairs<Plan>), p, space);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(
        stream, whole_grid(p.n.heads * (space.query_tiles + 2 * space.key_tiles) * Plan::PIECES),
        dim3(Plan::THREADS), 0, (sum_of_pairs<Plan>), p, space);
}

template <typename Core, int D> static assay_status run_backward(const assay_call *call) {
    typedef typename Core::storage T;
    const backward_problem<T> p = backward_problem_of<T>(call);
    if constexpr (Core::KEEPS_SLOPES && D > 32 && D <= 128)
        if (takes_pairs(p.n)) {
            float *const memory = static_cast<float *>(call->workspace);
            return few_pairs(p.n)
                       ? launch_pairs<pair_plan<D, FEW_PAIR_ROWS>>(call->stream, p, memory)
                       : launch_pairs<pair_plan<D, PAIR_ROWS>>(call->stream, p, memory);
        }
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
    if (strict && takes_pairs(n))
        return n.d <= 64 ? pairs_bytes<64>(n) : pairs_bytes<128>(n);
    return terms_bytes(n) + (strict ? slopes_bytes(n) : 0);
}

#endif
