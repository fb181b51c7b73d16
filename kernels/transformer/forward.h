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
#include "kernels/transformer/fuse.h"
#include "kernels/transformer/heads.h"
#include "kernels/transformer/operators.h"
#include "kernels/transformer/weights.h"

/* q, k and v, of which the first two are one tensor, and turned. */
static inline heads three_heads(const assay_tensor *q_and_k, assay_tensor v) {
    return {{part_of(q_and_k, 0, 2), part_of(q_and_k, 1, 2), v}, 3, 2};
}
static inline heads one_of_heads(assay_tensor o) {
    return {{o}, 1, 0};
}

/* q, k and v by heads as one tensor, where v lies behind the others: else it has no data. */
static inline assay_tensor all_heads(const model *m, const assay_tensor *q_and_k,
                                     const assay_tensor *v) {
    const int64_t shape[] = {3 * m->b, m->heads, m->t, m->head_dim};
    const bool behind = v->data == part_of(q_and_k, 2, 2).data;
    return dense_at(behind ? q_and_k->data : NULL, v->dtype, 4, shape);
}

/* ---- the branches ---- */

/* With copies where there may be some. */
static inline void product_of_rows(walk *w, int64_t layer, enum layer_block which, assay_tensor x,
                                   assay_tensor weight, assay_tensor y) {
    copies_ahead ahead = copies_by(w, layer, which);
    if (!ahead.spare)
        linear_forward(w, x, weight, y);
    else if (runs(w))
        w->status = may_fuse(w)->forward(w->stream, x, weight, y, w->m.tokens, NULL, 0, &ahead);
    note_copied(w, &ahead);
}

static inline void project_heads(walk *w, int64_t layer, const activations *s) {
    const fusions *f = fused_heads(w);
    const size_t before = mark(w);
    const assay_tensor weight = brought_weight(w, block_in(layer, QKV));
    const assay_tensor all = all_heads(&w->m, &s->rotated, &s->v);
    if (f != NULL && all.data != NULL) {
        copies_ahead ahead = copies_by(w, layer, QKV);
        if (runs(w))
            w->status = f->forward(w->stream, s->first, weight, all, w->m.tokens,
                                   static_cast<const float *>(w->angles.data), 2 * w->m.d, &ahead);
        note_copied(w, &ahead);
        return;
    }
    const assay_tensor rows = take_rows(w, 3 * w->m.d);
    product_of_rows(w, layer, QKV, s->first, weight, rows);
    split_heads(w, rows, three_heads(&s->rotated, s->v));
    go_back(w, before);
}

static inline void project_output(walk *w, int64_t layer, const activations *s,
                                  assay_tensor branch) {
    const fusions *f = fused_heads(w);
    const assay_tensor weight = brought_weight(w, block_in(layer, PROJECTION));
    if (f != NULL) {
        copies_ahead ahead = copies_by(w, layer, PROJECTION);
        if (runs(w))
            w->status = f->forward(w->stream, s->o, weight, branch, w->m.tokens, NULL, 0, &ahead);
        note_copied(w, &ahead);
        return;
    }
    merge_heads(w, one_of_heads(s->o), s->merged);
    product_of_rows(w, layer, PROJECTION, s->merged, weight, branch);
}

static inline void attention_branch(walk *w, int64_t layer, const activations *s,
                                    assay_tensor branch) {
    project_heads(w, layer, s);
    attention_forward(w, part_of(&s->rotated, 0, 2), part_of(&s->rotated, 1, 2), s->v, s->o,
                      s->lse);
    project_output(w, layer, s, branch);
}

/* `keep`: for a backward. */
static inline void feed_forward_branch(walk *w, int64_t layer, const activations *s, bool keep,
                                       assay_tensor branch) {
    const fusions *f = fused_gates(w);
    const assay_tensor weights = brought_weight(w, block_in(layer, GATES));
    if (f == NULL) {
        linear_forward(w, s->second, weights, s->gates);
        swiglu_forward(w, columns_of(&s->gates, 0, w->m.ff),
                       columns_of(&s->gates, w->m.ff, w->m.ff), s->gated);
    } else if (runs(w)) {
        copies_ahead ahead = copies_by(w, layer, GATES);
        w->status =
            f->gates_forward(w->stream, s->second, weights, s->gates, s->gated, keep, &ahead);
        note_copied(w, &ahead);
    }
    const assay_tensor down = brought_weight(w, block_in(layer, DOWN));
    if (f == NULL || !f->rows_fit(w->m.tokens, w->m.d, w->m.ff))
        linear_forward(w, s->gated, down, branch);
    else if (runs(w)) {
        copies_ahead ahead = copies_by(w, layer, DOWN);
        w->status = f->forward(w->stream, s->gated, down, branch, w->m.tokens, NULL, 0, &ahead);
        note_copied(w, &ahead);
    }
}

static inline void embed_tokens(walk *w, assay_tensor tokens, assay_tensor x) {
    const fusions *f = embeds(w);
    if (f == NULL)
        embedding_forward(w, tokens, weight_of(w, EMBEDDING), x);
    else if (runs(w))
        w->status = f->embed(w->stream, tokens, w->parameters[EMBEDDING_WEIGHT], x);
}

/* The stream behind the layers, and normalised: what the head sees. */
typedef struct last_norm {
    assay_tensor x, y;
} last_norm;

static inline last_norm take_last_norm(walk *w) {
    const assay_tensor x = take_rows(w, w->m.d);
    return {x, take_rows(w, w->m.d)};
}

/* `tokens`: one batch, (tokens). */
static inline void forward_layers(walk *w, assay_tensor tokens, const store *kept,
                                  const last_norm *last) {
    const size_t before = mark(w);
    const assay_tensor branch = take_rows(w, w->m.d);
    activations s = activations_of(w, kept, 0);
    embed_tokens(w, tokens, s.x);
    rmsnorm_forward(w, s.x, brought_weight(w, block_in(0, FIRST_NORM)), s.first);
    for (int64_t layer = 0; layer < w->m.layers; ++layer) {
        attention_branch(w, layer, &s, branch);
        rmsnorm_add_forward(w, s.x, branch, brought_weight(w, block_in(layer, SECOND_NORM)),
                            s.middle, s.second);
        feed_forward_branch(w, layer, &s, kept->all, branch);
        if (layer + 1 == w->m.layers)
            break;
        const activations next = activations_of(w, kept, layer + 1);
        rmsnorm_add_forward(w, s.middle, branch, brought_weight(w, block_in(layer + 1, FIRST_NORM)),
                            next.x, next.first);
        s = next;
    }
    rmsnorm_add_forward(w, s.middle, branch, brought_weight(w, last_norm_block(&w->m)), last->x,
                        last->y);
    bring_weight(w, head_block(&w->m));
    go_back(w, before);
}

#endif
