#include "sim/exec/graph.h"

#include "sim/exec/handles.h"

#include <stdlib.h>
#include <string.h>

struct exec_node {
    exec_graph *graph;
    exec_work *work;
    exec_node **needs;
    size_t n_needs, place; /* place: in the graph's list */
};

struct exec_graph {
    exec_node **node;
    size_t n, room;
};

struct exec_replay {
    size_t n;
    struct step {
        exec_work *work;
        const exec_node *node; /* that it was made of, which may be gone */
    } step[];
};

exec_error exec_graph_create(exec_graph **graph) {
    exec_graph *g = calloc(1, sizeof *g);
    *graph = g;
    if (g != NULL && exec_handle_add(g, EXEC_HANDLE_GRAPH) == ASSAY_OK)
        return EXEC_SUCCESS;
    free(g);
    *graph = NULL;
    return EXEC_OUT_OF_MEMORY;
}

/* ---- graphs within graphs ---- */

typedef struct graph_work {
    exec_work work;
    exec_replay *replay; /* for copies of the work, too: it stays */
} graph_work;

static void run_replay(exec_work *work) {
    const exec_replay *r = ((const graph_work *)work)->replay;
    for (size_t i = 0; i < r->n; ++i)
        if (r->step[i].work != NULL)
            r->step[i].work->run(r->step[i].work);
}

static exec_error replay_work(exec_replay *r, exec_work **work) {
    graph_work *w = exec_work_new(EXEC_WORK_GRAPH, sizeof *w, run_replay);
    *work = NULL;
    if (w == NULL)
        return EXEC_OUT_OF_MEMORY;
    w->replay = r;
    *work = &w->work;
    return EXEC_SUCCESS;
}

