/* Tensors at an address: dense ones, and all rows of another as a matrix. The address is NULL where
 * shapes are all that is known. */
#ifndef ASSAY_TRANSFORMER_TENSORS_H
#define ASSAY_TRANSFORMER_TENSORS_H

#include "device/kernel.h"

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

/* The address of an element, counted in elements from the first. */
static inline void *address_in(const assay_tensor *t, int64_t at) {
    unsigned char *data = static_cast<unsigned char *>(t->data);
    return data != NULL ? data + (size_t)at * assay_dtype_size(t->dtype) : NULL;
}

/* `n` elements of a dense tensor from `at` on. */
static inline assay_tensor vector_in(const assay_tensor *t, int64_t at, int64_t n) {
    return vector_at(address_in(t, at), t->dtype, n);
}

/* `n` columns of a matrix from `first` on. */
static inline assay_tensor columns_of(const assay_tensor *t, int64_t first, int64_t n) {
    assay_tensor m = matrix_at(address_in(t, first), t->dtype, t->shape[0], n);
    m.stride[0] = t->stride[0];
    return m;
}

/* One of `n` equal parts of a dense tensor along its first axis. */
static inline assay_tensor part_of(const assay_tensor *t, int64_t which, int64_t n) {
    assay_tensor part = *t;
    part.shape[0] = t->shape[0] / n;
    part.data = address_in(t, which * assay_tensor_count(&part));
    return part;
}

static inline assay_tensor without_data(assay_tensor t) {
    t.data = NULL;
    return t;
}

#endif
