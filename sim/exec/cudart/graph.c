#include "sim/exec/graph.h"

#include "sim/exec/copy.h"
#include "sim/exec/cudart/cudart.h"
#include "sim/exec/handles.h"

#include <stdlib.h>

static bool is_graph(const exec_graph *graph) {
    return exec_handle_is(graph, EXEC_HANDLE_GRAPH);
}
static bool is_node(const exec_node *node) {
    return exec_handle_is(node, EXEC_HANDLE_NODE);
}
static bool is_replay(const exec_replay *replay) {
    return exec_handle_is(replay, EXEC_HANDLE_REPLAY);
}

EXPORT exec_error cudaGraphCreate(exec_graph **graph, unsigned flags) {
    EXEC_CALL(graph != NULL && flags == 0 ? exec_graph_create(graph) : EXEC_INVALID_VALUE);
}

static exec_error destroy(exec_graph *graph) {
    if (!is_graph(graph))
        return EXEC_INVALID_VALUE;
    exec_graph_destroy(graph);
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaGraphDestroy(exec_graph *graph) {
    EXEC_CALL(destroy(graph));
}
EXPORT exec_error cudaGraphClone(exec_graph **copy, exec_graph *graph) {
    EXEC_CALL(copy != NULL && is_graph(graph) ? exec_graph_clone(copy, graph) : EXEC_INVALID_VALUE);
}

/* ---- nodes ---- */

/* Takes the work; `error` is what making it came to. */
static exec_error add(exec_node **node, exec_graph *graph, exec_node *const *needs, size_t n,
                      exec_work *work, exec_error error) {
    if (error == EXEC_SUCCESS && (node == NULL || !is_graph(graph) || (n > 0 && needs == NULL)))
        error = EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        return exec_graph_add(graph, needs, n, work, node);
    free(work);
    return error;
}

typedef struct kernel_parameters {
    const void *function;
    exec_dim grid, block;
    unsigned dynamic_shared;
    void **arguments, **packed;
} kernel_parameters;

static exec_error kernel_work(const kernel_parameters *p, exec_work **work) {
    exec_kernel *k;
    *work = NULL;
    if (p == NULL || p->packed != NULL)
        return p == NULL ? EXEC_INVALID_VALUE : EXEC_NOT_SUPPORTED;
    const exec_launch l = {p->grid, p->block, {0}, p->dynamic_shared, false};
    const exec_error error = exec_kernel_of(p->function, &k);
    return error == EXEC_SUCCESS ? exec_launch_work(k, &l, p->arguments, NULL, work) : error;
}

static exec_error add_kernel(exec_node **node, exec_graph *graph, exec_node *const *needs, size_t n,
                             const kernel_parameters *p) {
    exec_work *work;
    const exec_error error = kernel_work(p, &work);
    return add(node, graph, needs, n, work, error);
}

EXPORT exec_error cudaGraphAddKernelNode(exec_node **node, exec_graph *graph,
                                         exec_node *const *needs, size_t n,
                                         const kernel_parameters *p) {
    EXEC_CALL(add_kernel(node, graph, needs, n, p));
}

static exec_error add_copy(exec_node **node, exec_graph *graph, exec_node *const *needs, size_t n,
                           const exec_block *b, int direction, exec_error error) {
    exec_work *work = NULL;
    if (error == EXEC_SUCCESS)
        error = exec_copy_work(b, direction, &work);
    return add(node, graph, needs, n, work, error);
}

static exec_error add_copy3(exec_node **node, exec_graph *graph, exec_node *const *needs, size_t n,
                            const copy3 *c) {
    exec_block b = {0};
    const exec_error error = cudart_block_of(c, &b);
    return add_copy(node, graph, needs, n, &b, c != NULL ? c->direction : 0, error);
}

EXPORT exec_error cudaGraphAddMemcpyNode(exec_node **node, exec_graph *graph,
                                         exec_node *const *needs, size_t n, const copy3 *c) {
    EXEC_CALL(add_copy3(node, graph, needs, n, c));
}

EXPORT exec_error cudaGraphAddMemcpyNode1D(exec_node **node, exec_graph *graph,
                                           exec_node *const *needs, size_t n, void *to,
                                           const void *from, size_t bytes, int direction) {
    const exec_block b = exec_bytes(to, from, bytes);
    EXEC_CALL(add_copy(node, graph, needs, n, &b, direction, EXEC_SUCCESS));
}

typedef struct set_parameters {
    void *to;
    size_t pitch;
    unsigned value, element;
    size_t width, rows;
} set_parameters;

static exec_error set_work(const set_parameters *p, exec_work **work) {
    *work = NULL;
    if (p == NULL || p->width == 0 || p->rows == 0)
        return EXEC_INVALID_VALUE;
    const exec_fill f = {p->to, p->value, p->element, p->width, p->rows, 1, p->pitch, 0};
    return exec_set_work(&f, work);
}

static exec_error add_set(exec_node **node, exec_graph *graph, exec_node *const *needs, size_t n,
                          const set_parameters *p) {
    exec_work *work;
    const exec_error error = set_work(p, &work);
    return add(node, graph, needs, n, work, error);
}

EXPORT exec_error cudaGraphAddMemsetNode(exec_node **node, exec_graph *graph,
                                         exec_node *const *needs, size_t n,
                                         const set_parameters *p) {
    EXEC_CALL(add_set(node, graph, needs, n, p));
}

typedef struct call_parameters {
    void (*function)(void *);
    void *data;
} call_parameters;

static exec_error add_call(exec_node **node, exec_graph *graph, exec_node *const *needs, size_t n,
                           const call_parameters *p) {
    exec_work *work = NULL;
    const exec_error error =
        p != NULL ? exec_call_work(p->function, p->data, &work) : EXEC_INVALID_VALUE;
    return add(node, graph, needs, n, work, error);
}

EXPORT exec_error cudaGraphAddHostNode(exec_node **node, exec_graph *graph, exec_node *const *needs,
                                       size_t n, const call_parameters *p) {
    EXEC_CALL(add_call(node, graph, needs, n, p));
}

EXPORT exec_error cudaGraphAddEmptyNode(exec_node **node, exec_graph *graph,
                                        exec_node *const *needs, size_t n) {
    EXEC_CALL(add(node, graph, needs, n, NULL, EXEC_SUCCESS));
}

static exec_error add_child(exec_node **node, exec_graph *graph, exec_node *const *needs, size_t n,
                            exec_graph *child) {
    exec_work *work = NULL;
    const exec_error error = is_graph(child) ? exec_graph_work(child, &work) : EXEC_INVALID_VALUE;
    return add(node, graph, needs, n, work, error);
}

EXPORT exec_error cudaGraphAddChildGraphNode(exec_node **node, exec_graph *graph,
                                             exec_node *const *needs, size_t n, exec_graph *child) {
    EXEC_CALL(add_child(node, graph, needs, n, child));
}

/* Takes the work. */
static exec_error set_node(exec_node *node, exec_work_kind kind, exec_work *work,
                           exec_error error) {
    if (error == EXEC_SUCCESS && (!is_node(node) || exec_node_kind(node) != kind))
        error = EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        exec_node_set(node, work);
    else
        free(work);
    return error;
}

static exec_error set_kernel(exec_node *node, const kernel_parameters *p) {
    exec_work *work;
    const exec_error error = kernel_work(p, &work);
    return set_node(node, EXEC_WORK_KERNEL, work, error);
}

EXPORT exec_error cudaGraphKernelNodeSetParams(exec_node *node, const kernel_parameters *p) {
    EXEC_CALL(set_kernel(node, p));
}

static exec_error set_fill(exec_node *node, const set_parameters *p) {
    exec_work *work;
    const exec_error error = set_work(p, &work);
    return set_node(node, EXEC_WORK_FILL, work, error);
}

EXPORT exec_error cudaGraphMemsetNodeSetParams(exec_node *node, const set_parameters *p) {
    EXEC_CALL(set_fill(node, p));
}

/* ---- edges ---- */

static exec_error connect(exec_graph *graph, exec_node *const *from, exec_node *const *to,
                          size_t n) {
    if (!is_graph(graph) || (n > 0 && (from == NULL || to == NULL)))
        return EXEC_INVALID_VALUE;
    exec_error error = EXEC_SUCCESS;
    for (size_t i = 0; i < n && error == EXEC_SUCCESS; ++i)
        error = is_node(from[i]) && is_node(to[i]) ? exec_graph_add_edge(from[i], to[i])
                                                   : EXEC_INVALID_VALUE;
    return error;
}

#if EXEC_CUDART >= 13
EXPORT exec_error cudaGraphAddDependencies(exec_graph *graph, exec_node *const *from,
                                           exec_node *const *to, const void *edges, size_t n) {
    EXEC_CALL(edges == NULL ? connect(graph, from, to, n) : EXEC_NOT_SUPPORTED);
}
#else
EXPORT exec_error cudaGraphAddDependencies(exec_graph *graph, exec_node *const *from,
                                           exec_node *const *to, size_t n) {
    EXEC_CALL(connect(graph, from, to, n));
}
#endif

/* As CUDA does it: at most *n, and then *n is how many were given, or, with no place, how many
 * there are. */
static exec_error list(const exec_graph *graph, bool roots, exec_node **to, size_t *n) {
    if (!is_graph(graph) || n == NULL)
        return EXEC_INVALID_VALUE;
    size_t found = 0;
    for (size_t i = 0; i < exec_graph_size(graph); ++i) {
        exec_node *const *needs;
        if (roots && exec_node_needs(exec_graph_node(graph, i), &needs) > 0)
            continue;
        if (to != NULL && found < *n)
            to[found] = exec_graph_node(graph, i);
        ++found;
    }
    if (to != NULL)
        for (size_t i = found; i < *n; ++i)
            to[i] = NULL;
    if (to == NULL || found < *n)
        *n = found;
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaGraphGetNodes(exec_graph *graph, exec_node **to, size_t *n) {
    EXEC_CALL(list(graph, false, to, n));
}
EXPORT exec_error cudaGraphGetRootNodes(exec_graph *graph, exec_node **to, size_t *n) {
    EXEC_CALL(list(graph, true, to, n));
}

static exec_error kind_of(const exec_node *node, int *kind) {
    if (!is_node(node) || kind == NULL)
        return EXEC_INVALID_VALUE;
    *kind = (int)exec_node_kind(node);
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaGraphNodeGetType(exec_node *node, int *kind) {
    EXEC_CALL(kind_of(node, kind));
}

/* Like list(), of what a node waits for. */
static exec_error needs_of(const exec_node *node, exec_node **to, size_t *n) {
    exec_node *const *needs;
    if (!is_node(node) || n == NULL)
        return EXEC_INVALID_VALUE;
    const size_t found = exec_node_needs(node, &needs);
    for (size_t i = 0; to != NULL && i < *n; ++i)
        to[i] = i < found ? needs[i] : NULL;
    if (to == NULL || found < *n)
        *n = found;
    return EXEC_SUCCESS;
}

#if EXEC_CUDART >= 13
EXPORT exec_error cudaGraphNodeGetDependencies(exec_node *node, exec_node **to, void *edges,
                                               size_t *n) {
    EXEC_CALL(edges == NULL ? needs_of(node, to, n) : EXEC_NOT_SUPPORTED);
}
#else
EXPORT exec_error cudaGraphNodeGetDependencies(exec_node *node, exec_node **to, size_t *n) {
    EXEC_CALL(needs_of(node, to, n));
}
#endif

/* The arguments' addresses are of the launch's own copy, and last as long as the node. */
static exec_error kernel_of(const exec_node *node, kernel_parameters *p) {
    exec_launch l;
    if (!is_node(node) || p == NULL || exec_node_kind(node) != EXEC_WORK_KERNEL)
        return EXEC_INVALID_VALUE;
    const exec_kernel *k = exec_work_launch(exec_node_work(node), &l);
    if (k == NULL)
        return EXEC_NOT_SUPPORTED;
    *p = (kernel_parameters){.function = k,
                             .grid = l.grid,
                             .block = l.block,
                             .dynamic_shared = (unsigned)l.dynamic_shared,
                             .arguments = exec_work_arguments(exec_node_work(node))};
    return p->arguments != NULL ? EXEC_SUCCESS : EXEC_OUT_OF_MEMORY;
}

EXPORT exec_error cudaGraphKernelNodeGetParams(exec_node *node, kernel_parameters *p) {
    EXEC_CALL(kernel_of(node, p));
}

/* ---- replays ---- */

static exec_error instantiate(exec_replay **replay, const exec_graph *graph) {
    return replay != NULL && is_graph(graph) ? exec_replay_create(replay, graph)
                                             : EXEC_INVALID_VALUE;
}

#if EXEC_CUDART >= 12
EXPORT exec_error cudaGraphInstantiate(exec_replay **replay, exec_graph *graph,
                                       unsigned long long flags) {
    (void)flags;
    EXEC_CALL(instantiate(replay, graph));
}
#else
EXPORT exec_error cudaGraphInstantiate(exec_replay **replay, exec_graph *graph, exec_node **at,
                                       char *log, size_t room) {
    (void)at, (void)log, (void)room;
    EXEC_CALL(instantiate(replay, graph));
}
#endif
EXPORT exec_error cudaGraphInstantiateWithFlags(exec_replay **replay, exec_graph *graph,
                                                unsigned long long flags) {
    (void)flags;
    EXEC_CALL(instantiate(replay, graph));
}

static exec_error launch(exec_replay *replay, void *stream) {
    exec_stream *s;
    const exec_error error = is_replay(replay) ? exec_stream_of(stream, &s) : EXEC_INVALID_VALUE;
    return error == EXEC_SUCCESS ? exec_replay_launch(replay, s) : error;
}

EXPORT exec_error cudaGraphLaunch(exec_replay *replay, void *stream) {
    EXEC_CALL(launch(replay, stream));
}
SAME_AS(cudaGraphLaunch_ptsz, cudaGraphLaunch);

EXPORT exec_error cudaGraphUpload(exec_replay *replay, void *stream) {
    (void)stream;
    EXEC_CALL(is_replay(replay) ? EXEC_SUCCESS : EXEC_INVALID_VALUE);
}
SAME_AS(cudaGraphUpload_ptsz, cudaGraphUpload);

static exec_error end_replay(exec_replay *replay) {
    if (!is_replay(replay))
        return EXEC_INVALID_VALUE;
    exec_streams_synchronize(); /* it may be under way */
    exec_replay_destroy(replay);
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaGraphExecDestroy(exec_replay *replay) {
    EXEC_CALL(end_replay(replay));
}

static exec_error set_replay_kernel(exec_replay *replay, exec_node *node,
                                    const kernel_parameters *p) {
    exec_work *work;
    const exec_error error = is_replay(replay) ? kernel_work(p, &work) : EXEC_INVALID_VALUE;
    if (error != EXEC_SUCCESS)
        return error;
    exec_streams_synchronize(); /* launches before this one use the old parameters */
    return exec_replay_set(replay, node, work);
}

EXPORT exec_error cudaGraphExecKernelNodeSetParams(exec_replay *replay, exec_node *node,
                                                   const kernel_parameters *p) {
    EXEC_CALL(set_replay_kernel(replay, node, p));
}

typedef struct update_result {
    int result;
    exec_node *node, *from;
} update_result;

/* 0: done. 1: failed; 2: another form. */
static exec_error update(exec_replay *replay, const exec_graph *graph, int *result) {
    exec_error error = EXEC_INVALID_VALUE;
    if (!is_replay(replay) || !is_graph(graph) || result == NULL)
        return error;
    exec_streams_synchronize();
    const bool same = exec_replay_update(replay, graph, &error);
    *result = same ? 0 : error != EXEC_SUCCESS ? 1 : 2;
    return error == EXEC_SUCCESS && !same ? EXEC_UPDATE_FAILURE : error;
}

#if EXEC_CUDART >= 12
EXPORT exec_error cudaGraphExecUpdate(exec_replay *replay, exec_graph *graph,
                                      update_result *result) {
    EXEC_CALL(update(replay, graph, result != NULL ? &result->result : NULL));
}
#else
EXPORT exec_error cudaGraphExecUpdate(exec_replay *replay, exec_graph *graph, exec_node **at,
                                      int *result) {
    (void)at;
    EXEC_CALL(update(replay, graph, result));
}
#endif