exec_error exec_graph_work(const exec_graph *child, exec_work **work) {
    exec_replay *r;
    exec_error error = exec_replay_create(&r, child);
    if (error == EXEC_SUCCESS)
        error = replay_work(r, work);
    return error;
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

static void free_node(exec_node *n) {
    if (n == NULL)
        return;
    exec_handle_remove(n);
    free(n->work);
    free(n->needs);
    free(n);
}

void exec_graph_destroy(exec_graph *g) {
    for (size_t i = 0; i < g->n; ++i)
        free_node(g->node[i]);
    exec_handle_remove(g);
    free(g->node);
    free(g);
}

static exec_error add_need(exec_node *to, exec_node *from) {
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

exec_error exec_graph_add(exec_graph *g, exec_node *const *needs, size_t n, exec_work *work,
                          exec_node **node) {
    exec_node *made = calloc(1, sizeof *made);
    exec_error error = EXEC_OUT_OF_MEMORY;
    *node = NULL;
    if (made == NULL) {
        free(work);
        return error;
    }
    *made = (exec_node){.graph = g, .work = work};
    if (!make_room(g) || exec_handle_add(made, EXEC_HANDLE_NODE) != ASSAY_OK)
        goto done;
    error = EXEC_SUCCESS;
    for (size_t i = 0; i < n && error == EXEC_SUCCESS; ++i)
        error = add_need(made, needs[i]);
    if (error != EXEC_SUCCESS)
        goto done;
    made->place = g->n;
    g->node[g->n++] = made;
    *node = made;
    made = NULL;
done:
    free_node(made);
    return error;
}

exec_error exec_graph_add_edge(exec_node *from, exec_node *to) {
    return add_need(to, from);
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
    return node->work != NULL ? node->work->kind : EXEC_WORK_EMPTY;
}

exec_work *exec_node_work(const exec_node *node) {
    return node->work;
}

void exec_node_set(exec_node *node, exec_work *work) {
    free(node->work);
    node->work = work;
}

exec_error exec_graph_clone(exec_graph **copy, const exec_graph *g) {
    exec_error error = exec_graph_create(copy);
    for (size_t i = 0; i < g->n && error == EXEC_SUCCESS; ++i) {
        const exec_work *work = g->node[i]->work;
        exec_work *mine = work != NULL ? exec_work_copy(work) : NULL;
        exec_node *node;
        error = work != NULL && mine == NULL ? EXEC_OUT_OF_MEMORY
                                             : exec_graph_add(*copy, NULL, 0, mine, &node);
    }
    for (size_t i = 0; i < g->n && error == EXEC_SUCCESS; ++i)
        for (size_t j = 0; j < g->node[i]->n_needs && error == EXEC_SUCCESS; ++j)
            error = add_need((*copy)->node[i], (*copy)->node[g->node[i]->needs[j]->place]);
    if (error != EXEC_SUCCESS && *copy != NULL) {
        exec_graph_destroy(*copy);
        *copy = NULL;
    }
    return error;
}

/* ---- replays ---- */

/* Whether all that node i waits for has its step; `placed` tells of which that is so. */
static bool is_ready(const exec_node *node, const bool *placed) {
    for (size_t i = 0; i < node->n_needs; ++i)
        if (!placed[node->needs[i]->place])
            return false;
    return true;
}

/* Fills `order` with the graph's nodes, each behind those that it waits for; false: a circle. */
static bool sort(const exec_graph *g, bool *placed, exec_node **order) {
    size_t n = 0;
    for (bool more = true; more && n < g->n;) {
        more = false;
        for (size_t i = 0; i < g->n; ++i)
            if (!placed[i] && is_ready(g->node[i], placed)) {
                placed[i] = more = true;
                order[n++] = g->node[i];
            }
    }
    return n == g->n;
}

static exec_error fill(exec_replay *r, const exec_graph *g) {
    bool *placed = calloc(g->n + 1, sizeof *placed);
    exec_node **order = calloc(g->n + 1, sizeof(exec_node *));
    exec_error error = EXEC_OUT_OF_MEMORY;
    if (placed == NULL || order == NULL)
        goto done;
    error = sort(g, placed, order) ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
    for (size_t i = 0; i < g->n && error == EXEC_SUCCESS; ++i) {
        const exec_work *work = order[i]->work;
        r->step[i].node = order[i];
        r->step[i].work = work != NULL ? exec_work_copy(work) : NULL;
        if (work != NULL && r->step[i].work == NULL)
            error = EXEC_OUT_OF_MEMORY;
    }
done:
    free(order);
    free(placed);
    return error;
}

exec_error exec_replay_create(exec_replay **replay, const exec_graph *g) {
    exec_replay *r = calloc(1, sizeof *r + g->n * sizeof r->step[0]);
    *replay = NULL;
    if (r == NULL)
        return EXEC_OUT_OF_MEMORY;
    r->n = g->n;
    exec_error error = fill(r, g);
    if (error == EXEC_SUCCESS && exec_handle_add(r, EXEC_HANDLE_REPLAY) != ASSAY_OK)
        error = EXEC_OUT_OF_MEMORY;
    if (error == EXEC_SUCCESS)
        *replay = r;
    else
        exec_replay_destroy(r);
    return error;
}

void exec_replay_destroy(exec_replay *r) {
    exec_handle_remove(r);
    for (size_t i = 0; i < r->n; ++i)
        free(r->step[i].work);
    free(r);
}

exec_error exec_replay_launch(exec_replay *r, exec_stream *stream) {
    exec_work *work;
    const exec_error error = replay_work(r, &work);
    return error == EXEC_SUCCESS ? exec_work_submit(work, stream) : error;
}

exec_error exec_replay_set(exec_replay *r, const exec_node *node, exec_work *work) {
    for (size_t i = 0; i < r->n; ++i)
        if (r->step[i].node == node) {
            free(r->step[i].work);
            r->step[i].work = work;
            return EXEC_SUCCESS;
        }
    free(work);
    return EXEC_INVALID_VALUE;
}

static bool same_form(const exec_replay *a, const exec_replay *b) {
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; ++i) {
        const exec_work *x = a->step[i].work, *y = b->step[i].work;
        if ((x == NULL) != (y == NULL) || (x != NULL && x->kind != y->kind))
            return false;
    }
    return true;
}

bool exec_replay_update(exec_replay *r, const exec_graph *g, exec_error *error) {
    exec_replay *fresh;
    *error = exec_replay_create(&fresh, g);
    if (*error != EXEC_SUCCESS)
        return false;
    const bool same = same_form(r, fresh);
    for (size_t i = 0; same && i < r->n; ++i) {
        exec_work *old = r->step[i].work;
        r->step[i].work = fresh->step[i].work;
        fresh->step[i].work = old;
    }
    exec_replay_destroy(fresh);
    return same;
}
