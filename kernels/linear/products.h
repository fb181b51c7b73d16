/*
 * Shared by the versions of linear: a call as matrix products, those of matmul_accumulate with
 * nothing added.
 *
 *     forward   Y  = X Wᵀ
 *     backward  dX = dY W,  dW = dYᵀ X
 */
#ifndef ASSAY_LINEAR_PRODUCTS_H
#define ASSAY_LINEAR_PRODUCTS_H

#include "kernels/matmul_accumulate/product.h"

struct layer {
    const assay_tensor *x, *w;
    int64_t m, n, k;
};

static inline layer layer_of(const assay_call *call) {
    const assay_tensor *x = &call->in[0], *w = &call->in[1];
    return {x, w, x->shape[0], w->shape[0], x->shape[1]};
}

template <typename T> static inline product<T> product_for_y(const assay_call *call) {
    const layer l = layer_of(call);
    return {matrix_of<const T>(l.x, false),
            matrix_of<const T>(l.w, true),
            {},
            matrix_of<T>(&call->out[0], false),
            l.m,
            l.n,
            l.k,
            1};
}

/* In backward: after x, w and y. */
enum { DY = 3 };

template <typename T> static inline product<T> product_for_dx(const assay_call *call) {
    const layer l = layer_of(call);
    return {matrix_of<const T>(&call->in[DY], false),
            matrix_of<const T>(l.w, false),
            {},
            matrix_of<T>(&call->out[0], false),
            l.m,
            l.k,
            l.n,
            1};
}

template <typename T> static inline product<T> product_for_dw(const assay_call *call) {
    const layer l = layer_of(call);
    return {matrix_of<const T>(&call->in[DY], true),
            matrix_of<const T>(l.x, false),
            {},
            matrix_of<T>(&call->out[1], false),
            l.n,
            l.k,
            l.m,
            1};
}

/* dX and dW by `multiply(call, product)`. */
template <typename T, typename Multiply>
static assay_status both_gradients(const assay_call *call, Multiply multiply) {
    const assay_status status = multiply(call, product_for_dx<T>(call));
    return status == ASSAY_OK ? multiply(call, product_for_dw<T>(call)) : status;
}

#endif
