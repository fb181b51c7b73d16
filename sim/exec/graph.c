#include "sim/exec/graph.h"

#include "sim/exec/graph_memory.h"
#include "sim/exec/handles.h"
#include "sim/exec/node.h"
#include "sim/exec/report.h"

#include <stdlib.h>
#include <string.h>

static exec_error create(exec_graph **graph, exec_node *holder) {
    static uint64_t last_number;
    exec_graph *g = calloc(1, sizeof *g);
    *graph = g;
    if (g != NULL && exec_handle_add(g, EXEC_HANDLE_GRAPH) == ASSAY_OK) {
        g->holder = holder;
        g->number = ++last_number;
        return EXEC_SUCCESS;
    }
    free(g);
    *graph = NULL;
    return EXEC_OUT_OF_MEMORY;
}

exec_error exec_graph_create(exec_graph **graph) {
    return create(graph, NULL);
}

static void destroy(exec_graph *g);

static void discard(exec_work *work) {
    if (work != NULL)
        exec_graph_memory_drop(work);
    free(work);
}

static void free_node(exec_node *n) {
    if (n == NULL)
        return;
    exec_handle_remove(n);
    for (size_t i = 0; i < n->n_parts; ++i)
        destroy(n->part[i]);
    discard(n->work);
    exec_condition_drop(n->condition);
    exec_attributes_free(&n->attributes);
    free(n->part);
    free(n->needs);
    free(n);
}

static void destroy(exec_graph *g) {
    for (size_t i = 0; i < g->n; ++i)
        free_node(g->node[i]);
    exec_handle_remove(g);
    exec_user_objects_free(&g->objects);
    exec_conditions_free(&g->conditions);
    free(g->node);
    free(g);
}

exec_error exec_graph_destroy(exec_graph *g) {
    if (g->holder != NULL)
        return EXEC_INVALID_VALUE;
    destroy(g);
    return EXEC_SUCCESS;
}

exec_user_objects *exec_graph_objects(exec_graph *g) {
    return &g->objects;
}

exec_conditions *exec_graph_conditions(exec_graph *g) {
    return &g->conditions;
}

bool exec_graph_has(const exec_graph *g, exec_work_kind kind) {
    for (size_t i = 0; i < g->n; ++i) {
        if (g->node[i]->kind == kind)
            return true;
        for (size_t j = 0; j < g->node[i]->n_parts; ++j)
            if (exec_graph_has(g->node[i]->part[j], kind))
                return true;
    }
    return false;
}

static bool has_memory(const exec_graph *g) {
    return exec_graph_has(g, EXEC_WORK_ALLOCATE) || exec_graph_has(g, EXEC_WORK_FREE);
}

/* ---- edges ---- */

exec_error exec_graph_add_edge(exec_node *from, exec_node *to) {
    if (!exec_handle_is(from, EXEC_HANDLE_NODE) || from->graph != to->graph)
        return EXEC_INVALID_VALUE;
    for (size_t i = 0; i < to->n_needs; ++i)
        if (to->needs[i] == from)
            return EXEC_SUCCESS;
    exec_node **needs = realloc(to->needs, (to->n_needs + 1) * sizeof(exec_node *));
    if (needs == NULL)
        return EXEC_OUT_OF_MEMORY;
    to->needs = needs;
    needs[to->n_needs++] = from;
    return EXEC_SUCCESS;
}

static bool unneed(exec_node *to, const exec_node *from) {
    for (size_t i = 0; i < to->n_needs; ++i)
        if (to->needs[i] == from) {
            --to->n_needs;
            memmove(&to->needs[i], &to->needs[i + 1], (to->n_needs - i) * sizeof to->needs[0]);
            return true;
        }
    return false;
}

/* As CUDA has it, what a graph with memory is made of stays. */
static exec_error may_shrink(const exec_graph *g) {
    if (!has_memory(g))
        return EXEC_SUCCESS;
    exec_remark("a graph that allocates or frees memory keeps its nodes and edges");
    return EXEC_NOT_SUPPORTED;
}

exec_error exec_graph_remove_edge(exec_node *from, exec_node *to) {
    const exec_error error = may_shrink(to->graph);
    if (error != EXEC_SUCCESS)
        return error;
    return unneed(to, from) ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
}

/* ---- nodes ---- */

static bool make_room(exec_graph *g) {
    if (g->n < g->room)
        return true;
    const size_t room = g->room > 0 ? 2 * g->room : 16;
    exec_node **node = realloc(g->node, room * sizeof(exec_node *));
    if (node == NULL)
        return false;
    g->node = node;
    g->room = room;
    return true;
}

