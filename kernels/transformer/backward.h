/*
 * Backward, from dlogits to the gradient of every parameter, through forward's steps in reverse.
 * The residual stream's cotangent goes around each branch inside of the norm that had added the
 * branch, so that it is rounded once there. The gradient that q, k and v, or both gates, give for
 * their input is one product, and so rounded once.
 */
#ifndef ASSAY_TRANSFORMER_BACKWARD_H
#define ASSAY_TRANSFORMER_BACKWARD_H

#include "kernels/transformer/forward.h"
#include "kernels/transformer/gradients.h"

/* The weight's gradient alone, by a composition that has that of x elsewhere. */
static inline void backward_weight(walk *w, const fusions *f, assay_tensor x, int64_t number,
                                   assay_tensor dy) {
    const size_t before = mark(w);
    const block b = block_of(&w->m, number);
    const grad_parts to = wanted_gradient(w, &b);
    if (f->grad_fits(dy, x, to, w->m.tokens)) {
        if (runs(w))
            w->status = f->grad(w->stream, dy, x, to, w->m.tokens);
        if (w->training != NULL)
            update_block(w, number, &b, &to.part[0]);
    } else {
        const assay_tensor made = gradient_room(w, number);
        if (runs(w))
            w->status = f->dw(w->stream, dy, x, made, w->m.tokens);
        deliver_gradient(w, number, made);
    }
    go_back(w, before);
}

static inline void backward_linear(walk *w, assay_tensor x, int64_t block, assay_tensor dy,
                                   assay_tensor dx) {
    const size_t before = mark(w);
    const fusions *f = may_fuse(w);
    const assay_tensor weight = weight_of(w, block);
    if (f != NULL && f->rows_fit(w->m.tokens, weight.shape[0], weight.shape[1])) {
        if (runs(w))
            w->status = f->dx(w->stream, dy, weight, dx, w->m.tokens);
        backward_weight(w, f, x, block, dy);
        return;
    }
    const assay_tensor made = gradient_room(w, block);
    linear_backward(w, x, weight, dy, dx, made);
    deliver_gradient(w, block, made);
    go_back(w, before);
}

/* ---- the stream ---- */

/* The cotangent of the residual stream where a norm reads it, and of the branch that was added
 * there: the same numbers. */
typedef struct stream {
    assay_tensor x, branch;
} stream;

static inline void backward_norm(walk *w, assay_tensor h, int64_t block, assay_tensor dy,
                                 assay_tensor dh, const stream *to) {
    const size_t before = mark(w);
    const assay_tensor made = gradient_room(w, block);
    rmsnorm_add_backward(w, h, weight_of(w, block), dy, dh, to->x, to->branch, made);
    deliver_gradient(w, block, made);
    go_back(w, before);
}

static inline void backward_last_norm(walk *w, assay_tensor x, assay_tensor dy, assay_tensor dx) {
    const size_t before = mark(w);
    const int64_t block = last_norm_block(&w->m);
    const assay_tensor made = gradient_room(w, block);
    rmsnorm_backward(w, x, weight_of(w, block), dy, dx, made);
    deliver_gradient(w, block, made);
    go_back(w, before);
}

/* ---- the branches: dbranch to the gradient of the branch's input ---- */

/* From the branch's gradient to that of both gates. */
static inline void backward_gates(walk *w, int64_t layer, const activations *s,
                                  assay_tensor dbranch, assay_tensor dgates) {
    const size_t before = mark(w);
    const int64_t ff = w->m.ff;
    const fusions *f = fused_gates(w);
    if (f != NULL) {
        if (runs(w))
            w->status = f->gates_backward(w->stream, dbranch, weight_of(w, block_in(layer, DOWN)),
                                          s->gates, dgates);
        backward_weight(w, f, s->gated, block_in(layer, DOWN), dbranch);
        return;
    }
    const assay_tensor dgated = take_rows(w, ff);
    backward_linear(w, s->gated, block_in(layer, DOWN), dbranch, dgated);
    swiglu_backward(w, columns_of(&s->gates, 0, ff), columns_of(&s->gates, ff, ff), dgated,
                    columns_of(&dgates, 0, ff), columns_of(&dgates, ff, ff));
    go_back(w, before);
}

static inline void backward_feed_forward(walk *w, int64_t layer, const activations *s,
                                         assay_tensor dbranch, assay_tensor dinput) {
    const size_t before = mark(w);
    const assay_tensor dgates = take_rows(w, 2 * w->m.ff);
    backward_gates(w, layer, s, dbranch, dgates);
    backward_linear(w, s->second, block_in(layer, GATES), dgates, dinput);
    go_back(w, before);
}

