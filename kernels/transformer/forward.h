/*
 * Forward: the embedding, the layers, the last norm. The residual stream never has an addition of
 * its own: a branch's result waits in `branch` until the next norm adds it (rmsnorm, residual=1).
 *
 *     x' = x + O attention(rope(Q h), rope(K h), V h),  h = rmsnorm(x)
 *     x  = x' + W2 (silu(W1 h) ⊙ W3 h),                 h = rmsnorm(x')
 */
#ifndef ASSAY_TRANSFORMER_FORWARD_H
#define ASSAY_TRANSFORMER_FORWARD_H

#include "kernels/transformer/activations.h"
#include "kernels/transformer/elementwise.h"
#include "kernels/transformer/operators.h"

/* heads = x weightᵀ, by heads; `rows` is room for it by tokens. */
static inline void project(walk *w, assay_tensor x, int64_t weight, assay_tensor rows,
                           assay_tensor heads) {
    linear_forward(w, x, weight_of(w, weight), rows);
    split_heads(w, rows, heads);
}

static inline void attention_branch(walk *w, int64_t layer, const activations *s,
                                    assay_tensor branch) {
    const size_t before = mark(w);
    const assay_tensor rows = take_rows(w, w->m.d), heads = take_heads(w);
    project(w, s->first, layer_weight(layer, Q), rows, heads);
    rope_forward(w, heads, s->q);
    project(w, s->first, layer_weight(layer, K), rows, heads);
    rope_forward(w, heads, s->k);
    project(w, s->first, layer_weight(layer, V), rows, s->v);
    attention_forward(w, s->q, s->k, s->v, s->o, s->lse);
    merge_heads(w, s->o, s->merged);
    linear_forward(w, s->merged, weight_of(w, layer_weight(layer, OUTPUT)), branch);
    go_back(w, before);
}

static inline void feed_forward_branch(walk *w, int64_t layer, const activations *s,
                                       assay_tensor branch) {
    linear_forward(w, s->second, weight_of(w, layer_weight(layer, W1)), s->a);
    linear_forward(w, s->second, weight_of(w, layer_weight(layer, W3)), s->b);
    swiglu_forward(w, s->a, s->b, s->gated);
    linear_forward(w, s->gated, weight_of(w, layer_weight(layer, W2)), branch);
}

/* The stream behind the layers, and normalised: what the head sees. */
typedef struct last_norm {
    assay_tensor x, y;
} last_norm;

static inline last_norm take_last_norm(walk *w) {
    const assay_tensor x = take_rows(w, w->m.d);
    return {x, take_rows(w, w->m.d)};
}

/* `tokens`: one batch, [tokens]. */
static inline void forward_layers(walk *w, assay_tensor tokens, const store *kept,
                                  const last_norm *last) {
    const size_t before = mark(w);
    const assay_tensor branch = take_rows(w, w->m.d);
    activations s = activations_of(w, kept, 0);
    embedding_forward(w, tokens, weight_of(w, EMBEDDING_WEIGHT), s.x);
    rmsnorm_forward(w, s.x, weight_of(w, layer_weight(0, LN1)), s.first);
    for (int64_t layer = 0; layer < w->m.layers; ++layer) {
        attention_branch(w, layer, &s, branch);
        rmsnorm_add_forward(w, s.x, branch, weight_of(w, layer_weight(layer, LN2)), s.middle,
                            s.second);
        feed_forward_branch(w, layer, &s, branch);
        if (layer + 1 == w->m.layers)
            break;
        const activations next = activations_of(w, kept, layer + 1);
        rmsnorm_add_forward(w, s.middle, branch, weight_of(w, layer_weight(layer + 1, LN1)), next.x,
                            next.first);
        s = next;
    }
    rmsnorm_add_forward(w, s.middle, branch, weight_of(w, final_norm_weight(&w->m)), last->x,
                        last->y);
    go_back(w, before);
}

#endif
