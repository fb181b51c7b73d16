/*
 * A view of an n-d array, shaped like DLPack's DLTensor: it owns nothing.
 *
 * Layout contract between assay and a kernel. Arrays are row-major. The last `inner` axes of a
 * tensor (its spec in op.h says how many) are packed; together they form a row. Rows are equally
 * spaced: all axes before them collapse into one, with a stride of assay_tensor_row_stride()
 * elements that may exceed the row's length. `data` is aligned to its element only.
 */
#ifndef ASSAY_TENSOR_H
#define ASSAY_TENSOR_H

#include "assay/dtype.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ASSAY_MAX_RANK = 16 };

typedef struct assay_tensor {
    void *data; /* first element, in the memory of the device that holds it */
    assay_dtype dtype;
    int32_t rank;                   /* 0 is a scalar */
    int32_t inner;                  /* how many trailing axes make one packed row */
    int64_t shape[ASSAY_MAX_RANK];  /* >= 0 */
    int64_t stride[ASSAY_MAX_RANK]; /* elements */
} assay_tensor;

/* Number of elements; 1 for a scalar, 0 when an axis is 0. */
static inline int64_t assay_tensor_count(const assay_tensor *t) {
    int64_t n = 1;
    for (int32_t i = 0; i < t->rank; ++i)
        n *= t->shape[i];
    return n;
}

/* Elements of one row: the product of the last `inner` axes. */
static inline int64_t assay_tensor_row_length(const assay_tensor *t) {
    int64_t n = 1;
    for (int32_t i = t->rank - t->inner; i < t->rank; ++i)
        n *= t->shape[i];
    return n;
}

/* Number of rows: the product of the axes before them. */
static inline int64_t assay_tensor_rows(const assay_tensor *t) {
    int64_t n = 1;
    for (int32_t i = 0; i < t->rank - t->inner; ++i)
        n *= t->shape[i];
    return n;
}

/* Elements from the start of one row to the start of the next. */
static inline int64_t assay_tensor_row_stride(const assay_tensor *t) {
    return t->rank > t->inner ? t->stride[t->rank - t->inner - 1] : assay_tensor_row_length(t);
}

#ifdef __cplusplus
}
#endif

#endif
