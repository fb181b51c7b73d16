/* The edges and nodes of graphs, and replays, for the runtime and the driver: the second half of
 * graph_calls.h. */

/* Data of an edge: ports, a type, zeros. Only edges that order all of one node before all of the
 * other are there. */
typedef struct edge_data {
    char byte[8];
} edge_data;

static bool are_plain(const edge_data *edge, size_t n) {
    static const edge_data plain;
    for (size_t i = 0; edge != NULL && i < n; ++i)
        if (memcmp(&edge[i], &plain, sizeof plain) != 0)
            return false;
    return true;
}

typedef exec_error change_edge(exec_node *from, exec_node *to);

static exec_error change(change_edge *how, const exec_graph *graph, exec_node *const *from,
                         exec_node *const *to, const edge_data *edge, size_t n) {
    if (!is_graph(graph) || (n > 0 && (from == NULL || to == NULL)))
        return EXEC_INVALID_VALUE;
    exec_error error = are_plain(edge, n) ? EXEC_SUCCESS : EXEC_NOT_SUPPORTED;
    for (size_t i = 0; i < n && error == EXEC_SUCCESS; ++i)
        error = is_node(from[i]) && is_node(to[i]) ? how(from[i], to[i]) : EXEC_INVALID_VALUE;
    return error;
}

/* As CUDA lists: at most *room, and then *room is how many were given, or, with no place, how many
 * there are. */
typedef struct list {
    exec_node **node, **other; /* other: the second nodes of edges */
    edge_data *edge;
    size_t *room, n;
} list;

static void put(list *l, exec_node *node, exec_node *other) {
    if (l->node != NULL && l->n < *l->room) {
        l->node[l->n] = node;
        if (l->other != NULL)
            l->other[l->n] = other;
        if (l->edge != NULL)
            l->edge[l->n] = (edge_data){0};
    }
    ++l->n;
}

static exec_error end_list(const list *l) {
    for (size_t i = l->n; l->node != NULL && i < *l->room; ++i) {
        l->node[i] = NULL;
        if (l->other != NULL)
            l->other[i] = NULL;
    }
    if (l->node == NULL || l->n < *l->room)
        *l->room = l->n;
    return EXEC_SUCCESS;
}

static exec_error nodes_of(const exec_graph *graph, bool roots, list *l) {
    if (!is_graph(graph) || l->room == NULL)
        return EXEC_INVALID_VALUE;
    for (size_t i = 0; i < exec_graph_size(graph); ++i) {
        exec_node *const *needs;
        exec_node *node = exec_graph_node(graph, i);
        if (!roots || exec_node_needs(node, &needs) == 0)
            put(l, node, NULL);
    }
    return end_list(l);
}

EXPORT exec_error NAMED(GraphGetNodes)(exec_graph *graph, exec_node **to, size_t *n) {
    CALL(nodes_of(graph, false, &(list){.node = to, .room = n}));
}
EXPORT exec_error NAMED(GraphGetRootNodes)(exec_graph *graph, exec_node **to, size_t *n) {
    CALL(nodes_of(graph, true, &(list){.node = to, .room = n}));
}

/* `of`: only the edges that begin there; NULL: all. */
static exec_error edges_of(const exec_graph *graph, const exec_node *of, list *l) {
    if (!is_graph(graph) || l->room == NULL ||
        (l->node == NULL) != (l->other == NULL && of == NULL))
        return EXEC_INVALID_VALUE;
    for (size_t i = 0; i < exec_graph_size(graph); ++i) {
        exec_node *const *needs;
        exec_node *node = exec_graph_node(graph, i);
        const size_t n = exec_node_needs(node, &needs);
        for (size_t j = 0; j < n; ++j)
            if (of == NULL)
                put(l, needs[j], node);
            else if (needs[j] == of)
                put(l, node, NULL);
    }
    return end_list(l);
}

static exec_error needs_of(const exec_node *node, list *l) {
    exec_node *const *needs;
    if (!is_node(node) || l->room == NULL)
        return EXEC_INVALID_VALUE;
    const size_t n = exec_node_needs(node, &needs);
    for (size_t i = 0; i < n; ++i)
        put(l, needs[i], NULL);
    return end_list(l);
}

static exec_error dependents_of(const exec_node *node, list *l) {
    return is_node(node) ? edges_of(exec_node_owner(node), node, l) : EXEC_INVALID_VALUE;
}

