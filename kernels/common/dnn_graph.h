/*
 * Graphs of operations of cuDNN's graph API: tensors of four axes or five, operations that the
 * caller describes, and the plan that runs them all.
 *
 * A function that fails leaves its status and line in the graph, and those after it do nothing, so
 * that a graph is written down without a check after each step. `what` names a step in that line.
 */
#ifndef ASSAY_KERNELS_COMMON_DNN_GRAPH_H
#define ASSAY_KERNELS_COMMON_DNN_GRAPH_H

#include "device/dnn.h"
#include "device/grid.h"

#include <stdio.h>
#include <string.h>

#if ASSAY_DNN

enum { GRAPH_AXES = 5, GRAPH_DESCRIPTORS = 320, GRAPH_OPERATIONS = 32, GRAPH_SCALARS = 8 };
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

static inline void check(graph *g, cudnnStatus_t returned, const char *what, const char *step) {
    char line[128];
    snprintf(line, sizeof line, "cuDNN graph, %s: %s", what, step);
    if (g->status == ASSAY_OK)
        g->status = assay_dnn_check(returned, line);
}

static inline void fail_if_full(graph *g, int used, int room, const char *what) {
    if (g->status == ASSAY_OK && used == room)
        g->status = assay_fail(ASSAY_ERR_DEVICE,
                               "cuDNN graph, %s: more than the %d there is room for", what, room);
}

static inline descriptor create(graph *g, cudnnBackendDescriptorType_t type, const char *what) {
    descriptor made = NULL;
    fail_if_full(g, g->n_all, GRAPH_DESCRIPTORS, what);
    if (g->status != ASSAY_OK)
        return NULL;
    check(g, cudnnBackendCreateDescriptor(type, &made), what, "create");
    if (g->status == ASSAY_OK)
        g->all[g->n_all++] = made;
    return made;
}

static inline void set(graph *g, descriptor d, cudnnBackendAttributeName_t name,
                       cudnnBackendAttributeType_t type, int64_t count, const void *values,
                       const char *what) {
    char step[48];
    if (g->status != ASSAY_OK)
        return;
    snprintf(step, sizeof step, "set attribute %d", (int)name);
    check(g, cudnnBackendSetAttribute(d, name, type, count, values), what, step);
}

static inline void set_descriptor(graph *g, descriptor d, cudnnBackendAttributeName_t name,
                                  const descriptor &value, const char *what) {
    set(g, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value, what);
}

static inline void finalize(graph *g, descriptor d, const char *what) {
    if (g->status == ASSAY_OK)
        check(g, cudnnBackendFinalize(d), what, "finalize");
}

static inline void add_operation(graph *g, descriptor operation, const char *what) {
    finalize(g, operation, what);
    fail_if_full(g, g->n_operations, GRAPH_OPERATIONS, what);
    if (g->status == ASSAY_OK)
        g->operations[g->n_operations++] = operation;
}

/* ---- tensors ---- */

struct layout {
    int64_t size[GRAPH_AXES], stride[GRAPH_AXES];
    int axes = 4;
};

enum storage { IN_MEMORY, INTERMEDIATE, BY_VALUE };

/* To be finalized, when more is set. */
static inline descriptor open_tensor(graph *g, int64_t id, cudnnDataType_t type, const layout &l,
                                     storage where, const char *what) {
    const int64_t alignment = GRAPH_ALIGNMENT;
    const bool yes = true;
    descriptor d = create(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR, what);
    set(g, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id, what);
    set(g, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type, what);
    set(g, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, l.axes, l.size, what);
    set(g, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, l.axes, l.stride, what);
    set(g, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment, what);
    if (where == INTERMEDIATE)
        set(g, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes, what);
    if (where == BY_VALUE)
        set(g, d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &yes, what);
    return d;
}

static inline descriptor add_tensor(graph *g, int64_t id, cudnnDataType_t type, const layout &l,
                                    storage where, const char *what) {
    descriptor d = open_tensor(g, id, type, l, where, what);
    finalize(g, d, what);
    return d;
}

/* ---- operations ---- */

/* How an operation on each element is made: its mode, and the type that it computes in. `axis` is
 * for GEN_INDEX. */
static inline descriptor add_mode(graph *g, cudnnPointwiseMode_t mode, cudnnDataType_t compute,
                                  int64_t axis, const char *what) {
    descriptor how = create(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, what);
    set(g, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode, what);
    set(g, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute, what);
    if (mode == CUDNN_POINTWISE_GEN_INDEX)
        set(g, how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis, what);
    finalize(g, how, what);
    return how;
}

/* ---- the plan ---- */

static inline void open_graph(graph *g, cudnnHandle_t dnn, int64_t first_id) {
    *g = {};
    g->dnn = dnn;
    g->next_id = first_id;
}

