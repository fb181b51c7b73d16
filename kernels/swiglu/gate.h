/* Shared by the versions of swiglu: the tensors of a call. */
#ifndef ASSAY_SWIGLU_GATE_H
#define ASSAY_SWIGLU_GATE_H

#include "device/grid.h"
#include "kernels/swiglu/element.h"

/* Tensors of the same shape: where their rows begin. */
template <typename T> struct matrix {
    T *data;
    int64_t stride;

    __device__ __forceinline__ T *row(int64_t i) const {
        return data + i * stride;
    }
};

template <typename T> static inline matrix<T> matrix_of(const assay_tensor *t) {
    return {static_cast<T *>(t->data), assay_tensor_row_stride(t)};
}

/* The tensors of one call by name; those of the other stage are NULL. */
struct tensors {
    const assay_tensor *a, *b, *y, *dy, *da, *db;
    int64_t rows, d;
};

static inline tensors tensors_of(const assay_call *call, assay_stage stage) {
    tensors t = {};
    t.a = &call->in[0];
    t.b = &call->in[1];
    t.rows = assay_tensor_rows(t.a);
    t.d = assay_tensor_row_length(t.a);
    if (stage == ASSAY_FORWARD) {
        t.y = &call->out[0];
    } else {
        t.dy = &call->in[3];
        t.da = &call->out[0];
        t.db = &call->out[1];
    }
    return t;
}

/* Calls `function<T>(call)` with the storage type of the call. */
#define SWIGLU_DISPATCH(function, call)                                                            \
    ((call)->params->dtype == ASSAY_F64    ? function<double>(call)                                \
     : (call)->params->dtype == ASSAY_BF16 ? function<__nv_bfloat16>(call)                         \
                                           : function<float>(call))

#endif
