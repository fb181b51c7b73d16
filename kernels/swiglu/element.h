/* The arithmetic of one element of swiglu. */
#ifndef ASSAY_SWIGLU_ELEMENT_H
#define ASSAY_SWIGLU_ELEMENT_H

#include "kernels/common/exp.h"
#include "kernels/common/exp64.h"
#include "kernels/common/special.h"

/* Where exp(-a) overflows, the quotient is 0. */
template <typename A> static __device__ __forceinline__ A sigma_of(A a) {
    return (A)1 / ((A)1 + exp_(-a));
}

/* silu(a) b, and db for b = dy. */
template <typename A> static __device__ __forceinline__ A gated(A a, A sigma, A b) {
    return a * sigma * b;
}

template <typename A> static __device__ __forceinline__ A grad_gate(A a, A sigma, A b, A dy) {
    return dy * b * (sigma * fma_(a, (A)1 - sigma, (A)1));
}

/* sigma of an element of a tensor of T. */
template <typename T> static __device__ __forceinline__ acc_t<T> sigma_in(acc_t<T> a) {
    if constexpr (sizeof(T) > 2) {
        return sigma_of(a);
    } else {
        const float power = exp_close(-fabsf(a)), larger = rcp_unit(1.0f + power);
        return a < 0.0f ? power * larger : larger;
    }
}

#endif
