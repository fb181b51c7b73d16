/* Shared by the versions of embedding: the tensors of a call. */
#ifndef ASSAY_EMBEDDING_TABLE_H
#define ASSAY_EMBEDDING_TABLE_H

#include "device/grid.h"
#include "kernels/common/numeric.h"

/* Rows of d elements, `stride` apart. */
template <typename T> struct rows {
    T *data;
    int64_t stride;
};

template <typename T> static inline rows<T> rows_of(const assay_tensor *t) {
    return {static_cast<T *>(t->data), assay_tensor_row_stride(t)};
}

struct sizes {
    int64_t t, v, d;
};

static inline sizes sizes_of(const assay_call *call) {
    const assay_tensor *table = &call->in[1];
    return {call->in[0].shape[0], table->shape[0], table->shape[1]};
}

static inline const int32_t *ids_of(const assay_call *call) {
    return static_cast<const int32_t *>(call->in[0].data);
}

/* In backward: after ids, table and y. */
enum { DY = 3 };

#define EMBEDDING_DISPATCH(function, call)                                                         \
    ((call)->params->dtype == ASSAY_F64    ? function<double>(call)                                \
     : (call)->params->dtype == ASSAY_BF16 ? function<__nv_bfloat16>(call)                         \
                                           : function<float>(call))

#endif