#if EXEC_EDGES
#define EDGED(name) NAMED(name)
#else
#define EDGED(name) NAMED(name##_v2)
EXPORT exec_error NAMED(GraphAddDependencies)(exec_graph *graph, exec_node *const *from,
                                              exec_node *const *to, size_t n) {
    CALL(change(exec_graph_add_edge, graph, from, to, NULL, n));
}
EXPORT exec_error NAMED(GraphRemoveDependencies)(exec_graph *graph, exec_node *const *from,
                                                 exec_node *const *to, size_t n) {
    CALL(change(exec_graph_remove_edge, graph, from, to, NULL, n));
}
EXPORT exec_error NAMED(GraphGetEdges)(exec_graph *graph, exec_node **from, exec_node **to,
                                       size_t *n) {
    CALL(edges_of(graph, NULL, &(list){from, to, NULL, n, 0}));
}
EXPORT exec_error NAMED(GraphNodeGetDependencies)(exec_node *node, exec_node **to, size_t *n) {
    CALL(needs_of(node, &(list){to, NULL, NULL, n, 0}));
}
EXPORT exec_error NAMED(GraphNodeGetDependentNodes)(exec_node *node, exec_node **to, size_t *n) {
    CALL(dependents_of(node, &(list){to, NULL, NULL, n, 0}));
}
EXPORT exec_error NAMED(GraphAddNode)(PLACE, node_parameters *p) {
    CALL(add_any(THIS_PLACE, p));
}
#endif

EXPORT exec_error EDGED(GraphAddDependencies)(exec_graph *graph, exec_node *const *from,
                                              exec_node *const *to, const edge_data *edge,
                                              size_t n) {
    CALL(change(exec_graph_add_edge, graph, from, to, edge, n));
}
EXPORT exec_error EDGED(GraphRemoveDependencies)(exec_graph *graph, exec_node *const *from,
                                                 exec_node *const *to, const edge_data *edge,
                                                 size_t n) {
    CALL(change(exec_graph_remove_edge, graph, from, to, edge, n));
}
EXPORT exec_error EDGED(GraphGetEdges)(exec_graph *graph, exec_node **from, exec_node **to,
                                       edge_data *edge, size_t *n) {
    CALL(edges_of(graph, NULL, &(list){from, to, edge, n, 0}));
}
EXPORT exec_error EDGED(GraphNodeGetDependencies)(exec_node *node, exec_node **to, edge_data *edge,
                                                  size_t *n) {
    CALL(needs_of(node, &(list){to, NULL, edge, n, 0}));
}
EXPORT exec_error EDGED(GraphNodeGetDependentNodes)(exec_node *node, exec_node **to,
                                                    edge_data *edge, size_t *n) {
    CALL(dependents_of(node, &(list){to, NULL, edge, n, 0}));
}
EXPORT exec_error EDGED(GraphAddNode)(exec_node **node, exec_graph *graph, exec_node *const *needs,
                                      const edge_data *edge, size_t n, node_parameters *p) {
    CALL(are_plain(edge, n) ? add_any(THIS_PLACE, p) : EXEC_NOT_SUPPORTED);
}

/* ---- replays ---- */

static exec_error instantiate(exec_replay **replay, const exec_graph *graph, uint64_t flags) {
    if (replay == NULL || !is_graph(graph) || flags > (EXEC_NODE_PRIORITY << 1) - 1)
        return EXEC_INVALID_VALUE;
    if ((flags & EXEC_DEVICE_LAUNCH) == 0)
        return exec_replay_create(replay, graph, flags);
    exec_remark("launches of graphs by kernels (cudaGraphInstantiateFlagDeviceLaunch) are not "
                "simulated");
    return EXEC_NOT_SUPPORTED;
}

/* Without a stream to upload in. */
static exec_error instantiate_in_place(exec_replay **replay, const exec_graph *graph,
                                       uint64_t flags) {
    return (flags & EXEC_UPLOAD) == 0 ? instantiate(replay, graph, flags) : EXEC_INVALID_VALUE;
}

#if EXEC_OLD_UPDATE
EXPORT exec_error NAMED(GraphInstantiate)(exec_replay **replay, exec_graph *graph, exec_node **node,
                                          char *log, size_t room) {
    (void)node, (void)log, (void)room;
    CALL(instantiate(replay, graph, 0));
}
#else
EXPORT exec_error NAMED(GraphInstantiate)(exec_replay **replay, exec_graph *graph,
                                          unsigned long long flags) {
    CALL(instantiate_in_place(replay, graph, flags));
}
#endif
EXPORT exec_error NAMED(GraphInstantiateWithFlags)(exec_replay **replay, exec_graph *graph,
                                                   unsigned long long flags) {
    CALL(instantiate_in_place(replay, graph, flags));
}

typedef struct instantiate_parameters {
    uint64_t flags;
    void *stream;
    exec_node *node;
    int result;
} instantiate_parameters;

