/*
 * The operators that the model is made of, each as one call of its variant.
 *
 * Backward takes what its formula names. An input or output of forward that the formula leaves out
 * is not kept, and goes into the call without data: y of all of them, x and r of rmsnorm where h is
 * there.
 */
#ifndef ASSAY_TRANSFORMER_OPERATORS_H
#define ASSAY_TRANSFORMER_OPERATORS_H

#include "kernels/transformer/walk.h"

static constexpr double NORM_EPS = 1e-5;
static constexpr double ADAMW_BETA1 = 0.9, ADAMW_BETA2 = 0.999, ADAMW_EPS = 1e-8;

/* ---- embedding: y = table[ids] ---- */

static inline assay_params embedding_params(const walk *w) {
    assay_params params = strict_params(w->m.dtype);
    add_int(&params, "t", w->m.tokens);
    add_int(&params, "v", w->m.vocab);
    add_int(&params, "d", w->m.d);
    return params;
}

static inline void embedding_forward(walk *w, assay_tensor ids, assay_tensor table,
                                     assay_tensor y) {
    const assay_params params = embedding_params(w);
    const assay_tensor in[] = {ids, table}, out[] = {y};
    call_part(w, "embedding", w->parts->embedding, ASSAY_FORWARD, &params, in, out);
}

static inline void embedding_backward(walk *w, assay_tensor ids, assay_tensor table,
                                      assay_tensor dy, assay_tensor dtable) {
    const assay_params params = embedding_params(w);
    const assay_tensor in[] = {ids, table, without_data(dy), dy}, out[] = {dtable};
    call_part(w, "embedding", w->parts->embedding, ASSAY_BACKWARD, &params, in, out);
}

/* ---- rmsnorm: y = x / √(mean x² + eps) ⊙ weight; of h = x + r where there is a residual ---- */

static inline assay_params rmsnorm_params(const walk *w, bool residual) {
    assay_params params = strict_params(w->m.dtype);
    add_int(&params, "n", w->m.tokens);
    add_int(&params, "d", w->m.d);
    add_int(&params, "residual", residual ? 1 : 0);
    add_real(&params, "eps", NORM_EPS);
    return params;
}

static inline void rmsnorm_forward(walk *w, assay_tensor x, assay_tensor weight, assay_tensor y) {
    const assay_params params = rmsnorm_params(w, false);
    const assay_tensor in[] = {x, weight}, out[] = {y};
    call_part(w, "rmsnorm", w->parts->rmsnorm, ASSAY_FORWARD, &params, in, out);
}

static inline void rmsnorm_add_forward(walk *w, assay_tensor x, assay_tensor r, assay_tensor weight,
                                       assay_tensor h, assay_tensor y) {
    const assay_params params = rmsnorm_params(w, true);
    const assay_tensor in[] = {x, r, weight}, out[] = {y, h};
    call_part(w, "rmsnorm", w->parts->rmsnorm, ASSAY_FORWARD, &params, in, out);
}

static inline void rmsnorm_backward(walk *w, assay_tensor x, assay_tensor weight, assay_tensor dy,
                                    assay_tensor dx, assay_tensor dweight) {
    const assay_params params = rmsnorm_params(w, false);
    const assay_tensor in[] = {x, weight, without_data(dy), dy}, out[] = {dx, dweight};
    call_part(w, "rmsnorm", w->parts->rmsnorm, ASSAY_BACKWARD, &params, in, out);
}

/* dh: what reaches h from elsewhere; dx = dr. */
static inline void rmsnorm_add_backward(walk *w, assay_tensor h, assay_tensor weight,
                                        assay_tensor dy, assay_tensor dh, assay_tensor dx,
                                        assay_tensor dr, assay_tensor dweight) {
    const assay_params params = rmsnorm_params(w, true);
    const assay_tensor none = without_data(h);
    const assay_tensor in[] = {none, none, weight, none, h, dy, dh}, out[] = {dx, dr, dweight};
    call_part(w, "rmsnorm", w->parts->rmsnorm, ASSAY_BACKWARD, &params, in, out);
}

/* ---- linear: y = x weightᵀ ---- */

static inline assay_params linear_params(const walk *w, const assay_tensor *weight) {
    assay_params params = strict_params(w->m.dtype);
    params.math = w->m.math;
    add_int(&params, "m", w->m.tokens);
    add_int(&params, "n", weight->shape[0]);
    add_int(&params, "k", weight->shape[1]);
    return params;
}

static inline void linear_forward(walk *w, assay_tensor x, assay_tensor weight, assay_tensor y) {
    const assay_params params = linear_params(w, &weight);
    const assay_tensor in[] = {x, weight}, out[] = {y};
    call_part(w, "linear", w->parts->linear, ASSAY_FORWARD, &params, in, out);
}

static inline void linear_backward(walk *w, assay_tensor x, assay_tensor weight, assay_tensor dy,
                                   assay_tensor dx, assay_tensor dweight) {
    const assay_params params = linear_params(w, &weight);
    const assay_tensor in[] = {x, weight, without_data(dy), dy}, out[] = {dx, dweight};
    call_part(w, "linear", w->parts->linear, ASSAY_BACKWARD, &params, in, out);
}

/* ---- attention, causal ---- */

