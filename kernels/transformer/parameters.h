/*
 * The model's parameters, or as many gradients or moments: either tensors of a call, or parts of
 * one flat buffer, in the same order. A part begins where 16-byte accesses may, in fp32 and in
 * bf16; the gaps between parts belong to nobody and hold zeros.
 */
#ifndef ASSAY_TRANSFORMER_PARAMETERS_H
#define ASSAY_TRANSFORMER_PARAMETERS_H

#include "kernels/transformer/model.h"

enum { PART_ALIGNMENT = 8 }; /* elements */

typedef struct parameters {
    const assay_tensor *tensors; /* NULL: parts of `flat` */
    void *flat;
    assay_dtype dtype;
} parameters;

/* Elements of a flat buffer that one parameter takes, its gap included. */
static inline int64_t part_length(const model *m, int64_t p) {
    const parameter_shape s = shape_of_parameter(m, p);
    const int64_t n = (s.rows > 0 ? s.rows : 1) * s.columns;
    return (n + PART_ALIGNMENT - 1) / PART_ALIGNMENT * PART_ALIGNMENT;
}

static inline int64_t layer_length(const model *m) {
    int64_t n = 0;
    for (int64_t which = 0; which < LAYER_WEIGHTS; ++which)
        n += part_length(m, FIRST_LAYER_WEIGHT + which);
    return n;
}

/* What follows the last layer lies where another layer would begin. */
static inline int64_t part_offset(const model *m, int64_t p) {
    if (p == EMBEDDING_WEIGHT)
        return 0;
    const int64_t layer = (p - FIRST_LAYER_WEIGHT) / LAYER_WEIGHTS;
    int64_t at = part_length(m, EMBEDDING_WEIGHT) + layer * layer_length(m);
    for (int64_t before = FIRST_LAYER_WEIGHT + layer * LAYER_WEIGHTS; before < p; ++before)
        at += part_length(m, before);
    return at;
}

static inline int64_t flat_length(const model *m) {
    const int64_t last = parameter_count(m) - 1;
    return part_offset(m, last) + part_length(m, last);
}

static inline assay_tensor parameter_of(const model *m, const parameters *from, int64_t p) {
    if (from->tensors != NULL)
        return from->tensors[p];
    const parameter_shape s = shape_of_parameter(m, p);
    unsigned char *data = static_cast<unsigned char *>(from->flat);
    if (data != NULL)
        data += (size_t)part_offset(m, p) * assay_dtype_size(from->dtype);
    return s.rows > 0 ? matrix_at(data, from->dtype, s.rows, s.columns)
                      : vector_at(data, from->dtype, s.columns);
}

#endif
