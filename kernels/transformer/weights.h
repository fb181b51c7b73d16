/* The weights as the operators read them: a copy of the parameters, block on block, in bf16
 * rounded. */
#ifndef ASSAY_TRANSFORMER_WEIGHTS_H
#define ASSAY_TRANSFORMER_WEIGHTS_H

#include "kernels/transformer/copies.h"

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

/* The parameters of some layers in one launch. */
static inline void load_weights(walk *w, const assay_tensor *parameters) {
    copies list = {};
    for (int64_t number = FIRST_LAYER_BLOCK; number <= head_block(&w->m); ++number)
        add_block(w, &list, parameters, number);
    add_block(w, &list, parameters, EMBEDDING);
    copy_all(w, &list);
}

#endif
