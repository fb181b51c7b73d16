/*
 * The functions of graphs, which the runtime and the driver have alike but for their names and the
 * layouts of some parameters. Each includes this file once, behind
 *
 *   NAMED(Name)    cudaName or cuName
 *   KERNELS(Name)  cudaName or cuName_v2, of kernels' nodes
 *   CALL(body)     EXEC_CALL or DRIVER_CALL
 *
 * and the layouts kernel_parameters, copy_parameters and node_parameters with
 *
 *   kernel_work(), copy_work()    parameters to a node's work
 *   kernel_given(), copy_given()  and back
 *   node_copy()                   the copy of node_parameters
 *
 * EXEC_EDGES: the plain names of some functions have the form with data of edges, as in the runtime
 * of CUDA 13, and not the _v2 names. EXEC_OLD_UPDATE: cudaGraphInstantiate and cudaGraphExecUpdate
 * have the form from before CUDA 12.
 */
#include "sim/exec/capture.h"
#include "sim/exec/copy.h"
#include "sim/exec/graph.h"
#include "sim/exec/graph_memory.h"
#include "sim/exec/handles.h"
#include "sim/exec/launch.h"

#include <stdlib.h>
#include <string.h>

static bool is_graph(const exec_graph *graph) {
    return exec_handle_is(graph, EXEC_HANDLE_GRAPH);
}
static bool is_node(const exec_node *node) {
    return exec_handle_is(node, EXEC_HANDLE_NODE);
}
static bool is_replay(const exec_replay *replay) {
    return exec_handle_is(replay, EXEC_HANDLE_REPLAY);
}

/* Where a new node goes. */
typedef struct place {
    exec_node **node;
    exec_graph *graph;
    exec_node *const *needs;
    size_t n;
} place;

static bool is_place(const place *p) {
    return p->node != NULL && is_graph(p->graph) && (p->n == 0 || p->needs != NULL);
}

/* Takes the work; `error` is what making it came to. */
static exec_error add(const place *p, exec_work *work, exec_error error) {
    if (error == EXEC_SUCCESS && is_place(p))
        return exec_graph_add(p->graph, p->needs, p->n, work, p->node);
    free(work);
    return error == EXEC_SUCCESS ? EXEC_INVALID_VALUE : error;
}

/* Takes the work. */
static exec_error set(exec_node *node, exec_work *work, exec_error error) {
    if (error == EXEC_SUCCESS && is_node(node))
        return exec_node_set(node, work);
    free(work);
    return error == EXEC_SUCCESS ? EXEC_INVALID_VALUE : error;
}

/* Takes the work. Launches before this call have the old one. */
static exec_error set_in(exec_replay *replay, const exec_node *node, exec_work *work,
                         exec_error error) {
    exec_node *own =
        error == EXEC_SUCCESS && is_replay(replay) ? exec_replay_node(replay, node) : NULL;
    if (own != NULL) {
        exec_streams_synchronize();
        return exec_node_set(own, work);
    }
    free(work);
    return error == EXEC_SUCCESS ? EXEC_INVALID_VALUE : error;
}

#define PLACE      exec_node **node, exec_graph *graph, exec_node *const *needs, size_t n
#define THIS_PLACE (&(place){node, graph, needs, n})

/* A kind of node: adds it, sets it in a graph, sets it in a replay. MAKE(parameters, old work,
 * &work) makes its work. */
#define NODE_MAKERS(PARAMETERS, MAKE)                                                              \
    static exec_error add_##MAKE(const place *p, PARAMETERS parameters) {                          \
        exec_work *work = NULL;                                                                    \
        const exec_error error = MAKE(parameters, NULL, &work);                                    \
        return add(p, work, error);                                                                \
    }                                                                                              \
    static exec_error set_##MAKE(exec_node *node, PARAMETERS parameters) {                         \
        exec_work *work = NULL;                                                                    \
        exec_error error = EXEC_INVALID_VALUE;                                                     \
        if (is_node(node))                                                                         \
            error = MAKE(parameters, exec_node_work(node), &work);                                 \
        return set(node, work, error);                                                             \
    }                                                                                              \
    static exec_error set_in_##MAKE(exec_replay *replay, exec_node *node, PARAMETERS parameters) { \
        exec_work *work = NULL;                                                                    \
        exec_error error = EXEC_INVALID_VALUE;                                                     \
        const exec_node *own = is_replay(replay) ? exec_replay_node(replay, node) : NULL;          \
        if (own != NULL)                                                                           \
            error = MAKE(parameters, exec_node_work(own), &work);                                  \
        return set_in(replay, node, work, error);                                                  \
    }

