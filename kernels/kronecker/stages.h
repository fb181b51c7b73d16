/*
 * Shared by the versions of kronecker: the chain of stages that a call stands for.
 *
 * A state is (rows, left, extent, right): `extent` is the mode at hand, `left` and `right` collect
 * the axes before and behind it; a row of the batch is packed. One stage contracts one mode,
 *
 *     out[row, l, j, r] = sum over i < p of in[row, l, i, r] W[i, j],
 *
 * and a layer is its modes in the order m = 1…k, the last axis first. So axes behind the mode
 * already have their output extents q, and those before it still have their input extents p. Every
 * extent is at least 1; only the batch may be empty.
 */
#ifndef ASSAY_KRONECKER_STAGES_H
#define ASSAY_KRONECKER_STAGES_H

#include "device/grid.h"
#include "kernels/common/numeric.h"

enum { MAX_FACTORS = 8, MAX_LAYERS = 16, MAX_STAGES = MAX_FACTORS * MAX_LAYERS };

struct stage {
    int32_t factor; /* its place among the factors: input 1 + factor, gradient output 1 + factor */
    int64_t left, p, q, right;
};

/* The state before a stage and the state behind it, elements of one row. */
static inline int64_t size_before(const stage &s) {
    return s.left * s.p * s.right;
}
static inline int64_t size_behind(const stage &s) {
    return s.left * s.q * s.right;
}

static inline int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

struct chain {
    int64_t rows;
    int32_t modes, layers, count; /* count = modes * layers */
    stage stages[MAX_STAGES];
};

static inline chain chain_of(const assay_call *call) {
    const assay_param *f = assay_params_find(call->params, "f");
    const assay_param *q = assay_params_find(call->params, "q");
    chain c = {};
    c.rows = assay_params_int(call->params, "b");
    c.modes = f->count;
    c.layers = (int32_t)assay_params_int(call->params, "layers");
    for (int32_t layer = 0; layer < c.layers; ++layer) {
        for (int32_t axis = c.modes - 1; axis >= 0; --axis) {
            stage s = {layer * c.modes + axis, 1, f->value[axis], q->value[axis], 1};
            for (int32_t before = 0; before < axis; ++before)
                s.left *= f->value[before];
            for (int32_t behind = axis + 1; behind < c.modes; ++behind)
                s.right *= q->value[behind];
            c.stages[c.count++] = s;
        }
    }
    return c;
}

/* A state in memory: rows `stride` elements apart. */
template <typename T> struct state {
    T *data;
    int64_t stride;
};

template <typename T> static inline state<T> state_of(const assay_tensor *t) {
    return {static_cast<T *>(t->data), assay_tensor_row_stride(t)};
}

/* A factor or its transpose: element (i, j) is w[i * row + j * column]. */
template <typename T> struct factor {
    T *w;
    int64_t row, column;
};

template <typename T> static __device__ __forceinline__ factor<T> transposed(factor<T> f) {
    return {f.w, f.column, f.row};
}

template <typename T> static inline factor<T> factor_of(const assay_tensor *t) {
    return {static_cast<T *>(t->data), assay_tensor_row_stride(t), 1};
}

/* Tensors of a call: x, the factors, y, then in backward dy; gradients dx, then of the factors. */
static inline const assay_tensor *x_of(const assay_call *call) {
    return &call->in[0];
}
static inline const assay_tensor *factor_tensor(const assay_call *call, const stage &s) {
    return &call->in[1 + s.factor];
}
static inline const assay_tensor *cotangent_of(const assay_call *call) {
    return &call->in[call->n_in - 1];
}
static inline const assay_tensor *gradient_tensor(const assay_call *call, const stage &s) {
    return &call->out[1 + s.factor];
}

#define KRONECKER_DISPATCH(function, ...)                                                          \
    (call->params->dtype == ASSAY_F64 ? function<double>(__VA_ARGS__)                              \
                                      : function<float>(__VA_ARGS__))

#endif