/* The body of a conditional node takes less than other graphs. */
static exec_error check_place(const exec_graph *g, exec_work_kind kind) {
    const exec_node *holder = g->holder;
    while (holder != NULL && holder->kind != EXEC_WORK_CONDITIONAL)
        holder = holder->graph->holder;
    if (holder == NULL || kind <= EXEC_WORK_FILL || kind == EXEC_WORK_GRAPH ||
        kind == EXEC_WORK_EMPTY || kind == EXEC_WORK_CONDITIONAL)
        return EXEC_SUCCESS;
    exec_remark("the body of a conditional node takes kernels, copies, fills, graphs, empty and "
                "conditional nodes only");
    return EXEC_INVALID_VALUE;
}

/* A node that the graph does not have yet; free_node() takes it back. */
static exec_error make(exec_graph *g, exec_node *const *needs, size_t n, exec_work_kind kind,
                       exec_node **node) {
    static uint64_t last_number;
    exec_error error = check_place(g, kind);
    *node = NULL;
    if (error != EXEC_SUCCESS)
        return error;
    exec_node *made = calloc(1, sizeof *made);
    if (made == NULL)
        return EXEC_OUT_OF_MEMORY;
    *made = (exec_node){.graph = g, .kind = kind, .number = ++last_number};
    if (exec_handle_add(made, EXEC_HANDLE_NODE) != ASSAY_OK)
        error = EXEC_OUT_OF_MEMORY;
    for (size_t i = 0; i < n && error == EXEC_SUCCESS; ++i)
        error = exec_graph_add_edge(needs[i], made);
    if (error == EXEC_SUCCESS)
        *node = made;
    else
        free_node(made);
    return error;
}

/* Takes the node, also when the call fails. */
static exec_error append(exec_graph *g, exec_node *made, exec_node **node) {
    *node = NULL;
    if (!make_room(g)) {
        free_node(made);
        return EXEC_OUT_OF_MEMORY;
    }
    made->place = g->n;
    g->node[g->n++] = made;
    *node = made;
    return EXEC_SUCCESS;
}

exec_error exec_graph_add(exec_graph *g, exec_node *const *needs, size_t n, exec_work *work,
                          exec_node **node) {
    exec_node *made;
    const exec_error error = make(g, needs, n, work != NULL ? work->kind : EXEC_WORK_EMPTY, &made);
    *node = NULL;
    if (work != NULL)
        exec_graph_memory_hold(work);
    if (error != EXEC_SUCCESS) {
        discard(work);
        return error;
    }
    made->work = work;
    return append(g, made, node);
}

/* Room for `n` graphs within the node. */
static exec_error make_parts(exec_node *node, size_t n) {
    node->part = calloc(n, sizeof(exec_graph *));
    return node->part != NULL ? EXEC_SUCCESS : EXEC_OUT_OF_MEMORY;
}

static void take_part(exec_node *node, exec_graph *part) {
    part->holder = node;
    node->part[node->n_parts++] = part;
}

/* What CUDA allows in no graph of a graph, unless it changes its owner. */
static exec_error may_copy(const exec_graph *g, const char *how) {
    if (!has_memory(g) && !exec_graph_has(g, EXEC_WORK_CONDITIONAL))
        return EXEC_SUCCESS;
    exec_remark("a graph with memory or conditional nodes cannot be %s", how);
    return EXEC_NOT_SUPPORTED;
}

exec_error exec_graph_add_graph(exec_graph *g, exec_node *const *needs, size_t n, exec_graph *child,
                                bool move, exec_node **node) {
    exec_node *made;
    exec_graph *part = child;
    *node = NULL;
    if (child == g || (move && child->holder != NULL))
        return EXEC_INVALID_VALUE;
    exec_error error = move ? EXEC_SUCCESS : may_copy(child, "the node of another by copy");
    if (error == EXEC_SUCCESS)
        error = make(g, needs, n, EXEC_WORK_GRAPH, &made);
    if (error != EXEC_SUCCESS)
        return error;
    error = make_parts(made, 1);
    if (error == EXEC_SUCCESS && !move)
        error = exec_graph_copy(&part, child);
    if (error != EXEC_SUCCESS) {
        free_node(made);
        return error;
    }
    take_part(made, part);
    return append(g, made, node);
}

exec_error exec_graph_add_conditional(exec_graph *g, exec_node *const *needs, size_t n,
                                      uint64_t handle, exec_conditional kind, size_t n_bodies,
                                      exec_graph ***bodies, exec_node **node) {
    exec_condition *c = exec_condition_of(handle);
    exec_node *made;
    *node = NULL;
    const size_t most = kind == EXEC_IF ? 2 : kind == EXEC_WHILE ? 1 : SIZE_MAX;
    if (c == NULL || c->used || kind > EXEC_SWITCH || n_bodies == 0 || n_bodies > most)
        return EXEC_INVALID_VALUE;
    exec_error error = make(g, needs, n, EXEC_WORK_CONDITIONAL, &made);
    if (error != EXEC_SUCCESS)
        return error;
    error = make_parts(made, n_bodies);
    while (error == EXEC_SUCCESS && made->n_parts < n_bodies) {
        exec_graph *body;
        error = create(&body, made);
        if (error == EXEC_SUCCESS)
            take_part(made, body);
    }
    if (error != EXEC_SUCCESS) {
        free_node(made);
        return error;
    }
    made->conditional = kind;
    made->condition = c;
    ++c->holders;
    c->used = true;
    *bodies = made->part;
    return append(g, made, node);
}

