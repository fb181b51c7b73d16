/* The weights as the operators read them: a copy of the parameters, block on block, in bf16
 * rounded. */
#ifndef ASSAY_TRANSFORMER_WEIGHTS_H
#define ASSAY_TRANSFORMER_WEIGHTS_H

#include "kernels/transformer/copies.h"
#include "kernels/transformer/fuse.h"
#include "kernels/transformer/gradients.h"

/* Adds a block's parameters; launches what there is where the list could not take another block. */
static inline void add_block(walk *w, copies *list, const assay_tensor *parameters,
                             int64_t number) {
    const block b = block_of(&w->m, number);
    const assay_tensor to = weight_of(w, number);
    if (list->count + b.count > MOST_COPIES) {
        copy_all(w, list);
        list->count = 0;
    }
    for (int64_t i = 0; i < b.count; ++i)
        add_copy(list, parameters[b.first + i * b.step], part_of(&to, i, b.count));
}

/* ---- ahead ---- */

static inline bool can_go_ahead(const assay_tensor *p) {
    const int64_t n = assay_tensor_count(p);
    return p->dtype == ASSAY_F32 && is_dense(p) && (uintptr_t)p->data % PACK_BYTES == 0 &&
           n % pack<__nv_bfloat16>::size == 0;
}

/* Whether products may copy the parameters of the layer behind theirs: of few tokens they would
 * wait for it. On an H100, d = 768, a layer's norms and three of its products take 5 us longer than
 * 139 with 4,096 tokens, 45 longer than 41 with 512; a copy by itself takes 20. In tokens for each
 * multiprocessor: */
enum { AHEAD_TOKENS = 15 };

static inline bool goes_ahead(const walk *w, const assay_tensor *parameters) {
    const fusions *f = fused_gates(w);
    bool all = f != NULL && f->rows_fit(w->m.tokens, w->m.d, w->m.ff) &&
               w->m.tokens >= AHEAD_TOKENS * (int64_t)ASSAY_MULTIPROCESSORS;
    for (int64_t p = 0; all && p < parameter_count(&w->m); ++p)
        all = can_go_ahead(&parameters[p]);
    return all;
}

static inline void add_ahead(walk *w, copies_ahead *all, int64_t number) {
    const block b = block_of(&w->m, number);
    const assay_tensor to = weight_of(w, number);
    for (int64_t i = 0; i < b.count; ++i) {
        const assay_tensor part = part_of(&to, i, b.count);
        const int32_t k = all->count++;
        all->from[k] = static_cast<const float *>(w->ahead[b.first + i * b.step].data);
        all->to[k] = static_cast<__nv_bfloat16 *>(part.data);
        all->elements[k] = assay_tensor_count(&part);
        all->end[k] = (k > 0 ? all->end[k - 1] : 0) + ceil_div(all->elements[k], AHEAD_PIECE);
    }
}

/* Parts of the copies behind this layer: the gates' product, which takes as long as twice the next
 * one, makes AHEAD_GATES of AHEAD_PARTS. */
enum { AHEAD_GATES = 11, AHEAD_PARTS = 16 };

static inline copies_ahead copies_behind(walk *w, int64_t layer, bool gates) {
    copies_ahead all = {};
    if (w->ahead == NULL || !runs(w))
        return all;
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

/* ---- at once ---- */

/* The parameters of some layers in one launch; where products go ahead, of the first layer. */
static inline void load_weights(walk *w, const assay_tensor *parameters) {
    copies list = {};
    w->ahead = goes_ahead(w, parameters) ? parameters : NULL;
    const int64_t last = w->ahead != NULL ? block_in(0, DOWN) : head_block(&w->m);
    for (int64_t number = FIRST_LAYER_BLOCK; number <= last; ++number)
        add_block(w, &list, parameters, number);
    add_block(w, &list, parameters, EMBEDDING);
    copy_all(w, &list);
}

#endif
