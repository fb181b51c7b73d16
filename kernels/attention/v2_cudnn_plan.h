/*
 * Attention as graphs of cuDNN's operations, which cuDNN recognises by their order and turns into
 * one kernel, flash attention: no score reaches memory. (A single operation for it takes masks from
 * 9.21 on only, and has no backward for Hopper.)
 *
 *     forward    S = scale q kᵀ, masked; m = max S; e = exp(S - m); l = sum e;
 *                lse = m + log l; P = e / l; o = P v
 *     backward   delta = sum of do o; P = exp(scale q kᵀ - lse), masked; dv = Pᵀ do;
 *                dS = scale P (do vᵀ - delta); dk = dSᵀ q; dq = dS k
 *
 * P and dS are rounded to the inputs' type before they are multiplied. dq is first summed in fp32
 * memory, which is zero before, by blocks in any order, as PyTorch has it. Beyond SUMS_HEAD_DIM,
 * and where cuDNN has no engine for that, dq is the product itself: then dS passes through the
 * workspace, 2 bytes an element, and dq has one order.
 *
 * H200, b=8 h=1 s=16384, causal, bf16, backward of d = 64 and 128, us: with dS in the workspace
 * 2,104 and 2,850, with sums of dq 1,526 and 2,345; PyTorch with cuDNN 1,612 and 2,665.
 */
#ifndef ASSAY_ATTENTION_V2_CUDNN_PLAN_H
#define ASSAY_ATTENTION_V2_CUDNN_PLAN_H

#include "kernels/attention/attention.h"
#include "kernels/attention/v2_cudnn_graph.h"

#if ASSAY_DNN_GRAPH

/* Names of the tensors in memory, in the order of a call's tensors. */
enum { Q = 1, K, V, O, LSE, DO, DQ, DK, DV, DELTA, DQ_SUMS, FIRST_FREE_ID };

/* Beyond it sums of dq in memory were not tried. */
enum { SUMS_HEAD_DIM = 128 };

/* All of a call that a plan depends on. */
struct plan_key {
    int64_t backward, half, batch, heads, sq, sk, d, causal;
    int64_t sums; /* whether dq is first summed in memory */
};

static plan_key key_of(assay_stage stage, const assay_params *params) {
    const sizes n = sizes_of(params);
    return {stage == ASSAY_BACKWARD,
            params->dtype == ASSAY_F16,
            assay_params_int(params, "b"),
            assay_params_int(params, "h"),
            n.sq,
            n.sk,
            n.d,
            n.causal,
            stage == ASSAY_BACKWARD && n.d <= SUMS_HEAD_DIM};
}

/* A graph under construction, with the layouts that its tensors have. */
struct drawing {
    graph *g;
    plan_key key;
    cudnnDataType_t type;
    layout queries, keys; /* q, o and the like; k, v and the like */
    layout scores, rows;  /* one number for each pair; for each query */
};

static drawing drawing_of(graph *g, const plan_key &k) {
    return {g,
            k,
            k.half ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16,
            packed(k.batch, k.heads, k.sq, k.d),
            packed(k.batch, k.heads, k.sk, k.d),
            packed(k.batch, k.heads, k.sq, k.sk),
            packed(k.batch, k.heads, k.sq, 1)};
}

static descriptor in_memory(const drawing &a, int64_t id, const layout &l, const char *what) {
    return add_tensor(a.g, id, id == LSE || id == DELTA ? CUDNN_DATA_FLOAT : a.type, l, IN_MEMORY,
                      what);
}

/* mode(x, b) in fp32 for each pair, or for each query. */
static descriptor of_scores(const drawing &a, cudnnPointwiseMode_t mode, descriptor x, descriptor b,
                            const char *what) {
    descriptor y = intermediate(a.g, CUDNN_DATA_FLOAT, a.scores, what);
    add_float(a.g, mode, x, b, y, what);
    return y;
}
static descriptor of_rows(const drawing &a, cudnnPointwiseMode_t mode, descriptor x, descriptor b,
                          const char *what) {
    descriptor y = intermediate(a.g, CUDNN_DATA_FLOAT, a.rows, what);
    add_float(a.g, mode, x, b, y, what);
    return y;
}

