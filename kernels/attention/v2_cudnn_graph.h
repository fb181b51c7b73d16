/*
 * Attention's operations in a graph of cuDNN's (kernels/common/dnn_graph.h): layouts, numbers,
 * products, pointwise operations, reductions and reshapes.
 */
#ifndef ASSAY_ATTENTION_V2_CUDNN_GRAPH_H
#define ASSAY_ATTENTION_V2_CUDNN_GRAPH_H

#include "kernels/common/dnn_graph.h"

#if ASSAY_DNN_GRAPH

/* Row-major, without gaps. */
static layout packed(int64_t n0, int64_t n1, int64_t n2, int64_t n3) {
    return {{n0, n1, n2, n3}, {n1 * n2 * n3, n2 * n3, n3, 1}};
}

/* The same memory with its last two axes exchanged. */
static layout transposed(const layout &l) {
    return {{l.size[0], l.size[1], l.size[3], l.size[2]},
            {l.stride[0], l.stride[1], l.stride[3], l.stride[2]}};
}

static descriptor intermediate(graph *g, cudnnDataType_t type, const layout &l, const char *what) {
    return add_tensor(g, g->next_id++, type, l, INTERMEDIATE, what);
}

/* fp32 sums in memory, which the engine lays out as it pleases. */
static descriptor add_sums(graph *g, int64_t id, const layout &l, const char *what) {
    const cudnnBackendTensorReordering_t order = CUDNN_TENSOR_REORDERING_F16x16;
    descriptor d = open_tensor(g, id, CUDNN_DATA_FLOAT, l, IN_MEMORY, what);
    set(g, d, CUDNN_ATTR_TENSOR_REORDERING_MODE, CUDNN_TYPE_TENSOR_REORDERING_MODE, 1, &order,
        what);
    finalize(g, d, what);
    return d;
}

static scalar *add_scalar(graph *g, const char *what) {
    fail_if_full(g, g->n_scalars, GRAPH_SCALARS, what);
    scalar *made = &g->scalars[g->status == ASSAY_OK ? g->n_scalars++ : 0];
    if (g->status == ASSAY_OK)
        made->id = g->next_id++;
    return made;
}

static descriptor number(graph *g, float value, const char *what) {
    scalar *made = add_scalar(g, what);
    made->value.f = value;
    return add_tensor(g, made->id, CUDNN_DATA_FLOAT, packed(1, 1, 1, 1), BY_VALUE, what);
}

static descriptor integer(graph *g, int64_t value, const char *what) {
    scalar *made = add_scalar(g, what);
    made->value.i = (int32_t)value;
    return add_tensor(g, made->id, CUDNN_DATA_INT32, packed(1, 1, 1, 1), BY_VALUE, what);
}

/* ---- operations ---- */

/* y = mode(x), mode(x, b) or mode(x, b, t); what is not there is NULL. `axis` is for GEN_INDEX. */
struct pointwise {
    cudnnPointwiseMode_t mode;
    cudnnDataType_t compute;
    descriptor x, b, t, y;
    int64_t axis;
};

static void add_pointwise(graph *g, const pointwise &p, const char *what) {
    descriptor how = add_mode(g, p.mode, p.compute, p.axis, what);
    descriptor d = create(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, what);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how, what);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, p.x, what);
    if (p.b)
        set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, p.b, what);
    if (p.t)
        set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, p.t, what);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, p.y, what);
    add_operation(g, d, what);
}

/* In fp32, of one or two operands. */
static void add_float(graph *g, cudnnPointwiseMode_t mode, descriptor x, descriptor b, descriptor y,
                      const char *what) {
    add_pointwise(g, {mode, CUDNN_DATA_FLOAT, x, b, NULL, y, 0}, what);
}

/* c = a b, with fp32 sums. */
static void add_product(graph *g, descriptor a, descriptor b, descriptor c, const char *what) {
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    descriptor how = create(g, CUDNN_BACKEND_MATMUL_DESCRIPTOR, what);
    set(g, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute, what);
    finalize(g, how, what);
    descriptor d = create(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, what);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a, what);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b, what);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c, what);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_MATMUL_DESC, how, what);
    add_operation(g, d, what);
}

/* y: the sum or maximum of x over the axes in which y has one element. */
static void add_reduction(graph *g, cudnnReduceTensorOp_t kind, descriptor x, descriptor y,
                          const char *what) {
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    descriptor how = create(g, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, what);
    set(g, how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute, what);
    set(g, how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &kind, what);
    finalize(g, how, what);
    descriptor d = create(g, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, what);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_REDUCTION_DESC, how, what);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x, what);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y, what);
    add_operation(g, d, what);
}

/* y: x with another layout. */
static void add_reshape(graph *g, descriptor x, descriptor y, const char *what) {
    descriptor d = create(g, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, what);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x, what);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y, what);
    add_operation(g, d, what);
}

#endif
#endif
