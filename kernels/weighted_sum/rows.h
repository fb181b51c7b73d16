/* Shared by the versions of weighted_sum: how its tensors lie in memory. */
#ifndef ASSAY_WEIGHTED_SUM_ROWS_H
#define ASSAY_WEIGHTED_SUM_ROWS_H

#include "device/grid.h"
#include "kernels/common/numeric.h"

/* The elements of y and dy, one for each row of x. Their last axis is packed; its rows may be
 * further apart than they are long. */
struct spread {
    int64_t length, stride;
};

static inline spread spread_of(const assay_tensor *y) {
    return {assay_tensor_row_length(y), assay_tensor_row_stride(y)};
}

static __device__ __forceinline__ int64_t place(spread y, int64_t row) {
    return y.length == y.stride ? row : row / y.length * y.stride + row % y.length;
}

/* The tensors of one call by name; those of the other stage are NULL. */
struct tensors {
    const assay_tensor *x, *w, *y, *dy, *dx, *dw;
    int64_t rows, d;
};

static inline tensors tensors_of(const assay_call *call, assay_stage stage) {
    tensors t = {};
    t.x = &call->in[0];
    t.w = &call->in[1];
    t.rows = assay_tensor_rows(t.x);
    t.d = assay_tensor_row_length(t.x);
    if (stage == ASSAY_FORWARD) {
        t.y = &call->out[0];
    } else {
        t.dy = &call->in[3];
        t.dx = &call->out[0];
        t.dw = &call->out[1];
    }
    return t;
}

template <typename T> static inline T *data_of(const assay_tensor *t) {
    return static_cast<T *>(t->data);
}

/* Calls `function<T>(call)` with the storage type of the call. */
#define WEIGHTED_SUM_DISPATCH(function, call)                                                      \
    ((call)->params->dtype == ASSAY_F64    ? function<double>(call)                                \
     : (call)->params->dtype == ASSAY_BF16 ? function<__nv_bfloat16>(call)                         \
                                           : function<float>(call))

#endif