/* The sum or maximum over the keys, or over the head dimension. */
static descriptor reduced(const drawing &a, cudnnReduceTensorOp_t kind, descriptor x,
                          const char *what) {
    descriptor y = intermediate(a.g, CUDNN_DATA_FLOAT, a.rows, what);
    add_reduction(a.g, kind, x, y, what);
    return y;
}

/* a b for each pair. */
static descriptor product(const drawing &a, descriptor left, descriptor right, const char *what) {
    descriptor y = intermediate(a.g, CUDNN_DATA_FLOAT, a.scores, what);
    add_product(a.g, left, right, y, what);
    return y;
}

static float scale_of(const drawing &a) {
    return 1.0f / sqrtf((float)a.key.d);
}

/* The number of each pair's query (axis 2) or key (axis 3). */
static descriptor index_of(const drawing &a, descriptor scores, int64_t axis, const char *what) {
    descriptor y = intermediate(a.g, CUDNN_DATA_INT32, a.scores, what);
    add_pointwise(a.g, {CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, scores, NULL, NULL, y, axis},
                  what);
    return y;
}

static descriptor shifted(const drawing &a, cudnnPointwiseMode_t mode, descriptor index, int64_t by,
                          const char *what) {
    descriptor y = intermediate(a.g, CUDNN_DATA_INT32, a.scores, what);
    descriptor amount = integer(a.g, by, what);
    add_pointwise(a.g, {mode, CUDNN_DATA_INT32, index, amount, NULL, y, 0}, what);
    return y;
}

/* -Inf where query i does not see key j: where not i + sk - sq >= j. */
static descriptor masked(const drawing &a, descriptor scores) {
    if (!a.key.causal)
        return scores;
    descriptor query = index_of(a, scores, 2, "index of the query");
    descriptor key = index_of(a, scores, 3, "index of the key");
    if (a.key.sq != a.key.sk) {
        query = shifted(a, CUDNN_POINTWISE_ADD, query, a.key.sk, "query + sk");
        query = shifted(a, CUDNN_POINTWISE_SUB, query, a.key.sq, "query + sk - sq");
    }
    descriptor visible = intermediate(a.g, CUDNN_DATA_BOOLEAN, a.scores, "visible");
    add_pointwise(a.g, {CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, query, key, NULL, visible, 0},
                  "visible");
    descriptor y = intermediate(a.g, CUDNN_DATA_FLOAT, a.scores, "mask");
    descriptor none = number(a.g, NO_SCORE, "score of what is invisible");
    add_pointwise(a.g,
                  {CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, scores, none, visible, y, 0},
                  "mask");
    return y;
}

static void draw_forward(const drawing &a) {
    descriptor q = in_memory(a, Q, a.queries, "q");
    descriptor kt = in_memory(a, K, transposed(a.keys), "k");
    descriptor v = in_memory(a, V, a.keys, "v");
    descriptor o = in_memory(a, O, a.queries, "o");
    descriptor lse = in_memory(a, LSE, a.rows, "lse");
    descriptor s = product(a, q, kt, "q k");
    descriptor scale = number(a.g, scale_of(a), "scale");
    s = masked(a, of_scores(a, CUDNN_POINTWISE_MUL, s, scale, "scaled scores"));
    descriptor most = reduced(a, CUDNN_REDUCE_TENSOR_MAX, s, "maximum");
    descriptor e = of_scores(a, CUDNN_POINTWISE_SUB, s, most, "scores - maximum");
    e = of_scores(a, CUDNN_POINTWISE_EXP, e, NULL, "exp");
    descriptor sum = reduced(a, CUDNN_REDUCE_TENSOR_ADD, e, "sum");
    descriptor logarithm = of_rows(a, CUDNN_POINTWISE_LOG, sum, NULL, "log");
    add_float(a.g, CUDNN_POINTWISE_ADD, most, logarithm, lse, "maximum + log");
    descriptor p = intermediate(a.g, a.type, a.scores, "P");
    add_float(a.g, CUDNN_POINTWISE_DIV, e, sum, p, "P");
    add_product(a.g, p, v, o, "P v");
}

