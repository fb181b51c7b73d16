/* Shared by the versions of rmsnorm: the tensors of a call, and the inverse root of a row. */
#ifndef ASSAY_RMSNORM_NORM_H
#define ASSAY_RMSNORM_NORM_H

#include "kernels/common/rows.h"

/* The tensors of one call by name; those of the other stage are NULL, and r, h, dh and dr without
 * residual, too. h, the tensor that is normalised, is x where there is none. */
struct tensors {
    const assay_tensor *x, *r, *w, *h, *dy, *dh, *y, *dx, *dr, *dw;
    int64_t rows, d;
    double eps;
};

static inline tensors tensors_of(const assay_call *call, assay_stage stage) {
    const bool residual = assay_params_int(call->params, "residual") == 1;
    const assay_tensor *in = call->in, *out = call->out;
    tensors t = {};
    t.x = in++;
    t.r = residual ? in++ : NULL;
    t.w = in++;
    if (stage == ASSAY_FORWARD) {
        t.y = out++;
        t.h = residual ? out++ : t.x;
    } else {
        in++; /* y */
        t.h = residual ? in++ : t.x;
        t.dy = in++;
        t.dh = residual ? in++ : NULL;
        t.dx = out++;
        t.dr = residual ? out++ : NULL;
        t.dw = out++;
    }
    t.rows = assay_tensor_rows(t.x);
    t.d = assay_tensor_row_length(t.x);
    t.eps = assay_params_find(call->params, "eps")->real;
    return t;
}

/* 1 / sqrt(mean + eps). */
static __device__ __forceinline__ float inverse_root_of(float mean, float eps) {
    return 1.0f / sqrtf(mean + eps);
}
static __device__ __forceinline__ double inverse_root_of(double mean, double eps) {
    return 1.0 / sqrt(mean + eps);
}

/* The same from the sum of d squares. */
template <typename A> static __device__ __forceinline__ A inverse_root(A sum, int64_t d, A eps) {
    return inverse_root_of(sum / (A)d, eps);
}

/* Calls `function<T>(call)` with the storage type of the call. */
#define RMSNORM_DISPATCH(function, call)                                                           \
    ((call)->params->dtype == ASSAY_F64    ? function<double>(call)                                \
     : (call)->params->dtype == ASSAY_BF16 ? function<__nv_bfloat16>(call)                         \
                                           : function<float>(call))

#endif
