/* Shared by the versions of layernorm: the tensors of a call, and the scale of a row. */
#ifndef ASSAY_LAYERNORM_NORM_H
#define ASSAY_LAYERNORM_NORM_H

#include "kernels/common/rows.h"

/* The tensors of one call by name; those of the other stage are NULL. */
struct tensors {
    const assay_tensor *x, *w, *b, *y, *dy, *dx, *dw, *db;
    int64_t rows, d;
    double eps;
};

static inline tensors tensors_of(const assay_call *call, assay_stage stage) {
    tensors t = {};
    t.x = &call->in[0];
    t.w = &call->in[1];
    t.b = &call->in[2];
    t.rows = assay_tensor_rows(t.x);
    t.d = assay_tensor_row_length(t.x);
    t.eps = assay_params_find(call->params, "eps")->real;
    if (stage == ASSAY_FORWARD) {
        t.y = &call->out[0];
    } else {
        t.dy = &call->in[4];
        t.dx = &call->out[0];
        t.dw = &call->out[1];
        t.db = &call->out[2];
    }
    return t;
}

/* 1 / sqrt(variance + eps) from the sum of d squares. */
static __device__ __forceinline__ float scale_of(float sum, int64_t d, float eps) {
    return 1.0f / sqrtf(sum / (float)d + eps);
}
static __device__ __forceinline__ double scale_of(double sum, int64_t d, double eps) {
    return 1.0 / sqrt(sum / (double)d + eps);
}

#endif
