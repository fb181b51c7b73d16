/* Tensors at an address: dense ones, and all rows of another as a matrix. The address is NULL where
 * shapes are all that is known. */
#ifndef ASSAY_TRANSFORMER_TENSORS_H
#define ASSAY_TRANSFORMER_TENSORS_H

#include "kernels/device/kernel.h"

static inline assay_tensor dense_at(void *data, assay_dtype dtype, int32_t rank,
                                    const int64_t *shape) {
    assay_tensor t = {};
    t.data = data;
    t.dtype = dtype;
    t.rank = rank;
    t.inner = 1;
    int64_t stride = 1;
    for (int32_t axis = rank - 1; axis >= 0; --axis) {
        t.shape[axis] = shape[axis];
        t.stride[axis] = stride;
        stride *= shape[axis];
    }
    return t;
}

static inline assay_tensor vector_at(void *data, assay_dtype dtype, int64_t n) {
    return dense_at(data, dtype, 1, &n);
}

static inline assay_tensor matrix_at(void *data, assay_dtype dtype, int64_t rows, int64_t columns) {
    const int64_t shape[] = {rows, columns};
    return dense_at(data, dtype, 2, shape);
}

/* With the padding that the rows have. */
static inline assay_tensor as_matrix(const assay_tensor *t) {
    assay_tensor m = matrix_at(t->data, t->dtype, assay_tensor_rows(t), assay_tensor_row_length(t));
    m.stride[0] = assay_tensor_row_stride(t);
    return m;
}

static inline assay_tensor without_data(assay_tensor t) {
    t.data = NULL;
    return t;
}

#endif