#define NODE_CALLS(ADD, SET, EXEC_SET, PARAMETERS, MAKE)                                           \
    NODE_MAKERS(PARAMETERS, MAKE)                                                                  \
    EXPORT exec_error ADD(PLACE, PARAMETERS parameters) {                                          \
        CALL(add_##MAKE(THIS_PLACE, parameters));                                                  \
    }                                                                                              \
    EXPORT exec_error SET(exec_node *node, PARAMETERS parameters) {                                \
        CALL(set_##MAKE(node, parameters));                                                        \
    }                                                                                              \
    EXPORT exec_error EXEC_SET(exec_replay *replay, exec_node *node, PARAMETERS parameters) {      \
        CALL(set_in_##MAKE(replay, node, parameters));                                             \
    }

/* ---- graphs ---- */

EXPORT exec_error NAMED(GraphCreate)(exec_graph **graph, unsigned flags) {
    CALL(graph != NULL && flags == 0 ? exec_graph_create(graph) : EXEC_INVALID_VALUE);
}

EXPORT exec_error NAMED(GraphDestroy)(exec_graph *graph) {
    CALL(is_graph(graph) ? exec_graph_destroy(graph) : EXEC_INVALID_VALUE);
}

EXPORT exec_error NAMED(GraphClone)(exec_graph **copy, exec_graph *graph) {
    CALL(copy != NULL && is_graph(graph) ? exec_graph_clone(copy, graph) : EXEC_INVALID_VALUE);
}

static exec_error find_in_clone(exec_node **found, const exec_node *node, const exec_graph *clone) {
    if (found == NULL || !is_node(node) || !is_graph(clone))
        return EXEC_INVALID_VALUE;
    *found = exec_graph_copy_of(clone, node);
    return *found != NULL ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
}

EXPORT exec_error NAMED(GraphNodeFindInClone)(exec_node **found, exec_node *node,
                                              exec_graph *clone) {
    CALL(find_in_clone(found, node, clone));
}

/* Flags choose what the labels have; all are as short as without any. */
EXPORT exec_error NAMED(GraphDebugDotPrint)(exec_graph *graph, const char *path, unsigned flags) {
    (void)flags;
    CALL(is_graph(graph) ? exec_graph_draw(graph, path) : EXEC_INVALID_VALUE);
}

/* ---- nodes ---- */

static bool has_kind(const exec_node *node, exec_work_kind kind) {
    return is_node(node) && exec_node_kind(node) == kind;
}

NODE_CALLS(KERNELS(GraphAddKernelNode), KERNELS(GraphKernelNodeSetParams),
           KERNELS(GraphExecKernelNodeSetParams), const kernel_parameters *, kernel_work)

static exec_error kernel_of(const exec_node *node, kernel_parameters *p) {
    if (!has_kind(node, EXEC_WORK_KERNEL) || p == NULL)
        return EXEC_INVALID_VALUE;
    exec_launch l;
    const exec_kernel *k = exec_work_launch(exec_node_work(node), &l);
    if (k == NULL)
        return EXEC_NOT_SUPPORTED;
    /* Their addresses are of the launch's own copy, and last as long as the node. */
    void **arguments = exec_work_arguments(exec_node_work(node));
    if (arguments == NULL)
        return EXEC_OUT_OF_MEMORY;
    kernel_given(k, &l, arguments, p);
    return EXEC_SUCCESS;
}

EXPORT exec_error KERNELS(GraphKernelNodeGetParams)(exec_node *node, kernel_parameters *p) {
    CALL(kernel_of(node, p));
}

NODE_CALLS(NAMED(GraphAddMemcpyNode), NAMED(GraphMemcpyNodeSetParams),
           NAMED(GraphExecMemcpyNodeSetParams), const copy_parameters *, copy_work)

/* An array is given as the memory that it lies in. */
static exec_error copy_of(const exec_node *node, copy_parameters *p) {
    exec_block b;
    int direction;
    if (!has_kind(node, EXEC_WORK_COPY) || p == NULL)
        return EXEC_INVALID_VALUE;
    const exec_error error = exec_work_copies(exec_node_work(node), &b, &direction);
    if (error == EXEC_SUCCESS)
        copy_given(&b, direction, p);
    return error;
}

EXPORT exec_error NAMED(GraphMemcpyNodeGetParams)(exec_node *node, copy_parameters *p) {
    CALL(copy_of(node, p));
}

typedef struct set_parameters {
    void *to;
    size_t pitch;
    unsigned value, element;
    size_t width, rows;
} set_parameters;

static exec_error set_work(const set_parameters *p, const exec_work *old, exec_work **work) {
    (void)old;
    if (p == NULL || p->width == 0 || p->rows == 0)
        return EXEC_INVALID_VALUE;
    const exec_fill f = {p->to, p->value, p->element, p->width, p->rows, 1, p->pitch, 0};
    return exec_set_work(&f, work);
}

#if EXEC_CONTEXTS
NODE_MAKERS(const set_parameters *, set_work)

/* Memory of graphs and pools is of no context, so the caller must name one. */
static exec_error in_context(const set_parameters *p, const void *context) {
    if (p == NULL || context != NULL)
        return EXEC_SUCCESS;
    return exec_memory_is_graphs(p->to) || exec_pool_of(p->to) != NULL ? EXEC_INVALID_VALUE
                                                                       : EXEC_SUCCESS;
}

static exec_error add_set_in_context(const place *p, const set_parameters *s, const void *context) {
    const exec_error error = in_context(s, context);
    return error == EXEC_SUCCESS ? add_set_work(p, s) : error;
}
static exec_error set_in_context(exec_replay *replay, exec_node *node, const set_parameters *s,
                                 const void *context) {
    const exec_error error = in_context(s, context);
    return error == EXEC_SUCCESS ? set_in_set_work(replay, node, s) : error;
}

EXPORT exec_error NAMED(GraphAddMemsetNode)(PLACE, const set_parameters *p, void *context) {
    CALL(add_set_in_context(THIS_PLACE, p, context));
}
EXPORT exec_error NAMED(GraphMemsetNodeSetParams)(exec_node *node, const set_parameters *p) {
    CALL(set_set_work(node, p));
}
EXPORT exec_error NAMED(GraphExecMemsetNodeSetParams)(exec_replay *replay, exec_node *node,
                                                      const set_parameters *p, void *context) {
    CALL(set_in_context(replay, node, p, context));
}
#else
NODE_CALLS(NAMED(GraphAddMemsetNode), NAMED(GraphMemsetNodeSetParams),
           NAMED(GraphExecMemsetNodeSetParams), const set_parameters *, set_work)
#endif

static exec_error set_of(const exec_node *node, set_parameters *p) {
    exec_fill f;
    if (!has_kind(node, EXEC_WORK_FILL) || p == NULL)
        return EXEC_INVALID_VALUE;
    const exec_error error = exec_work_fills(exec_node_work(node), &f);
    if (error == EXEC_SUCCESS)
        *p = (set_parameters){f.to, f.pitch, f.value, (unsigned)f.element, f.width, f.rows};
    return error;
}

EXPORT exec_error NAMED(GraphMemsetNodeGetParams)(exec_node *node, set_parameters *p) {
    CALL(set_of(node, p));
}

typedef struct call_parameters {
    void (*function)(void *);
    void *data;
} call_parameters;

static exec_error call_work(const call_parameters *p, const exec_work *old, exec_work **work) {
    (void)old;
    return p != NULL ? exec_call_work(p->function, p->data, work) : EXEC_INVALID_VALUE;
}

NODE_CALLS(NAMED(GraphAddHostNode), NAMED(GraphHostNodeSetParams),
           NAMED(GraphExecHostNodeSetParams), const call_parameters *, call_work)

static exec_error call_of(const exec_node *node, call_parameters *p) {
    return has_kind(node, EXEC_WORK_HOST) && p != NULL
               ? exec_work_call(exec_node_work(node), &p->function, &p->data)
               : EXEC_INVALID_VALUE;
}

EXPORT exec_error NAMED(GraphHostNodeGetParams)(exec_node *node, call_parameters *p) {
    CALL(call_of(node, p));
}

EXPORT exec_error NAMED(GraphAddEmptyNode)(PLACE) {
    CALL(add(THIS_PLACE, NULL, EXEC_SUCCESS));
}

/* ---- graphs within graphs ---- */

enum { MOVE = 1 };

static exec_error add_child(const place *p, exec_graph *child, bool move) {
    return is_place(p) && is_graph(child)
               ? exec_graph_add_graph(p->graph, p->needs, p->n, child, move, p->node)
               : EXEC_INVALID_VALUE;
}

EXPORT exec_error NAMED(GraphAddChildGraphNode)(PLACE, exec_graph *child) {
    CALL(add_child(THIS_PLACE, child, false));
}

static exec_error child_of(const exec_node *node, exec_graph **child) {
    if (!has_kind(node, EXEC_WORK_GRAPH) || child == NULL)
        return EXEC_INVALID_VALUE;
    *child = exec_node_graph(node);
    return EXEC_SUCCESS;
}

EXPORT exec_error NAMED(GraphChildGraphNodeGetGraph)(exec_node *node, exec_graph **child) {
    CALL(child_of(node, child));
}

static exec_error set_child(exec_replay *replay, const exec_node *node, const exec_graph *child) {
    if (!is_replay(replay) || !is_graph(child))
        return EXEC_INVALID_VALUE;
    exec_streams_synchronize();
    return exec_replay_set_graph(replay, node, child);
}

EXPORT exec_error NAMED(GraphExecChildGraphNodeSetParams)(exec_replay *replay, exec_node *node,
                                                          exec_graph *child) {
    CALL(set_child(replay, node, child));
}

/* ---- events ---- */

static exec_error record_work(exec_event *event, const exec_work *old, exec_work **work) {
    (void)old;
    return exec_record_work(event, work);
}
static exec_error wait_work(exec_event *event, const exec_work *old, exec_work **work) {
    (void)old;
    return exec_wait_work(event, work);
}

NODE_CALLS(NAMED(GraphAddEventRecordNode), NAMED(GraphEventRecordNodeSetEvent),
           NAMED(GraphExecEventRecordNodeSetEvent), exec_event *, record_work)
NODE_CALLS(NAMED(GraphAddEventWaitNode), NAMED(GraphEventWaitNodeSetEvent),
           NAMED(GraphExecEventWaitNodeSetEvent), exec_event *, wait_work)

static exec_error event_of(const exec_node *node, exec_work_kind kind, exec_event **event) {
    if (!has_kind(node, kind) || event == NULL)
        return EXEC_INVALID_VALUE;
    *event = exec_work_event(exec_node_work(node));
    return EXEC_SUCCESS;
}

EXPORT exec_error NAMED(GraphEventRecordNodeGetEvent)(exec_node *node, exec_event **event) {
    CALL(event_of(node, EXEC_WORK_RECORD, event));
}
EXPORT exec_error NAMED(GraphEventWaitNodeGetEvent)(exec_node *node, exec_event **event) {
    CALL(event_of(node, EXEC_WORK_WAIT, event));
}

#include "sim/exec/graph_memory_calls.h"

/* ---- any node ---- */

static exec_error any_set_work(const void *of, const exec_work *old, exec_work **work) {
    const set_parameters *p = of;
#if EXEC_CONTEXTS
    const void *context;
    memcpy(&context, p + 1, sizeof context);
    const exec_error error = in_context(p, context);
    if (error != EXEC_SUCCESS)
        return error;
#endif
    return set_work(p, old, work);
}

static exec_error make_work(const node_parameters *p, const exec_work *old, exec_work **work) {
    switch (p->kind) {
    case EXEC_WORK_KERNEL:
        return kernel_work(&p->of.kernel, old, work);
    case EXEC_WORK_COPY:
        return copy_work(node_copy(p), old, work);
    case EXEC_WORK_FILL:
        return any_set_work(&p->of, old, work);
    case EXEC_WORK_HOST:
        return call_work((const call_parameters *)&p->of, old, work);
    case EXEC_WORK_RECORD:
        return exec_record_work(p->of.event, work);
    case EXEC_WORK_WAIT:
        return exec_wait_work(p->of.event, work);
    default:
        return EXEC_NOT_SUPPORTED;
    }
}

static exec_error add_any(const place *p, node_parameters *parameters) {
    exec_work *work = NULL;
    if (!is_place(p) || parameters == NULL)
        return EXEC_INVALID_VALUE;
    switch (parameters->kind) {
    case EXEC_WORK_EMPTY:
        return add(p, NULL, EXEC_SUCCESS);
    case EXEC_WORK_GRAPH:
        return add_child(p, parameters->of.child.graph, parameters->of.child.ownership == MOVE);
    case EXEC_WORK_ALLOCATE:
        return add_allocation(p, (memory_parameters *)&parameters->of);
    case EXEC_WORK_FREE:
        return add_free(p, parameters->of.memory);
    case EXEC_WORK_CONDITIONAL: {
        conditional_parameters *c = &parameters->of.conditional;
#if EXEC_CONTEXTS
        if (c->context == NULL)
            return EXEC_INVALID_CONTEXT;
#endif
        return exec_graph_add_conditional(p->graph, p->needs, p->n, c->handle,
                                          (exec_conditional)c->kind, c->n_bodies, &c->bodies,
                                          p->node);
    }
    default: {
        const exec_error error = make_work(parameters, NULL, &work);
        return add(p, work, error);
    }
    }
}

static exec_error set_any(exec_node *node, const node_parameters *p) {
    exec_work *work = NULL;
    if (!is_node(node) || p == NULL || p->kind != exec_node_kind(node))
        return EXEC_INVALID_VALUE;
    const exec_error error = make_work(p, exec_node_work(node), &work);
    return set(node, work, error);
}

EXPORT exec_error NAMED(GraphNodeSetParams)(exec_node *node, node_parameters *p) {
    CALL(set_any(node, p));
}

static exec_error set_any_in(exec_replay *replay, exec_node *node, const node_parameters *p) {
    exec_work *work = NULL;
    const exec_node *own = is_replay(replay) ? exec_replay_node(replay, node) : NULL;
    if (own == NULL || p == NULL || p->kind != exec_node_kind(own))
        return EXEC_INVALID_VALUE;
    if (p->kind == EXEC_WORK_GRAPH)
        return set_child(replay, node, p->of.child.graph);
    const exec_error error = make_work(p, exec_node_work(own), &work);
    return set_in(replay, node, work, error);
}

EXPORT exec_error NAMED(GraphExecNodeSetParams)(exec_replay *replay, exec_node *node,
                                                node_parameters *p) {
    CALL(set_any_in(replay, node, p));
}

EXPORT exec_error NAMED(GraphDestroyNode)(exec_node *node) {
    CALL(is_node(node) ? exec_node_destroy(node) : EXEC_INVALID_VALUE);
}

static exec_error kind_of(const exec_node *node, int *kind) {
    if (!is_node(node) || kind == NULL)
        return EXEC_INVALID_VALUE;
    *kind = (int)exec_node_kind(node);
    return EXEC_SUCCESS;
}

EXPORT exec_error NAMED(GraphNodeGetType)(exec_node *node, int *kind) {
    CALL(kind_of(node, kind));
}

/* ---- attributes of kernels ---- */

enum { OF_COOPERATIVE = 2, OF_CLUSTER = 4 };

static bool is_attribute(const exec_node *node, int id, const void *value) {
    return has_kind(node, EXEC_WORK_KERNEL) && id > 0 && value != NULL;
}

static exec_error get_attribute(exec_node *node, int id, void *value) {
    exec_launch l;
    if (!is_attribute(node, id, value))
        return EXEC_INVALID_VALUE;
    exec_attribute_get(exec_node_attributes(node), id, value);
    if (exec_work_launch(exec_node_work(node), &l) == NULL)
        return EXEC_SUCCESS;
    if (id == OF_COOPERATIVE)
        *(int *)value = l.cooperative;
    else if (id == OF_CLUSTER)
        *(exec_dim *)value = l.cluster;
    return EXEC_SUCCESS;
}

static exec_error set_attribute(exec_node *node, int id, const void *value) {
    exec_launch l;
    if (!is_attribute(node, id, value))
        return EXEC_INVALID_VALUE;
    if (id != OF_COOPERATIVE && id != OF_CLUSTER)
        return exec_attribute_set(exec_node_attributes(node), id, value);
    if (exec_work_launch(exec_node_work(node), &l) == NULL)
        return EXEC_NOT_SUPPORTED;
    if (id == OF_COOPERATIVE)
        l.cooperative = *(const int *)value != 0;
    else
        l.cluster = *(const exec_dim *)value;
    return exec_work_relaunch(exec_node_work(node), &l);
}

static exec_error copy_attributes(exec_node *to, exec_node *from) {
    exec_launch l, own;
    if (!has_kind(to, EXEC_WORK_KERNEL) || !has_kind(from, EXEC_WORK_KERNEL))
        return EXEC_INVALID_VALUE;
    if (exec_work_launch(exec_node_work(from), &l) != NULL &&
        exec_work_launch(exec_node_work(to), &own) != NULL) {
        own.cooperative = l.cooperative;
        own.cluster = l.cluster;
        const exec_error error = exec_work_relaunch(exec_node_work(to), &own);
        if (error != EXEC_SUCCESS)
            return error;
    }
    return exec_attributes_copy(exec_node_attributes(to), exec_node_attributes(from));
}

EXPORT exec_error NAMED(GraphKernelNodeGetAttribute)(exec_node *node, int id, void *value) {
    CALL(get_attribute(node, id, value));
}
EXPORT exec_error NAMED(GraphKernelNodeSetAttribute)(exec_node *node, int id, const void *value) {
    CALL(set_attribute(node, id, value));
}
EXPORT exec_error NAMED(GraphKernelNodeCopyAttributes)(exec_node *to, exec_node *from) {
    CALL(copy_attributes(to, from));
}

/* ---- objects of the program ---- */

enum { NO_DESTRUCTOR_SYNC = 1, MOVE_OBJECT = 1 };

EXPORT exec_error NAMED(UserObjectCreate)(exec_user_object **object, void *data,
                                          void (*destroy)(void *), unsigned references,
                                          unsigned flags) {
    CALL(object != NULL && flags == NO_DESTRUCTOR_SYNC
             ? exec_user_object_create(object, data, destroy, references)
             : EXEC_INVALID_VALUE);
}
EXPORT exec_error NAMED(UserObjectRetain)(exec_user_object *object, unsigned n) {
    CALL(exec_user_object_retain(object, n));
}
EXPORT exec_error NAMED(UserObjectRelease)(exec_user_object *object, unsigned n) {
    CALL(exec_user_object_release(object, n));
}
EXPORT exec_error NAMED(GraphRetainUserObject)(exec_graph *graph, exec_user_object *object,
                                               unsigned n, unsigned flags) {
    CALL(is_graph(graph) && flags <= MOVE_OBJECT
             ? exec_user_objects_retain(exec_graph_objects(graph), object, n, flags == MOVE_OBJECT)
             : EXEC_INVALID_VALUE);
}
EXPORT exec_error NAMED(GraphReleaseUserObject)(exec_graph *graph, exec_user_object *object,
                                                unsigned n) {
    CALL(is_graph(graph) ? exec_user_objects_release(exec_graph_objects(graph), object, n)
                         : EXEC_INVALID_VALUE);
}

/* ---- conditions ---- */

static exec_error make_condition(uint64_t *handle, exec_graph *graph, unsigned first,
                                 unsigned flags) {
    enum { ASSIGN = 1 };
    return handle != NULL && is_graph(graph) && flags <= ASSIGN
               ? exec_condition_create(exec_graph_conditions(graph), first, flags == ASSIGN, handle)
               : EXEC_INVALID_VALUE;
}
