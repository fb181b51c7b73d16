/*
 * Operation graphs of cuDNN's graph API, as far as attention needs them: tensors of four axes,
 * products, pointwise operations, reductions and reshapes, and the plan that runs them all.
 *
 * A function that fails leaves its status and line in the graph, and those after it do nothing, so
 * that a graph is written down without a check after each step. `what` names a step in that line.
 */
#ifndef ASSAY_ATTENTION_V2_CUDNN_GRAPH_H
#define ASSAY_ATTENTION_V2_CUDNN_GRAPH_H

#include "device/dnn.h"
#include "device/grid.h"

#include <stdio.h>

#if ASSAY_DNN_GRAPH

enum { AXES = 4, GRAPH_DESCRIPTORS = 256, GRAPH_OPERATIONS = 32, GRAPH_SCALARS = 8 };
enum { PLAN_CANDIDATES = 16, GRAPH_ALIGNMENT = 16 };

typedef cudnnBackendDescriptor_t descriptor;

/* A number that operations take by value, from host memory when the plan runs. */
struct scalar {
    int64_t id;
    union {
        float f;
        int32_t i;
    } value;
};

struct graph {
    cudnnHandle_t dnn;
    assay_status status;
    descriptor all[GRAPH_DESCRIPTORS], operations[GRAPH_OPERATIONS];
    int n_all, n_operations;
    scalar scalars[GRAPH_SCALARS];
    int n_scalars;
    int64_t next_id; /* of a scalar or an intermediate tensor */
    descriptor plan;
    int64_t workspace_bytes;
};

static void check(graph *g, cudnnStatus_t returned, const char *what, const char *step) {
    char line[128];
    snprintf(line, sizeof line, "cuDNN graph, %s: %s", what, step);
    if (g->status == ASSAY_OK)
        g->status = assay_dnn_check(returned, line);
}

static void fail_if_full(graph *g, int used, int room, const char *what) {
    if (g->status == ASSAY_OK && used == room)
        g->status = assay_fail(ASSAY_ERR_DEVICE,
                               "cuDNN graph, %s: more than the %d there is room for", what, room);
}

static descriptor create(graph *g, cudnnBackendDescriptorType_t type, const char *what) {
    descriptor made = NULL;
    fail_if_full(g, g->n_all, GRAPH_DESCRIPTORS, what);
    if (g->status != ASSAY_OK)
        return NULL;
    check(g, cudnnBackendCreateDescriptor(type, &made), what, "create");
    if (g->status == ASSAY_OK)
        g->all[g->n_all++] = made;
    return made;
}

static void set(graph *g, descriptor d, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t count, const void *values,
                const char *what) {
    char step[48];
    if (g->status != ASSAY_OK)
        return;
    snprintf(step, sizeof step, "set attribute %d", (int)name);
    check(g, cudnnBackendSetAttribute(d, name, type, count, values), what, step);
}

static void set_descriptor(graph *g, descriptor d, cudnnBackendAttributeName_t name,
                           const descriptor &value, const char *what) {
    set(g, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value, what);
}

static void finalize(graph *g, descriptor d, const char *what) {
    if (g->status == ASSAY_OK)
        check(g, cudnnBackendFinalize(d), what, "finalize");
}

static void add_operation(graph *g, descriptor operation, const char *what) {
    finalize(g, operation, what);
    fail_if_full(g, g->n_operations, GRAPH_OPERATIONS, what);
    if (g->status == ASSAY_OK)
        g->operations[g->n_operations++] = operation;
}

/* ---- tensors ---- */

struct layout {
    int64_t size[AXES], stride[AXES];
};

/* Row-major, without gaps. */
static layout packed(int64_t n0, int64_t n1, int64_t n2, int64_t n3) {
    return {{n0, n1, n2, n3}, {n1 * n2 * n3, n2 * n3, n3, 1}};
}

/* The same memory with its last two axes exchanged. */
static layout transposed(const layout &l) {
    return {{l.size[0], l.size[1], l.size[3], l.size[2]},
            {l.stride[0], l.stride[1], l.stride[3], l.stride[2]}};
}

enum storage { IN_MEMORY, INTERMEDIATE, BY_VALUE };