/* o's gradient by heads, from the branch's. */
static inline void backward_output(walk *w, int64_t layer, const activations *s,
                                   assay_tensor dbranch, assay_tensor dout) {
    const size_t before = mark(w);
    const fusions *f = fused_heads(w);
    if (f != NULL) {
        if (runs(w))
            w->status = f->dx(w->stream, dbranch, weight_of(w, block_in(layer, PROJECTION)), dout,
                              w->m.tokens);
        backward_weight(w, f, s->o, block_in(layer, PROJECTION), dbranch);
        return;
    }
    const assay_tensor dmerged = take_rows(w, w->m.d);
    backward_linear(w, s->merged, block_in(layer, PROJECTION), dbranch, dmerged);
    split_heads(w, dmerged, one_of_heads(dout));
    go_back(w, before);
}

/* From the gradients of q, k and v by heads, the first two as turned, to the branch's input's. */
static inline void backward_heads(walk *w, int64_t layer, const activations *s,
                                  assay_tensor drotated, assay_tensor dv, assay_tensor dinput) {
    const size_t before = mark(w);
    const fusions *f = fused_heads(w);
    const int64_t block = block_in(layer, QKV);
    const assay_tensor all = all_heads(&w->m, &drotated, &dv);
    if (f != NULL && all.data != NULL) {
        turn_heads_back(w, drotated);
        if (runs(w))
            w->status = f->dx(w->stream, all, weight_of(w, block), dinput, w->m.tokens);
        backward_weight(w, f, s->first, block, all);
        return;
    }
    const assay_tensor drows = take_rows(w, 3 * w->m.d);
    merge_heads(w, three_heads(&drotated, dv), drows);
    backward_linear(w, s->first, block, drows, dinput);
    go_back(w, before);
}

static inline void backward_attention(walk *w, int64_t layer, const activations *s,
                                      assay_tensor dbranch, assay_tensor dinput) {
    const size_t before = mark(w);
    const assay_tensor drotated = take_heads(w, 2), dv = take_heads(w, 1), dout = take_heads(w, 1);
    backward_output(w, layer, s, dbranch, dout);
    attention_backward(w, part_of(&s->rotated, 0, 2), part_of(&s->rotated, 1, 2), s->v, s->o,
                       s->lse, dout, {part_of(&drotated, 0, 2), part_of(&drotated, 1, 2), dv});
    backward_heads(w, layer, s, drotated, dv, dinput);
    go_back(w, before);
}

/* ---- all layers ---- */

static inline void backward_embedding(walk *w, assay_tensor tokens, assay_tensor dy) {
    const size_t before = mark(w);
    const assay_tensor made = gradient_room(w, EMBEDDING);
    embedding_backward(w, tokens, weight_of(w, EMBEDDING), dy, made);
    deliver_gradient(w, EMBEDDING, made);
    go_back(w, before);
}

/* From the gradient of the layer's result, d, to that of its input, `start`. */
static inline void backward_layer(walk *w, int64_t layer, const store *kept, stream d,
                                  const stream *middle, const stream *start, assay_tensor dinput) {
    const activations s = activations_of(w, kept, layer);
    backward_feed_forward(w, layer, &s, d.branch, dinput);
    backward_norm(w, s.middle, block_in(layer, SECOND_NORM), dinput, d.x, middle);
    backward_attention(w, layer, &s, middle->branch, dinput);
    backward_norm(w, s.x, block_in(layer, FIRST_NORM), dinput, middle->x, start);
}

/* Where nothing else is done with them, a layer's gradients are given together. */
static inline void give_layer(walk *w, int64_t layer, const store *kept, stream d,
                              const stream *middle, const stream *start, assay_tensor dinput) {
    const size_t before = mark(w);
    layer_gradients all = take_layer_gradients(w, layer);
    w->layer = &all;
    backward_layer(w, layer, kept, d, middle, start, dinput);
    copy_all(w, &all.list);
    w->layer = NULL;
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
        if (w->training != NULL)
            backward_layer(w, layer, kept, d, &middle, &start, dinput);
        else
            give_layer(w, layer, kept, d, &middle, &start, dinput);
        d = start;
    }
    backward_embedding(w, tokens, d.x);
    go_back(w, before);
}

#endif