static inline assay_params attention_params(const walk *w) {
    assay_params params = strict_params(w->m.dtype);
    params.math = w->m.math;
    add_int(&params, "b", w->m.b);
    add_int(&params, "h", w->m.heads);
    add_int(&params, "sq", w->m.t);
    add_int(&params, "sk", w->m.t);
    add_int(&params, "d", w->m.head_dim);
    add_int(&params, "causal", 1);
    return params;
}

static inline void attention_forward(walk *w, assay_tensor q, assay_tensor k, assay_tensor v,
                                     assay_tensor o, assay_tensor lse) {
    const assay_params params = attention_params(w);
    const assay_tensor in[] = {q, k, v}, out[] = {o, lse};
    call_part(w, "attention", w->parts->attention, ASSAY_FORWARD, &params, in, out);
}

/* The gradients of q, k and v. */
typedef struct attention_gradients {
    assay_tensor q, k, v;
} attention_gradients;

static inline void attention_backward(walk *w, assay_tensor q, assay_tensor k, assay_tensor v,
                                      assay_tensor o, assay_tensor lse, assay_tensor dout,
                                      attention_gradients d) {
    const assay_params params = attention_params(w);
    const assay_tensor in[] = {q, k, v, o, lse, dout}, out[] = {d.q, d.k, d.v};
    call_part(w, "attention", w->parts->attention, ASSAY_BACKWARD, &params, in, out);
}

/* ---- swiglu: y = silu(a) ⊙ b ---- */

static inline assay_params swiglu_params(const walk *w) {
    assay_params params = strict_params(w->m.dtype);
    add_int(&params, "n", w->m.tokens);
    add_int(&params, "d", w->m.ff);
    return params;
}

static inline void swiglu_forward(walk *w, assay_tensor a, assay_tensor b, assay_tensor y) {
    const assay_params params = swiglu_params(w);
    const assay_tensor in[] = {a, b}, out[] = {y};
    call_part(w, "swiglu", w->parts->swiglu, ASSAY_FORWARD, &params, in, out);
}

static inline void swiglu_backward(walk *w, assay_tensor a, assay_tensor b, assay_tensor dy,
                                   assay_tensor da, assay_tensor db) {
    const assay_params params = swiglu_params(w);
    const assay_tensor in[] = {a, b, without_data(dy), dy}, out[] = {da, db};
    call_part(w, "swiglu", w->parts->swiglu, ASSAY_BACKWARD, &params, in, out);
}

/* ---- cross_entropy: mean over tokens of lse - logit of the target ---- */

static inline assay_params cross_entropy_params(const walk *w, bool gradient) {
    assay_params params = strict_params(w->m.dtype);
    add_int(&params, "t", w->m.tokens);
    add_int(&params, "v", w->m.vocab);
    add_int(&params, "gradient", gradient ? 1 : 0);
    return params;
}

static inline void cross_entropy_forward(walk *w, assay_tensor logits, assay_tensor target,
                                         assay_tensor loss, assay_tensor lse) {
    const assay_params params = cross_entropy_params(w, false);
    const assay_tensor in[] = {logits, target}, out[] = {loss, lse};
    call_part(w, "cross_entropy", w->parts->cross_entropy, ASSAY_FORWARD, &params, in, out);
}

/* With the gradient of the loss itself, in the same call. */
static inline void cross_entropy_both(walk *w, assay_tensor logits, assay_tensor target,
                                      assay_tensor loss, assay_tensor lse, assay_tensor dlogits) {
    const assay_params params = cross_entropy_params(w, true);
    const assay_tensor in[] = {logits, target}, out[] = {loss, lse, dlogits};
    call_part(w, "cross_entropy", w->parts->cross_entropy, ASSAY_FORWARD, &params, in, out);
}

static inline void cross_entropy_backward(walk *w, assay_tensor logits, assay_tensor target,
                                          assay_tensor loss, assay_tensor lse, assay_tensor dloss,
                                          assay_tensor dlogits) {
    const assay_params params = cross_entropy_params(w, false);
    const assay_tensor in[] = {logits, target, loss, lse, dloss}, out[] = {dlogits};
    call_part(w, "cross_entropy", w->parts->cross_entropy, ASSAY_BACKWARD, &params, in, out);
}

/* ---- adamw: from p to another place, m and v in place, which the first step does not find ---- */

typedef struct optimiser_state {
    assay_tensor p, m, v;
} optimiser_state;

static inline void adamw_step(walk *w, int64_t step, assay_tensor p, assay_tensor g,
                              optimiser_state to) {
    assay_params params = strict_params(ASSAY_F32);
    add_int(&params, "n", g.shape[0]);
    add_int(&params, "step", step);
    add_real(&params, "lr", w->m.lr);
    add_real(&params, "beta1", ADAMW_BETA1);
    add_real(&params, "beta2", ADAMW_BETA2);
    add_real(&params, "eps", ADAMW_EPS);
    add_real(&params, "wd", w->m.wd);
    add_int(&params, "fresh", step == 1);
    const assay_tensor in[] = {p, g, to.m, to.v}, out[] = {to.p, to.m, to.v};
    assay_call call = {};
    call.params = &params;
    call.n_in = step == 1 ? 2 : 4;
    call.n_out = 3;
    call.in = in;
    call.out = out;
    call_part(w, "adamw", w->parts->adamw, ASSAY_FORWARD, &call);
}

#endif