exec_error exec_node_destroy(exec_node *node) {
    exec_graph *g = node->graph;
    const exec_error error = may_shrink(g);
    if (error != EXEC_SUCCESS)
        return error;
    --g->n;
    memmove(&g->node[node->place], &g->node[node->place + 1],
            (g->n - node->place) * sizeof g->node[0]);
    for (size_t i = 0; i < g->n; ++i) {
        g->node[i]->place = i;
        unneed(g->node[i], node);
    }
    if (node->condition != NULL)
        node->condition->used = false;
    free_node(node);
    return EXEC_SUCCESS;
}

size_t exec_graph_size(const exec_graph *g) {
    return g->n;
}

exec_node *exec_graph_node(const exec_graph *g, size_t i) {
    return g->node[i];
}

size_t exec_node_needs(const exec_node *node, exec_node *const **needs) {
    *needs = node->needs;
    return node->n_needs;
}

exec_work_kind exec_node_kind(const exec_node *node) {
    return node->kind;
}

exec_work *exec_node_work(const exec_node *node) {
    return node->work;
}

exec_graph *exec_node_graph(const exec_node *node) {
    return node->kind == EXEC_WORK_GRAPH ? node->part[0] : NULL;
}

exec_graph *exec_node_owner(const exec_node *node) {
    return node->graph;
}

exec_attributes *exec_node_attributes(exec_node *node) {
    return &node->attributes;
}

exec_error exec_node_set(exec_node *node, exec_work *work) {
    if (node->work == NULL || work->kind != node->kind) {
        free(work);
        return EXEC_INVALID_VALUE;
    }
    free(node->work);
    node->work = work;
    return EXEC_SUCCESS;
}

/* ---- copies ---- */

/* What node i has, into the empty node of its copy. */
static exec_error copy_into(exec_node *to, const exec_node *from) {
    to->origin = from->number;
    to->kind = from->kind;
    to->conditional = from->conditional;
    to->condition = from->condition;
    if (to->condition != NULL)
        ++to->condition->holders;
    if (from->work != NULL) {
        to->work = exec_work_copy(from->work);
        if (to->work == NULL)
            return EXEC_OUT_OF_MEMORY;
        exec_graph_memory_hold(to->work);
    }
    exec_error error = exec_attributes_copy(&to->attributes, &from->attributes);
    if (error == EXEC_SUCCESS && from->n_parts > 0)
        error = make_parts(to, from->n_parts);
    for (size_t i = 0; i < from->n_parts && error == EXEC_SUCCESS; ++i) {
        exec_graph *part;
        error = exec_graph_copy(&part, from->part[i]);
        if (error == EXEC_SUCCESS)
            take_part(to, part);
    }
    return error;
}

exec_error exec_graph_copy(exec_graph **copy, const exec_graph *g) {
    exec_error error = exec_graph_create(copy);
    exec_graph *made = *copy;
    for (size_t i = 0; i < g->n && error == EXEC_SUCCESS; ++i) {
        exec_node *node;
        error = exec_graph_add(made, NULL, 0, NULL, &node);
        if (error == EXEC_SUCCESS)
            error = copy_into(node, g->node[i]);
    }
    for (size_t i = 0; i < g->n && error == EXEC_SUCCESS; ++i)
        for (size_t j = 0; j < g->node[i]->n_needs && error == EXEC_SUCCESS; ++j)
            error = exec_graph_add_edge(made->node[g->node[i]->needs[j]->place], made->node[i]);
    if (error == EXEC_SUCCESS)
        error = exec_user_objects_copy(&made->objects, &g->objects);
    if (error == EXEC_SUCCESS)
        error = exec_conditions_copy(&made->conditions, &g->conditions);
    if (error != EXEC_SUCCESS && made != NULL) {
        destroy(made);
        *copy = NULL;
    }
    return error;
}

exec_error exec_graph_clone(exec_graph **copy, const exec_graph *g) {
    const exec_error error = may_copy(g, "cloned");
    *copy = NULL;
    return error == EXEC_SUCCESS ? exec_graph_copy(copy, g) : error;
}

exec_node *exec_graph_copy_of(const exec_graph *clone, const exec_node *node) {
    for (size_t i = 0; i < clone->n; ++i) {
        exec_node *own = clone->node[i];
        if (own->origin == node->number)
            return own;
        for (size_t j = 0; j < own->n_parts; ++j) {
            exec_node *within = exec_graph_copy_of(own->part[j], node);
            if (within != NULL)
                return within;
        }
    }
    return NULL;
}