/* xᵀ in the inputs' type. */
static descriptor turned(const drawing &a, descriptor x, const char *what) {
    descriptor y = intermediate(a.g, a.type, transposed(a.scores), what);
    add_reshape(a.g, x, y, what);
    return y;
}

static descriptor draw_delta(const drawing &a, descriptor o, descriptor gradient) {
    descriptor delta = in_memory(a, DELTA, a.rows, "delta");
    descriptor y = intermediate(a.g, CUDNN_DATA_FLOAT, a.queries, "do o");
    add_float(a.g, CUDNN_POINTWISE_MUL, gradient, o, y, "do o");
    y = reduced(a, CUDNN_REDUCE_TENSOR_ADD, y, "sum of do o");
    /* Where dropout would scale it; the pattern has a multiplication here. */
    descriptor one = number(a.g, 1, "one");
    add_float(a.g, CUDNN_POINTWISE_MUL, y, one, delta, "delta");
    return delta;
}

static void draw_backward(const drawing &a) {
    const layout turned_keys = transposed(a.keys);
    descriptor q = in_memory(a, Q, a.queries, "q");
    descriptor kt = in_memory(a, K, turned_keys, "k");
    descriptor vt = in_memory(a, V, turned_keys, "v");
    descriptor o = in_memory(a, O, a.queries, "o");
    descriptor lse = in_memory(a, LSE, a.rows, "lse");
    descriptor gradient = in_memory(a, DO, a.queries, "do");
    descriptor dq = in_memory(a, DQ, a.queries, "dq");
    descriptor dk = in_memory(a, DK, a.keys, "dk");
    descriptor dv = in_memory(a, DV, a.keys, "dv");
    descriptor scale = number(a.g, scale_of(a), "scale");

    descriptor delta = draw_delta(a, o, gradient);
    descriptor p = product(a, q, kt, "q k");
    p = of_scores(a, CUDNN_POINTWISE_MUL, p, scale, "scaled scores");
    p = masked(a, of_scores(a, CUDNN_POINTWISE_SUB, p, lse, "scores - lse"));
    p = of_scores(a, CUDNN_POINTWISE_EXP, p, NULL, "P");
    add_product(a.g, turned(a, p, "P transposed"), gradient, dv, "dv");

    descriptor ds = product(a, gradient, vt, "do v");
    ds = of_scores(a, CUDNN_POINTWISE_SUB, ds, delta, "do v - delta");
    ds = of_scores(a, CUDNN_POINTWISE_MUL, ds, p, "dS");
    ds = of_scores(a, CUDNN_POINTWISE_MUL, ds, scale, "scaled dS");
    add_product(a.g, turned(a, ds, "dS transposed"), q, dk, "dk");
    descriptor k = intermediate(a.g, CUDNN_DATA_FLOAT, a.keys, "k as rows");
    add_reshape(a.g, kt, k, "k as rows");
    if (a.key.sums) {
        descriptor sums = add_sums(a.g, DQ_SUMS, a.queries, "sums of dq");
        add_product(a.g, ds, k, sums, "sums of dq");
        add_float(a.g, CUDNN_POINTWISE_IDENTITY, sums, NULL, dq, "dq");
    } else {
        add_product(a.g, ds, k, dq, "dq");
    }
}

static void draw(graph *g, const plan_key &key) {
    const drawing a = drawing_of(g, key);
    if (key.backward)
        draw_backward(a);
    else
        draw_forward(a);
}

/* A plan, and what it was made for. */
struct attention_graph {
    graph *g;
    plan_key key;
};

static assay_status find_plan(assay_stage stage, const assay_call *call, attention_graph *found) {
    static thread_local kept_plans<plan_key> kept;
    found->key = key_of(stage, call->params);
    assay_status status =
        find_plan_of(&kept, found->key, call->stream, FIRST_FREE_ID, draw, &found->g);
    if (status == ASSAY_ERR_UNSUPPORTED && found->key.sums) {
        found->key.sums = 0;
        status = find_plan_of(&kept, found->key, call->stream, FIRST_FREE_ID, draw, &found->g);
    }
    return status;
}

#endif
#endif