static exec_error instantiate_by(exec_replay **replay, const exec_graph *graph,
                                 instantiate_parameters *p) {
    enum { MADE, FAILED, WRONG_FORM, NOT_SUPPORTED };
    if (p == NULL)
        return EXEC_INVALID_VALUE;
    const exec_error error = instantiate(replay, graph, p->flags);
    p->node = NULL;
    p->result = error == EXEC_SUCCESS         ? MADE
                : error == EXEC_INVALID_VALUE ? WRONG_FORM
                : error == EXEC_NOT_SUPPORTED ? NOT_SUPPORTED
                                              : FAILED;
    return error;
}

EXPORT exec_error NAMED(GraphInstantiateWithParams)(exec_replay **replay, exec_graph *graph,
                                                    instantiate_parameters *p) {
    CALL(instantiate_by(replay, graph, p));
}

static exec_error flags_of(const exec_replay *replay, unsigned long long *flags) {
    if (!is_replay(replay) || flags == NULL)
        return EXEC_INVALID_VALUE;
    *flags = exec_replay_flags(replay);
    return EXEC_SUCCESS;
}

EXPORT exec_error NAMED(GraphExecGetFlags)(exec_replay *replay, unsigned long long *flags) {
    CALL(flags_of(replay, flags));
}

static exec_error launch(exec_replay *replay, void *stream) {
    exec_stream *s;
    const exec_error error = is_replay(replay) ? exec_stream_of(stream, &s) : EXEC_INVALID_VALUE;
    return error == EXEC_SUCCESS ? exec_replay_launch(replay, s) : error;
}

EXPORT exec_error NAMED(GraphLaunch)(exec_replay *replay, void *stream) {
    CALL(launch(replay, stream));
}

EXPORT exec_error NAMED(GraphUpload)(exec_replay *replay, void *stream) {
    (void)stream;
    CALL(is_replay(replay) ? EXEC_SUCCESS : EXEC_INVALID_VALUE);
}

static exec_error end_replay(exec_replay *replay) {
    if (!is_replay(replay))
        return EXEC_INVALID_VALUE;
    exec_streams_synchronize(); /* it may be under way */
    exec_replay_destroy(replay);
    return EXEC_SUCCESS;
}

EXPORT exec_error NAMED(GraphExecDestroy)(exec_replay *replay) {
    CALL(end_replay(replay));
}

static exec_error enable(exec_replay *replay, const exec_node *node, bool enabled) {
    if (!is_replay(replay))
        return EXEC_INVALID_VALUE;
    exec_streams_synchronize();
    return exec_replay_enable(replay, node, enabled);
}

EXPORT exec_error NAMED(GraphNodeSetEnabled)(exec_replay *replay, exec_node *node, unsigned on) {
    CALL(enable(replay, node, on != 0));
}

static exec_error is_enabled(const exec_replay *replay, const exec_node *node, unsigned *on) {
    bool enabled = false;
    const exec_error error = is_replay(replay) && on != NULL
                                 ? exec_replay_is_enabled(replay, node, &enabled)
                                 : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        *on = enabled;
    return error;
}

EXPORT exec_error NAMED(GraphNodeGetEnabled)(exec_replay *replay, exec_node *node, unsigned *on) {
    CALL(is_enabled(replay, node, on));
}

typedef struct update_result {
    int result;
    exec_node *node, *from;
} update_result;

static exec_error update(exec_replay *replay, const exec_graph *graph, update_result *r) {
    exec_update result;
    if (!is_replay(replay) || !is_graph(graph) || r == NULL)
        return EXEC_INVALID_VALUE;
    exec_streams_synchronize();
    const exec_error error = exec_replay_update(replay, graph, &result, &r->node);
    r->result = (int)result;
    r->from = NULL;
    return error;
}

#if EXEC_OLD_UPDATE
static exec_error update_old(exec_replay *replay, const exec_graph *graph, exec_node **node,
                             int *result) {
    update_result r = {0};
    if (result == NULL)
        return EXEC_INVALID_VALUE;
    const exec_error error = update(replay, graph, &r);
    *result = r.result;
    if (node != NULL)
        *node = r.node;
    return error;
}

EXPORT exec_error NAMED(GraphExecUpdate)(exec_replay *replay, exec_graph *graph, exec_node **node,
                                         int *result) {
    CALL(update_old(replay, graph, node, result));
}
#else
EXPORT exec_error NAMED(GraphExecUpdate)(exec_replay *replay, exec_graph *graph, update_result *r) {
    CALL(update(replay, graph, r));
}
#endif
