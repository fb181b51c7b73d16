/*
 * Which parameters a product rounds to bf16 for products to come (fusions.h).
 *
 * Of many tokens, the products of a layer's feed-forward copy the next layer by warps that have no
 * role in them. Of few, which leave multiprocessors without a tile, all of a layer's products copy:
 * blocks without a tile take the pieces that follow those taken before, in the order in which
 * weights are read. What is read next and was not reached, a kernel copies (weights.h).
 */
#ifndef ASSAY_TRANSFORMER_AHEAD_H
#define ASSAY_TRANSFORMER_AHEAD_H

#include "kernels/transformer/fuse.h"
#include "kernels/transformer/gradients.h"

static inline bool can_go_ahead(const assay_tensor *p) {
    const int64_t n = assay_tensor_count(p);
    return p->dtype == ASSAY_F32 && is_dense(p) && (uintptr_t)p->data % PACK_BYTES == 0 &&
           n % pack<__nv_bfloat16>::size == 0;
}

/* Whether products may copy all parameters. */
static inline bool products_copy(const walk *w) {
    const fusions *f = fused_gates(w);
    const model *m = &w->m;
    bool all =
        f != NULL && f->rows_fit(m->tokens, m->d, m->ff) && f->rows_fit(m->tokens, 3 * m->d, m->d);
    for (int64_t p = 0; all && p < parameter_count(m); ++p)
        all = can_go_ahead(&w->parameters[p]);
    return all;
}

/* Whether idle warps copy. Of few tokens products would wait for them: on an H100, d = 768, a
 * layer's norms and three of its products take 5 us longer than 139 with 4,096 tokens, 45 longer
 * than 41 with 512. With 2,048 tokens forward of large, xl and 2.7b takes 9.9, 20.1 and 31.6 ms
 * so, 8.7, 18.3 and 28.9 by spare blocks; with 4,096, xl, 32.6 and 32.9. In tokens for each
 * multiprocessor:
 */
enum { AHEAD_TOKENS = 24 };

static inline bool has_many_tokens(const model *m) {
    return m->tokens >= AHEAD_TOKENS * (int64_t)ASSAY_MULTIPROCESSORS;
}

static inline void add_ahead(const walk *w, copies_ahead *all, int64_t number) {
    const block b = block_of(&w->m, number);
    const assay_tensor to = weight_of(w, number);
    const int64_t piece = all->spare ? SPARE_PIECE : AHEAD_PIECE;
    for (int64_t i = 0; i < b.count; ++i) {
        const assay_tensor part = part_of(&to, i, b.count);
        const int32_t k = all->count++;
        all->from[k] = static_cast<const float *>(w->parameters[b.first + i * b.step].data);
        all->to[k] = static_cast<__nv_bfloat16 *>(part.data);
        all->elements[k] = assay_tensor_count(&part);
        all->end[k] = (k > 0 ? all->end[k - 1] : 0) + ceil_div(all->elements[k], piece);
    }
}

/* ---- many tokens ---- */

/* Parts of the copies behind this layer: the gates' product, which takes as long as twice the next
 * one, makes AHEAD_GATES of AHEAD_PARTS. */
enum { AHEAD_GATES = 11, AHEAD_PARTS = 16 };

static inline copies_ahead copies_behind(const walk *w, int64_t layer, bool gates) {
    copies_ahead all = {};
    if (layer + 1 < w->m.layers) {
        for (int64_t which = 0; which < LAYER_BLOCKS; ++which)
            add_ahead(w, &all, block_in(layer + 1, FIRST_NORM) + which);
    } else {
        add_ahead(w, &all, last_norm_block(&w->m));
        add_ahead(w, &all, head_block(&w->m));
    }
    const int64_t pieces = all.end[all.count - 1], cut = pieces * AHEAD_GATES / AHEAD_PARTS;
    all.first = gates ? 0 : cut;
    all.last = gates ? cut : pieces;
    return all;
}

/* ---- few tokens ---- */

/* How far copies may be ahead of the weight that is read, so that most are in the second level's
 * cache when they are. */
static constexpr int64_t LEAD_BYTES = (int64_t)60 << 20;

static inline int64_t weight_bytes(const walk *w, int64_t number) {
    return block_length(&w->m, number) * (int64_t)assay_dtype_size(w->m.dtype);
}

/* What the product with block `number` may copy. */
static inline copies_ahead copies_to_come(const walk *w, int64_t number) {
    copies_ahead all = {};
    all.spare = true;
    int64_t left = LEAD_BYTES;
    for (int64_t ahead = number + 1; ahead < w->next; ++ahead)
        left -= weight_bytes(w, ahead);
    for (int64_t ahead = w->next;
         left > 0 && ahead <= head_block(&w->m) && all.count + MOST_PARTS <= MOST_AHEAD; ++ahead) {
        add_ahead(w, &all, ahead);
        left -= weight_bytes(w, ahead);
    }
    all.first = w->done;
    all.last = all.count > 0 ? all.end[all.count - 1] : all.first;
    return all;
}

/* ---- both ---- */

static inline copies_ahead copies_by(const walk *w, int64_t layer, enum layer_block which) {
    if (!runs(w))
        return none_ahead;
    if (w->spare)
        return copies_to_come(w, block_in(layer, which));
    return w->ahead && (which == GATES || which == DOWN) ? copies_behind(w, layer, which == GATES)
                                                         : none_ahead;
}

/* What it has copied. */
static inline void note_copied(walk *w, const copies_ahead *all) {
    if (!w->spare || !runs(w))
        return;
    w->done = all->last;
    for (; w->next <= head_block(&w->m); ++w->next) {
        const block b = block_of(&w->m, w->next);
        const int64_t pieces = b.count * ceil_div(part_length(&b), SPARE_PIECE);
        if (w->done < pieces)
            break;
        w->done -= pieces;
    }
}

#endif
