/*
 * Shared by the versions of matmul_accumulate: a call as matrix products.
 *
 *     forward   Y  = C + n A B
 *     backward  dA = n dY Bᵀ,  dB = n Aᵀ dY,  dC = dY
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_PRODUCT_H
#define ASSAY_MATMUL_ACCUMULATE_PRODUCT_H

#include "device/grid.h"
#include "kernels/common/numeric.h"

/* Rows in memory lie `stride` apart; `transposed`: they are the matrix's columns. */
template <typename T> struct matrix {
    T *data;
    int64_t stride;
    bool transposed;
};

template <typename T>
static __host__ __device__ __forceinline__ T *at(const matrix<T> &x, int64_t i, int64_t j) {
    return x.data + (x.transposed ? j * x.stride + i : i * x.stride + j);
}

template <typename T> static inline matrix<T> matrix_of(const assay_tensor *t, bool transposed) {
    return {static_cast<T *>(t->data), assay_tensor_row_stride(t), transposed};
}

template <typename T> static inline matrix<T> transpose(const matrix<T> &x) {
    return {x.data, x.stride, !x.transposed};
}

/* out (m, n) = added + times left (m, k) right (k, n), with nothing added where added.data is NULL.
 */
template <typename T> struct product {
    matrix<const T> left, right, added;
    matrix<T> out;
    int64_t m, n, k;
    int times;
};

template <typename T> static inline product<T> transpose(const product<T> &p) {
    return {transpose(p.right),
            transpose(p.left),
            transpose(p.added),
            transpose(p.out),
            p.n,
            p.m,
            p.k,
            p.times};
}

/* The same product with its result's rows in memory as rows: (X Y)ᵀ = Yᵀ Xᵀ. */
template <typename T> static inline product<T> with_rows(const product<T> &p) {
    return p.out.transposed ? transpose(p) : p;
}

/* The tensors of one call by name; those of the other stage are NULL. */
struct tensors {
    const assay_tensor *a, *b, *c, *y, *dy, *da, *db, *dc;
    int64_t m, n, k;
    int times;
    bool ta, tb;
};

static inline tensors tensors_of(const assay_call *call, assay_stage stage) {
    tensors t = {};
    t.a = &call->in[0];
    t.b = &call->in[1];
    t.c = &call->in[2];
    t.m = assay_params_int(call->params, "m");
    t.n = assay_params_int(call->params, "n");
    t.k = assay_params_int(call->params, "k");
    t.times = (int)assay_params_int(call->params, "iters");
    t.ta = assay_params_int(call->params, "ta") != 0;
    t.tb = assay_params_int(call->params, "tb") != 0;
    if (stage == ASSAY_FORWARD) {
        t.y = &call->out[0];
    } else {
        t.dy = &call->in[4];
        t.da = &call->out[0];
        t.db = &call->out[1];
        t.dc = &call->out[2];
    }
    return t;
}

template <typename T> static inline product<T> product_for_y(const tensors &t) {
    return {matrix_of<const T>(t.a, t.ta),
            matrix_of<const T>(t.b, t.tb),
            matrix_of<const T>(t.c, false),
            matrix_of<T>(t.y, false),
            t.m,
            t.n,
            t.k,
            t.times};
}

template <typename T> static inline product<T> product_for_da(const tensors &t) {
    return {matrix_of<const T>(t.dy, false),
            transpose(matrix_of<const T>(t.b, t.tb)),
            {},
            matrix_of<T>(t.da, t.ta),
            t.m,
            t.k,
            t.n,
            t.times};
}

template <typename T> static inline product<T> product_for_db(const tensors &t) {
    return {transpose(matrix_of<const T>(t.a, t.ta)),
            matrix_of<const T>(t.dy, false),
            {},
            matrix_of<T>(t.db, t.tb),
            t.k,
            t.n,
            t.m,
            t.times};
}

enum { COPY_THREADS = 256 };

/* to = from, rounded to its type, or 0 where from.data is NULL. */
template <typename From, typename To>
static __global__ void copy(matrix<const From> from, matrix<To> to, int64_t rows, int64_t columns) {
    for (int64_t e = grid_thread(); e < rows * columns; e += grid_threads()) {
        const int64_t i = e / columns, j = e % columns;
        *at(to, i, j) = narrow<To>(from.data ? widen(*at(from, i, j)) : 0);
    }
}

template <typename From, typename To>
static assay_status launch_copy(void *stream, const matrix<const From> &from, const matrix<To> &to,
                                int64_t rows, int64_t columns) {
    return ASSAY_LAUNCH(stream, linear_grid(rows * columns, COPY_THREADS), dim3(COPY_THREADS), 0,
                        (copy<From, To>), from, to, rows, columns);
}

/* dA and dB by `multiply(call, product)`, then dC. */
template <typename T, typename Multiply>
static assay_status gradients(const assay_call *call, Multiply multiply) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    assay_status status = multiply(call, product_for_da<T>(t));
    if (status == ASSAY_OK)
        status = multiply(call, product_for_db<T>(t));
    if (status == ASSAY_OK)
        status = launch_copy(call->stream, matrix_of<const T>(t.dy, false),
                             matrix_of<T>(t.dc, false), t.m, t.n);
    return status;
}

/* Calls `function<T>(call)` with the storage type of the call. */
#define MATMUL_DISPATCH(function, call)                                                            \
    ((call)->params->dtype == ASSAY_F64    ? function<double>(call)                                \
     : (call)->params->dtype == ASSAY_BF16 ? function<__nv_bfloat16>(call)                         \
     : (call)->params->dtype == ASSAY_F16  ? function<__half>(call)                                \
                                           : function<float>(call))

#endif