static descriptor add_tensor(graph *g, int64_t id, cudnnDataType_t type, const layout &l,
                             storage where, const char *what) {
    const int64_t alignment = GRAPH_ALIGNMENT;
    const bool yes = true;
    descriptor d = create(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR, what);
    set(g, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id, what);
    set(g, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type, what);
    set(g, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, AXES, l.size, what);
    set(g, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, AXES, l.stride, what);
    set(g, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment, what);
    if (where == INTERMEDIATE)
        set(g, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes, what);
    if (where == BY_VALUE)
        set(g, d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &yes, what);
    finalize(g, d, what);
    return d;
}

static descriptor intermediate(graph *g, cudnnDataType_t type, const layout &l, const char *what) {
    return add_tensor(g, g->next_id++, type, l, INTERMEDIATE, what);
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
    descriptor how = create(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, what);
    set(g, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &p.mode, what);
    set(g, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &p.compute, what);
    if (p.mode == CUDNN_POINTWISE_GEN_INDEX)
        set(g, how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &p.axis, what);
    finalize(g, how, what);
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

/* ---- the plan ---- */

static void open_graph(graph *g, cudnnHandle_t dnn, int64_t first_id) {
    *g = {};
    g->dnn = dnn;
    g->next_id = first_id;
}

/* Last made, first destroyed. */
static void close_graph(graph *g) {
    while (g->n_all > 0)
        (void)cudnnBackendDestroyDescriptor(g->all[--g->n_all]);
}

/* The engines that cuDNN proposes for the graph's operations, best first. */
static int64_t propose(graph *g, descriptor configurations[PLAN_CANDIDATES]) {
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    int64_t found = 0;
    descriptor whole = create(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "operations");
    set(g, whole, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->dnn, "operations");
    set(g, whole, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->n_operations,
        g->operations, "operations");
    finalize(g, whole, "operations");
    descriptor heuristic = create(g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "heuristic");
    set_descriptor(g, heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, whole, "heuristic");
    set(g, heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode, "heuristic");
    finalize(g, heuristic, "heuristic");
    for (int i = 0; i < PLAN_CANDIDATES; ++i)
        configurations[i] = create(g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "engine");
    if (g->status == ASSAY_OK)
        check(g,
              cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, PLAN_CANDIDATES, &found,
                                       configurations),
              "heuristic", "get the engines");
    return clamp(found, 0, PLAN_CANDIDATES);
}

/* Makes the first plan that can be made. The operations are all there. */
static void make_plan(graph *g) {
    descriptor configurations[PLAN_CANDIDATES] = {};
    const int64_t found = propose(g, configurations);
    if (g->status != ASSAY_OK)
        return;
    g->status = assay_fail(ASSAY_ERR_UNSUPPORTED, "cuda: cuDNN proposes no engine for this graph");
    for (int64_t i = 0; i < found && g->status == ASSAY_ERR_UNSUPPORTED; ++i) {
        g->status = ASSAY_OK;
        g->plan = create(g, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "plan");
        set(g, g->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->dnn, "plan");
        set_descriptor(g, g->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configurations[i],
                       "plan");
        finalize(g, g->plan, "plan");
    }
    int64_t count = 0;
    if (g->status == ASSAY_OK)
        check(g,
              cudnnBackendGetAttribute(g->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                       CUDNN_TYPE_INT64, 1, &count, &g->workspace_bytes),
              "plan", "get the size of its workspace");
}

/* Runs the plan on `count` tensors in memory. */
static assay_status run_plan(graph *g, const int64_t *ids, void *const *data, int count,
                             void *workspace) {
    enum { ROOM = 16 + GRAPH_SCALARS };
    int64_t all_ids[ROOM];
    void *all_data[ROOM];
    int n = 0;
    for (int i = 0; i < count && n < ROOM; ++i, ++n) {
        all_ids[n] = ids[i];
        all_data[n] = data[i];
    }
    for (int i = 0; i < g->n_scalars && n < ROOM; ++i, ++n) {
        all_ids[n] = g->scalars[i].id;
        all_data[n] = &g->scalars[i].value;
    }
    graph pack;
    open_graph(&pack, g->dnn, 0);
    descriptor d = create(&pack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "pointers");
    set(&pack, d, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, all_ids, "pointers");
    set(&pack, d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, all_data,
        "pointers");
    set(&pack, d, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace,
        "pointers");
    finalize(&pack, d, "pointers");
    if (pack.status == ASSAY_OK)
        check(&pack, cudnnBackendExecute(g->dnn, g->plan, d), "plan", "execute");
    close_graph(&pack);
    return pack.status;
}

#endif
#endif
