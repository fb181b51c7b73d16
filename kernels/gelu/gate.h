/* Shared by the versions of gelu: the tensors of a call, and the arithmetic of one element. */
#ifndef ASSAY_GELU_GATE_H
#define ASSAY_GELU_GATE_H

#include "kernels/common/normal.h"
#include "kernels/common/rows.h"

/* The tensors of one call by name; those of the other stage are NULL. */
struct tensors {
    const assay_tensor *x, *y, *dy, *dx;
    int64_t rows, d;
    bool by_tanh;
};

static inline tensors tensors_of(const assay_call *call, assay_stage stage) {
    tensors t = {};
    t.x = &call->in[0];
    t.rows = assay_tensor_rows(t.x);
    t.d = assay_tensor_row_length(t.x);
    t.by_tanh = assay_params_int(call->params, "form") == 1;
    if (stage == ASSAY_FORWARD) {
        t.y = &call->out[0];
    } else {
        t.dy = &call->in[2];
        t.dx = &call->out[0];
    }
    return t;
}

/* sqrt(2 / pi), and the coefficient of x^3. */
template <typename A> static constexpr A GELU_INNER = (A)0.79788456080286535588;
template <typename A> static constexpr A GELU_CUBIC = (A)0.044715;
/* 1 / sqrt(2 pi) */
template <typename A> static constexpr A GELU_DENSITY = (A)0.39894228040143267794;

template <typename A> static __device__ __forceinline__ A inner_tanh(A x) {
    return tanh_(GELU_INNER<A> * x * fma_(GELU_CUBIC<A> * x, x, (A)1));
}

template <typename A> static __device__ __forceinline__ A gated(A x, bool by_tanh) {
    if (by_tanh)
        return (A)0.5 * x * ((A)1 + inner_tanh(x));
    return x * normal_cdf(x, normal_power(x));
}

/* The slope at x, times dy. */
template <typename A> static __device__ __forceinline__ A grad_gate(A x, A dy, bool by_tanh) {
    if (!by_tanh) {
        const A power = normal_power(x);
        return dy * fma_(x * GELU_DENSITY<A>, power, normal_cdf(x, power));
    }
    const A t = inner_tanh(x);
    const A inner = GELU_INNER<A> * fma_((A)3 * GELU_CUBIC<A> * x, x, (A)1);
    return dy * ((A)0.5 * ((A)1 + t) + (A)0.5 * x * (((A)1 - t) * ((A)1 + t)) * inner);
}

#endif
