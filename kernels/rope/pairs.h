/*
 * Shared by the versions of rope: the tensors of a call. dx is dy rotated by the opposite angle, so
 * that both stages are the same kernel.
 */
#ifndef ASSAY_ROPE_PAIRS_H
#define ASSAY_ROPE_PAIRS_H

#include "device/grid.h"
#include "kernels/rope/turn.h"

/* One call: rows of `to` are those of `from` rotated, row r being at position start + r % s. */
struct rotation {
    const assay_tensor *from, *to;
    int64_t heads, s, pairs; /* heads of all batches; pairs of a row */
    int64_t start;
    double theta, direction; /* 1 or -1, on the sine */
};

static inline rotation rotation_of(const assay_call *call, assay_stage stage) {
    rotation t = {};
    t.from = &call->in[stage == ASSAY_FORWARD ? 0 : 2];
    t.to = &call->out[0];
    t.heads = t.from->shape[0] * t.from->shape[1];
    t.s = t.from->shape[2];
    t.pairs = t.from->shape[3] / 2;
    t.start = assay_params_int(call->params, "start");
    t.theta = assay_params_find(call->params, "theta")->real;
    t.direction = stage == ASSAY_FORWARD ? 1 : -1;
    return t;
}

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

/* Calls `function<T>(call, stage)` with the storage type of the call. */
#define ROPE_DISPATCH(function, call, stage)                                                       \
    ((call)->params->dtype == ASSAY_F64    ? function<double>(call, stage)                         \
     : (call)->params->dtype == ASSAY_BF16 ? function<__nv_bfloat16>(call, stage)                  \
                                           : function<float>(call, stage))

#endif