/* Last made, first destroyed. */
static inline void close_graph(graph *g) {
    while (g->n_all > 0)
        (void)cudnnBackendDestroyDescriptor(g->all[--g->n_all]);
}

static inline descriptor whole_graph(graph *g) {
    descriptor whole = create(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "operations");
    set(g, whole, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->dnn, "operations");
    set(g, whole, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->n_operations,
        g->operations, "operations");
    finalize(g, whole, "operations");
    return whole;
}

/* The engines that cuDNN proposes for the operations, best first. */
static inline int64_t propose(graph *g, descriptor whole, cudnnBackendHeurMode_t mode,
                              descriptor configurations[PLAN_CANDIDATES]) {
    int64_t found = 0;
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

/* Makes the first plan that can be made, of the configurations that `is_right` says true of. */
template <typename IsRight>
static inline void try_engines(graph *g, descriptor whole, cudnnBackendHeurMode_t mode,
                               IsRight is_right) {
    descriptor configurations[PLAN_CANDIDATES] = {};
    const int64_t found = propose(g, whole, mode, configurations);
    if (g->status != ASSAY_OK)
        return;
    g->status = assay_fail(ASSAY_ERR_UNSUPPORTED, "cuda: cuDNN proposes no engine for this graph");
    for (int64_t i = 0; i < found && g->status == ASSAY_ERR_UNSUPPORTED; ++i) {
        g->status = ASSAY_OK;
        if (!is_right(configurations[i])) {
            g->status = assay_fail(ASSAY_ERR_UNSUPPORTED,
                                   "cuda: of cuDNN's engines for this graph none is right");
            continue;
        }
        g->plan = create(g, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "plan");
        set(g, g->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->dnn, "plan");
        set_descriptor(g, g->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configurations[i],
                       "plan");
        finalize(g, g->plan, "plan");
    }
}

/* Of the operations, which are all there; by the engines that heuristics, of this mode, call quick,
 * otherwise by those that do without. */
template <typename IsRight>
static inline void make_plan(graph *g, cudnnBackendHeurMode_t mode, IsRight is_right) {
    descriptor whole = whole_graph(g);
    if (g->status != ASSAY_OK)
        return;
    try_engines(g, whole, mode, is_right);
    if (g->status == ASSAY_ERR_UNSUPPORTED) {
        g->status = ASSAY_OK;
        try_engines(g, whole, CUDNN_HEUR_MODE_FALLBACK, is_right);
    }
    int64_t count = 0;
    if (g->status == ASSAY_OK)
        check(g,
              cudnnBackendGetAttribute(g->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                       CUDNN_TYPE_INT64, 1, &count, &g->workspace_bytes),
              "plan", "get the size of its workspace");
}

static inline void make_plan(graph *g) {
    make_plan(g, CUDNN_HEUR_MODE_A, [](descriptor) { return true; });
}

/* Runs the plan on `count` tensors in memory. */
static inline assay_status run_plan(graph *g, const int64_t *ids, void *const *data, int count,
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

/*
 * Plans are kept, as the handle is: to make one takes cuDNN up to seconds, and it holds no data.
 * When there are too many, the oldest goes. A key is numbers without gaps, of which one is not 0.
 * One thread at a time uses them.
 */
enum { PLANS = 64 };

template <typename Key> struct kept_plans {
    cudnnHandle_t dnn;
    Key key[PLANS]; /* all 0: none */
    graph g[PLANS];
    int64_t made;
};

/* The plan of the key. make(graph, key) makes it where none is kept; ids of its own that it makes
 * begin at `first_id`. */
template <typename Key, typename Make>
static assay_status make_plan_of(kept_plans<Key> *kept, const Key &key, void *stream,
                                 int64_t first_id, Make make, graph **found) {
    const assay_status status = assay_dnn_bind(&kept->dnn, stream);
    if (status != ASSAY_OK)
        return status;
    for (int i = 0; i < PLANS; ++i) {
        *found = &kept->g[i];
        if (memcmp(&kept->key[i], &key, sizeof key) == 0)
            return ASSAY_OK;
    }
    const int64_t place = kept->made++ % PLANS;
    graph *g = *found = &kept->g[place];
    close_graph(g);
    open_graph(g, kept->dnn, first_id);
    make(g, key);
    kept->key[place] = g->status == ASSAY_OK ? key : Key{};
    return g->status;
}

/* The same: draw(graph, key) adds its operations. */
template <typename Key, typename Draw>
static assay_status find_plan_of(kept_plans<Key> *kept, const Key &key, void *stream,
                                 int64_t first_id, Draw draw, graph **found) {
    return make_plan_of(
        kept, key, stream, first_id,
        [&](graph *g, const Key &of) {
            draw(g, of);
            make_plan(g);
        },
        found);
}

#endif
#endif
