/*
 * Backward, from dlogits to the gradient of every parameter, through forward's steps in reverse.
 * The residual stream's cotangent goes around each branch inside of the norm that had added the
 * branch, so that it is rounded once there. The input of q, k and v gets its gradient by three
 * ways, that of W1 and W3 by two, which are added in fp32.
 */
#ifndef ASSAY_TRANSFORMER_BACKWARD_H
#define ASSAY_TRANSFORMER_BACKWARD_H

#include "kernels/transformer/forward.h"

/* ---- gradients of parameters: fp32, whatever dtype the operators give ---- */

/* Where the operator writes: the gradient itself, or room in its dtype. */
static inline assay_tensor gradient_room(walk *w, int64_t p) {
    if (w->m.dtype == ASSAY_F32)
        return parameter_of(&w->m, &w->gradients, p);
    const assay_tensor like = weight_of(w, p);
    return dense_at(take(w, assay_tensor_count(&like), like.dtype), like.dtype, like.rank,
                    like.shape);
}

static inline void deliver_gradient(walk *w, int64_t p, assay_tensor made) {
    if (w->m.dtype != ASSAY_F32)
        copy(w, made, parameter_of(&w->m, &w->gradients, p));
}

static inline void backward_linear(walk *w, assay_tensor x, int64_t p, assay_tensor dy,
                                   assay_tensor dx) {
    const size_t before = mark(w);
    const assay_tensor made = gradient_room(w, p);
    linear_backward(w, x, weight_of(w, p), dy, dx, made);
    deliver_gradient(w, p, made);
    go_back(w, before);
}

/* ---- the stream ---- */

/* The cotangent of the residual stream where a norm reads it, and of the branch that was added
 * there: the same numbers. */
typedef struct stream {
    assay_tensor x, branch;
} stream;

static inline void backward_norm(walk *w, assay_tensor h, int64_t p, assay_tensor dy,
                                 assay_tensor dh, const stream *to) {
    const size_t before = mark(w);
    const assay_tensor made = gradient_room(w, p);
    rmsnorm_add_backward(w, h, weight_of(w, p), dy, dh, to->x, to->branch, made);
    deliver_gradient(w, p, made);
    go_back(w, before);
}

static inline void backward_last_norm(walk *w, assay_tensor x, assay_tensor dy, assay_tensor dx) {
    const size_t before = mark(w);
    const int64_t p = final_norm_weight(&w->m);
    const assay_tensor made = gradient_room(w, p);
    rmsnorm_backward(w, x, weight_of(w, p), dy, dx, made);
    deliver_gradient(w, p, made);
    go_back(w, before);
}

/* ---- the branches: dbranch to the gradient of the branch's input ---- */

static inline void backward_feed_forward(walk *w, int64_t layer, const activations *s,
                                         assay_tensor dbranch, assay_tensor dinput) {
    const size_t before = mark(w);
    const assay_tensor dgated = take_rows(w, w->m.ff), da = take_rows(w, w->m.ff),
                       db = take_rows(w, w->m.ff);
    const assay_tensor by_w1 = take_rows(w, w->m.d), by_w3 = take_rows(w, w->m.d);
    backward_linear(w, s->gated, layer_weight(layer, W2), dbranch, dgated);
    swiglu_backward(w, s->a, s->b, dgated, da, db);
    backward_linear(w, s->second, layer_weight(layer, W1), da, by_w1);
    backward_linear(w, s->second, layer_weight(layer, W3), db, by_w3);
    add_two(w, by_w1, by_w3, dinput);
    go_back(w, before);
}

/* Of a projection by heads. */
static inline void backward_project(walk *w, assay_tensor x, int64_t p, assay_tensor dheads,
                                    assay_tensor dx) {
    const size_t before = mark(w);
    const assay_tensor drows = take_rows(w, w->m.d);
    merge_heads(w, dheads, drows);
    backward_linear(w, x, p, drows, dx);
    go_back(w, before);
}

static inline void backward_rotated(walk *w, assay_tensor x, int64_t p, assay_tensor dheads,
                                    assay_tensor dx) {
    const size_t before = mark(w);
    const assay_tensor dplain = take_heads(w);
    rope_backward(w, dheads, dplain);
    backward_project(w, x, p, dplain, dx);
    go_back(w, before);
}

/* o's gradient by heads, from the branch's. */
static inline void backward_output(walk *w, int64_t layer, const activations *s,
                                   assay_tensor dbranch, assay_tensor dout) {
    const size_t before = mark(w);
    const assay_tensor dmerged = take_rows(w, w->m.d);
    backward_linear(w, s->merged, layer_weight(layer, OUTPUT), dbranch, dmerged);
    split_heads(w, dmerged, dout);
    go_back(w, before);
}

static inline void backward_attention(walk *w, int64_t layer, const activations *s,
                                      assay_tensor dbranch, assay_tensor dinput) {
    const size_t before = mark(w);
    const assay_tensor dout = take_heads(w);
    const attention_gradients d = {take_heads(w), take_heads(w), take_heads(w)};
    const assay_tensor by_q = take_rows(w, w->m.d), by_k = take_rows(w, w->m.d),
                       by_v = take_rows(w, w->m.d);
    backward_output(w, layer, s, dbranch, dout);
    attention_backward(w, s->q, s->k, s->v, s->o, s->lse, dout, d);
    backward_rotated(w, s->first, layer_weight(layer, Q), d.q, by_q);
    backward_rotated(w, s->first, layer_weight(layer, K), d.k, by_k);
    backward_project(w, s->first, layer_weight(layer, V), d.v, by_v);
    add_three(w, by_q, by_k, by_v, dinput);
    go_back(w, before);
}

/* ---- all layers ---- */

static inline void backward_embedding(walk *w, assay_tensor tokens, assay_tensor dy) {
    const size_t before = mark(w);
    const assay_tensor made = gradient_room(w, EMBEDDING_WEIGHT);
    embedding_backward(w, tokens, weight_of(w, EMBEDDING_WEIGHT), dy, made);
    deliver_gradient(w, EMBEDDING_WEIGHT, made);
    go_back(w, before);
}

/* From the gradient of the last norm's result, `dlast`. */
static inline void backward_layers(walk *w, assay_tensor tokens, const store *kept,
                                   const last_norm *last, assay_tensor dlast) {
    const size_t before = mark(w);
    const assay_tensor even = take_rows(w, w->m.d), odd = take_rows(w, w->m.d),
                       branch = take_rows(w, w->m.d), dinput = take_rows(w, w->m.d);
    const stream middle = {odd, branch}, start = {even, branch};
    stream d = {even, even};
    backward_last_norm(w, last->x, dlast, even);
    for (int64_t layer = w->m.layers - 1; layer >= 0; --layer) {
        const activations s = activations_of(w, kept, layer);
        backward_feed_forward(w, layer, &s, d.branch, dinput);
        backward_norm(w, s.middle, layer_weight(layer, LN2), dinput, d.x, &middle);
        backward_attention(w, layer, &s, middle.branch, dinput);
        backward_norm(w, s.x, layer_weight(layer, LN1), dinput, middle.x, &start);
        d = start;
    }
    backward_embedding(w, tokens, d.x);
    go_back(w, before);
}

#endif
