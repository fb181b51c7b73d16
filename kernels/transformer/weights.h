/* The weights as the operators read them: a copy of the parameters, block on block, in bf16
 * rounded. */
#ifndef ASSAY_TRANSFORMER_WEIGHTS_H
#define ASSAY_TRANSFORMER_WEIGHTS_H

#include "kernels/transformer/ahead.h"
#include "kernels/transformer/copies.h"

/* Adds a block's parameters; launches what there is where the list could not take another block. */
static inline void add_block(walk *w, copies *list, int64_t number) {
    const block b = block_of(&w->m, number);
    const assay_tensor to = weight_of(w, number);
    if (list->count + b.count > MOST_COPIES) {
        copy_all(w, list);
        list->count = 0;
    }
    for (int64_t i = 0; i < b.count; ++i)
        add_copy(list, w->parameters[b.first + i * b.step], part_of(&to, i, b.count));
}

/* ---- the embedding ---- */

/* Where the embedding's rows are read from the parameter itself, which then has no copy. */
static inline const fusions *embeds(const walk *w) {
    const fusions *f = may_fuse(w);
    const assay_tensor *table = &w->parameters[EMBEDDING_WEIGHT];
    return f != NULL && w->m.d % pack<__nv_bfloat16>::size == 0 && can_go_ahead(table) ? f : NULL;
}

/* ---- at once ---- */

/* The parameters of some layers in one launch; where products go ahead, of the first layer; where
 * their spare blocks do, of none yet. */
static inline void load_weights(walk *w, const assay_tensor *parameters) {
    copies list = {};
    w->parameters = parameters;
    const bool copy = products_copy(w), many = has_many_tokens(&w->m);
    w->ahead = copy && many;
    w->spare = copy && !many;
    w->next = FIRST_LAYER_BLOCK;
    w->done = 0;
    const int64_t last = w->ahead ? block_in(0, DOWN) : head_block(&w->m);
    for (int64_t number = FIRST_LAYER_BLOCK; !w->spare && number <= last; ++number)
        add_block(w, &list, number);
    if (embeds(w) == NULL)
        add_block(w, &list, EMBEDDING);
    if (list.count > 0)
        copy_all(w, &list);
}

/* ---- late ---- */

/* Where kernels copy weights because products have not, they go on to as many bytes. */
static constexpr int64_t LATE_BYTES = (int64_t)24 << 20;

/* What is left of the next block, of which products have copied some pieces. */
static inline void add_rest(walk *w, copies *list) {
    const block b = block_of(&w->m, w->next);
    const assay_tensor to = weight_of(w, w->next);
    const int64_t n = part_length(&b), pieces = ceil_div(n, SPARE_PIECE);
    for (int64_t i = 0; i < b.count; ++i) {
        const int64_t at = clamp((w->done - i * pieces) * SPARE_PIECE, 0, n);
        const assay_tensor from = as_vector(&w->parameters[b.first + i * b.step]);
        if (at < n)
            add_copy(list, vector_in(&from, at, n - at), vector_in(&to, i * n + at, n - at));
    }
    w->done = 0;
    ++w->next;
}

/* Copies the block and some behind it, unless it was copied before. */
static inline void bring_weight(walk *w, int64_t number) {
    if (!w->spare || number < w->next)
        return;
    copies list = {};
    for (int64_t left = LATE_BYTES;
         w->next <= number || (w->next <= head_block(&w->m) && weight_bytes(w, w->next) <= left &&
                               list.count + MOST_PARTS <= MOST_COPIES);) {
        left -= weight_bytes(w, w->next);
        add_rest(w, &list);
    }
    copy_all(w, &list);
}

static inline assay_tensor brought_weight(walk *w, int64_t number) {
    bring_weight(w, number);
    return weight_of(w, number);
}

#endif
