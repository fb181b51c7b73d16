/*
 * As many numbers as the model has parameters, in one flat buffer, block on block: weights as the
 * operators read them, or moments. A block begins where 16-byte accesses may, in fp32 and in bf16;
 * the gaps between blocks belong to no parameter.
 */
#ifndef ASSAY_TRANSFORMER_PARAMETERS_H
#define ASSAY_TRANSFORMER_PARAMETERS_H

#include "kernels/transformer/model.h"

enum { BLOCK_ALIGNMENT = 8 }; /* elements */

/* Elements of a flat buffer that one block takes, its gap included. */
static inline int64_t block_length(const model *m, int64_t number) {
    const block b = block_of(m, number);
    const int64_t n = b.count * part_length(&b);
    return (n + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT * BLOCK_ALIGNMENT;
}

static inline int64_t layer_length(const model *m) {
    int64_t n = 0;
    for (int64_t which = 0; which < LAYER_BLOCKS; ++which)
        n += block_length(m, FIRST_LAYER_BLOCK + which);
    return n;
}

/* The parameters behind the last layer lie where another layer would begin. */
static inline int64_t block_offset(const model *m, int64_t number) {
    if (number == EMBEDDING)
        return 0;
    const int64_t layer = (number - FIRST_LAYER_BLOCK) / LAYER_BLOCKS;
    int64_t at = block_length(m, EMBEDDING) + layer * layer_length(m);
    for (int64_t before = FIRST_LAYER_BLOCK + layer * LAYER_BLOCKS; before < number; ++before)
        at += block_length(m, before);
    return at;
}

static inline int64_t flat_length(const model *m) {
    return block_offset(m, head_block(m)) + block_length(m, head_block(m));
}

/* (count·rows, columns), or (columns). */
static inline assay_tensor block_at(void *data, assay_dtype dtype, const block *b) {
    return b->rows > 0 ? matrix_at(data, dtype, b->count * b->rows, b->columns)
                       : vector_at(data, dtype, b->columns);
}

/* A block of a flat buffer. */
static inline assay_tensor block_in_flat(const model *m, const assay_tensor *flat, int64_t number) {
    const block b = block_of(m, number);
    return block_at(address_in(flat, block_offset(m, number)), flat->dtype, &b);
}

#endif
