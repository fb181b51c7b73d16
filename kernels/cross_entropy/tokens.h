/* Shared by the versions of cross_entropy: the tensors of a call, and a row's sum of exponentials
 * relative to its maximum. */
#ifndef ASSAY_CROSS_ENTROPY_TOKENS_H
#define ASSAY_CROSS_ENTROPY_TOKENS_H

#include "device/grid.h"
#include "kernels/common/exp.h"
#include "kernels/common/exp64.h"

/* The logits of t tokens; rows lie `stride` apart. */
template <typename T> struct tokens {
    const T *logits;
    int64_t stride;
    const int32_t *target;
    int64_t t, v;
};

template <typename T> static inline tokens<T> tokens_of(const assay_call *call) {
    const assay_tensor *logits = &call->in[0];
    return {static_cast<const T *>(logits->data), assay_tensor_row_stride(logits),
            static_cast<const int32_t *>(call->in[1].data), logits->shape[0], logits->shape[1]};
}

/* What a gradient is made of and where it goes. lse and dloss have the accumulator's type; dloss is
 * NULL where it is 1. */
template <typename T> struct gradient {
    const acc_t<T> *lse, *dloss;
    T *dlogits;
    int64_t stride;
};

static inline bool wants_gradient(const assay_call *call) {
    return assay_params_int(call->params, "gradient") == 1;
}

/* Forward's third output, with the lse that forward writes. */
template <typename T> static inline gradient<T> gradient_of_one(const assay_call *call) {
    return {static_cast<const acc_t<T> *>(call->out[1].data), NULL,
            static_cast<T *>(call->out[2].data), assay_tensor_row_stride(&call->out[2])};
}

/* Backward's: the inputs and all outputs of forward come before dloss. */
template <typename T> static inline gradient<T> gradient_of(const assay_call *call) {
    return {static_cast<const acc_t<T> *>(call->in[3].data),
            static_cast<const acc_t<T> *>(call->in[call->n_in - 1].data),
            static_cast<T *>(call->out[0].data), assay_tensor_row_stride(&call->out[0])};
}

/* dloss / t. */
template <typename T>
static __device__ __forceinline__ acc_t<T> scale_of(const tokens<T> &x, const gradient<T> &g) {
    return (g.dloss != NULL ? *g.dloss : (acc_t<T>)1) / (acc_t<T>)x.t;
}

/* What is taken off the logits before exp: the maximum, but nothing where that is infinite, so that
 * the sum itself is 0 or Inf and lse -Inf or Inf. */
template <typename A> static __device__ __forceinline__ A shift_of(A maximum) {
    return maximum - maximum == 0 ? maximum : 0;
}

/* lse - logit of the token's target. */
template <typename T>
static __device__ __forceinline__ acc_t<T> loss_of(const tokens<T> &x, int64_t i, acc_t<T> lse) {
    return lse - widen(x.logits[i * x.stride + x.target[i]]);
}

/* dlogits of one logit of probability p; scale is dloss / t. */
template <typename A>
static __device__ __forceinline__ A gradient_at(A p, bool is_target, A scale) {
    return scale * (p - (is_target ? (A)1 : (A)0));
}

#define CROSS_ENTROPY_DISPATCH(function, call)                                                     \
    ((call)->params->dtype == ASSAY_F64    ? function<double>(call)                                \
     : (call)->params->dtype == ASSAY_BF16 ? function<__nv_bfloat16>(call)                         \
                                           : function<float>(call))

#endif
