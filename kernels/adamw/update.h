/* Shared by the versions of adamw: the constants of a step, and what it does to one parameter. */
#ifndef ASSAY_ADAMW_UPDATE_H
#define ASSAY_ADAMW_UPDATE_H

#include "device/grid.h"
#include "kernels/common/numeric.h"

/* Made in fp64 and rounded once: 1 - (float)beta2 would be off by 2^-15 of it. */
template <typename A> struct constants {
    A beta1, rest1; /* rest = 1 - beta */
    A beta2, rest2;
    A decay;           /* 1 - lr wd */
    A rate;            /* lr / (1 - beta1^step) */
    A root_correction; /* sqrt(1 - beta2^step) */
    A eps;
};

template <typename A> static inline constants<A> constants_of(const assay_params *params) {
    const auto real = [&](const char *name) { return assay_params_find(params, name)->real; };
    const double step = (double)assay_params_int(params, "step"), lr = real("lr");
    const double beta1 = real("beta1"), beta2 = real("beta2");
    return {(A)beta1,
            (A)(1 - beta1),
            (A)beta2,
            (A)(1 - beta2),
            (A)(1 - lr * real("wd")),
            (A)(lr / (1 - pow(beta1, step))),
            (A)sqrt(1 - pow(beta2, step)),
            (A)real("eps")};
}

/* Data of a call. The results may lie where p, m and v do: each element is made of its own alone,
 * and new_p of new_m and new_v. Where the call has no m and v they are NULL, and mean zeros. */
template <typename T> struct state {
    const T *p, *g, *m, *v;
    T *new_p, *new_m, *new_v;
    int64_t n;
};

template <typename T> static inline state<T> state_of(const assay_call *call) {
    const auto in = [&](int i) {
        return static_cast<const T *>(i < call->n_in ? call->in[i].data : NULL);
    };
    const auto out = [&](int i) { return static_cast<T *>(call->out[i].data); };
    return {in(0), in(1), in(2), in(3), out(0), out(1), out(2), assay_tensor_count(&call->in[0])};
}

static __device__ __forceinline__ float root(float x) {
    return sqrtf(x);
}
static __device__ __forceinline__ double root(double x) {
    return sqrt(x);
}

template <typename A> static __device__ __forceinline__ A new_m(const constants<A> &k, A g, A m) {
    return fma_(k.beta1, m, k.rest1 * g);
}

template <typename A> static __device__ __forceinline__ A new_v(const constants<A> &k, A g, A v) {
    return fma_(k.beta2, v, k.rest2 * g * g);
}

/* With the new m and v. */
template <typename A>
static __device__ __forceinline__ A new_p(const constants<A> &k, A p, A m, A v) {
    return fma_(-k.rate, m / (root(v) / k.root_correction + k.eps), p * k.decay);
}

#define ADAMW_DISPATCH(function, call)                                                             \
    ((call)->params->dtype == ASSAY_F64 ? function<double>(call) : function<float>(call))

#endif
