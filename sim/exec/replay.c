/* Graphs made ready: a copy, its nodes in an order that the edges allow. A launch gives the stream
 * the nodes as one piece of work, cut where the stream records an event or waits for one. */
#include "sim/exec/call.h"
#include "sim/exec/graph.h"
#include "sim/exec/graph_memory.h"
#include "sim/exec/handles.h"
#include "sim/exec/memory.h"
#include "sim/exec/node.h"
#include "sim/exec/report.h"

#include <stdlib.h>
#include <string.h>

typedef struct step {
    exec_node *node;
    exec_replay **part; /* of the graphs within the node */
    bool disabled;
} step;

struct exec_replay {
    exec_graph *graph;
    bool own; /* the graph; otherwise it is a node's part */
    uint64_t flags;
    size_t n;
    step step[];
};

/* ---- making ---- */

/* Whether all that the node waits for has its step; `placed` tells of which that is so. */
static bool is_ready(const exec_node *node, const bool *placed) {
    for (size_t i = 0; i < node->n_needs; ++i)
        if (!placed[node->needs[i]->place])
            return false;
    return true;
}

/* Each node behind those that it waits for; false: a circle. */
static bool sort(exec_replay *r, bool *placed) {
    const exec_graph *g = r->graph;
    r->n = 0;
    for (bool more = true; more && r->n < g->n;) {
        more = false;
        for (size_t i = 0; i < g->n; ++i)
            if (!placed[i] && is_ready(g->node[i], placed)) {
                placed[i] = more = true;
                r->step[r->n++].node = g->node[i];
            }
    }
    return r->n == g->n;
}

static void free_replay(exec_replay *r) {
    if (r == NULL)
        return;
    exec_handle_remove(r);
    for (size_t i = 0; i < r->n; ++i) {
        for (size_t j = 0; r->step[i].part != NULL && j < r->step[i].node->n_parts; ++j)
            free_replay(r->step[i].part[j]);
        free(r->step[i].part);
    }
    if (r->own) {
        r->graph->holder = NULL;
        (void)exec_graph_destroy(r->graph);
    }
    free(r);
}

/* Of a graph that stays with its owner. */
static exec_error make(exec_replay **replay, exec_graph *g) {
    exec_replay *r = calloc(1, sizeof *r + g->n * sizeof r->step[0]);
    bool *placed = calloc(g->n + 1, sizeof *placed);
    exec_error error = EXEC_OUT_OF_MEMORY;
    *replay = NULL;
    if (r == NULL || placed == NULL)
        goto done;
    r->graph = g;
    error = sort(r, placed) ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
    for (size_t i = 0; i < r->n && error == EXEC_SUCCESS; ++i) {
        const exec_node *node = r->step[i].node;
        if (node->n_parts == 0)
            continue;
        r->step[i].part = calloc(node->n_parts, sizeof(exec_replay *));
        if (r->step[i].part == NULL)
            error = EXEC_OUT_OF_MEMORY;
        for (size_t j = 0; j < node->n_parts && error == EXEC_SUCCESS; ++j)
            error = make(&r->step[i].part[j], node->part[j]);
    }
    if (error != EXEC_SUCCESS)
        goto done;
    *replay = r;
    r = NULL;
done:
    free(placed);
    free_replay(r);
    return error;
}

static bool has_unused(const exec_graph *g) {
    for (size_t i = 0; i < g->conditions.n; ++i)
        if (!g->conditions.condition[i]->used)
            return true;
    return false;
}

/* Whether a replay has the memory or the conditions of the graph: what only one can have at a time,
 * as CUDA says. The graph's own node holds memory once, and a condition once beside the graph. */
static bool has_replay(const exec_graph *g) {
    for (size_t i = 0; i < g->n; ++i) {
        const exec_node *node = g->node[i];
        if (node->kind == EXEC_WORK_ALLOCATE &&
            exec_memory_holders(exec_work_memory(node->work, &(size_t){0})) > 1)
            return true;
        if (node->kind == EXEC_WORK_CONDITIONAL && node->condition->holders > 2)
            return true;
        for (size_t j = 0; j < node->n_parts; ++j)
            if (has_replay(node->part[j]))
                return true;
    }
    return false;
}

exec_error exec_replay_create(exec_replay **replay, const exec_graph *g, uint64_t flags) {
    exec_graph *copy;
    *replay = NULL;
    if (has_unused(g))
        return EXEC_INVALID_VALUE;
    if (has_replay(g)) {
        exec_remark("a graph that allocates memory or has conditional nodes is instantiated again "
                    "while its first instance is there");
        return EXEC_NOT_SUPPORTED;
    }
    exec_error error = exec_graph_copy(&copy, g);
    if (error != EXEC_SUCCESS)
        return error;
    exec_replay *r;
    error = make(&r, copy);
    if (error != EXEC_SUCCESS) {
        (void)exec_graph_destroy(copy);
        return error;
    }
    r->own = true;
    r->flags = flags;
    if (exec_handle_add(r, EXEC_HANDLE_REPLAY) != ASSAY_OK) {
        free_replay(r);
        return EXEC_OUT_OF_MEMORY;
    }
    *replay = r;
    return EXEC_SUCCESS;
}

void exec_replay_destroy(exec_replay *r) {
    free_replay(r);
}

uint64_t exec_replay_flags(const exec_replay *r) {
    return r->flags & ~(uint64_t)EXEC_NODE_PRIORITY; /* which CUDA does not tell of */
}

/* ---- running ---- */

static void run(const exec_replay *r);

static void run_conditional(const step *s) {
    const exec_node *node = s->node;
    const exec_condition *c = node->condition;
    switch (node->conditional) {
    case EXEC_IF:
        if (c->value != 0 || node->n_parts > 1)
            run(s->part[c->value != 0 ? 0 : 1]);
        return;
    case EXEC_WHILE:
        while (c->value != 0 && exec_device_error() == EXEC_SUCCESS)
            run(s->part[0]);
        return;
    case EXEC_SWITCH:
        if (c->value < node->n_parts)
            run(s->part[c->value]);
        return;
    }
}

static void run_step(const step *s) {
    if (s->node->kind == EXEC_WORK_CONDITIONAL)
        run_conditional(s);
    else if (s->part != NULL)
        run(s->part[0]);
    else if (s->node->work != NULL && !s->disabled)
        s->node->work->run(s->node->work);
}

static void run(const exec_replay *r) {
    for (size_t i = 0; i < r->n; ++i)
        run_step(&r->step[i]);
}

/* ---- launches ---- */

/* A piece of a launch: steps that no event is between. */
typedef struct piece_work {
    exec_work work;
    const exec_graph *begins; /* with this piece; NULL: an earlier one did */
    size_t n;
    const step *step[];
} piece_work;

static void begin(const exec_graph *g) {
    exec_conditions_begin(&g->conditions);
    for (size_t i = 0; i < g->n; ++i)
        for (size_t j = 0; j < g->node[i]->n_parts; ++j)
            begin(g->node[i]->part[j]);
}

static void run_piece(exec_work *work) {
    const piece_work *w = (const piece_work *)work;
    if (w->begins != NULL)
        begin(w->begins);
    for (size_t i = 0; i < w->n; ++i)
        run_step(w->step[i]);
}

typedef struct launcher {
    exec_stream *stream;
    const exec_graph *begins;
    const step **step; /* that wait to be submitted */
    size_t n;
} launcher;

static exec_error flush(launcher *l) {
    piece_work *w = exec_work_new(EXEC_WORK_GRAPH, sizeof *w + l->n * sizeof w->step[0], run_piece);
    if (w == NULL)
        return EXEC_OUT_OF_MEMORY;
    w->begins = l->begins;
    w->n = l->n;
    memcpy(w->step, l->step, l->n * sizeof w->step[0]);
    l->begins = NULL;
    l->n = 0;
    return exec_work_submit(&w->work, l->stream);
}

static size_t count(const exec_replay *r) {
    size_t n = r->n;
    for (size_t i = 0; i < r->n; ++i)
        if (r->step[i].node->kind == EXEC_WORK_GRAPH)
            n += count(r->step[i].part[0]);
    return n;
}

static exec_error meet_event(launcher *l, const exec_work *work) {
    exec_event *event = exec_work_event(work);
    const exec_error error = flush(l);
    if (error != EXEC_SUCCESS)
        return error;
    return exec_error_of(work->kind == EXEC_WORK_RECORD ? exec_event_record(event, l->stream)
                                                        : exec_stream_wait(l->stream, event));
}

static exec_error gather(launcher *l, const exec_replay *r) {
    exec_error error = EXEC_SUCCESS;
    for (size_t i = 0; i < r->n && error == EXEC_SUCCESS; ++i) {
        const step *s = &r->step[i];
        const exec_work *work = s->node->work;
        if (s->node->kind == EXEC_WORK_GRAPH)
            error = gather(l, s->part[0]);
        else if (work != NULL && exec_work_event(work) != NULL)
            error = meet_event(l, work);
        else
            l->step[l->n++] = s;
        if (error == EXEC_SUCCESS && work != NULL && work->kind == EXEC_WORK_ALLOCATE)
            exec_memory_promise(exec_work_memory(work, &(size_t){0}), true);
        else if (error == EXEC_SUCCESS && work != NULL && work->kind == EXEC_WORK_FREE)
            exec_memory_promise(exec_work_memory(work, &(size_t){0}), false);
    }
    return error;
}

static bool allocates(const exec_replay *r, const void *memory) {
    for (size_t i = 0; i < r->n; ++i) {
        const exec_work *work = r->step[i].node->work;
        if (work != NULL && work->kind == EXEC_WORK_ALLOCATE &&
            exec_work_memory(work, &(size_t){0}) == memory)
            return true;
    }
    return false;
}

/* Memory of the last launch that is still there goes, or is an error; what it frees is there; no
 * event is gone. */
static exec_error prepare(const exec_replay *r, exec_stream *stream, bool auto_free) {
    exec_error error = EXEC_SUCCESS;
    for (size_t i = 0; i < r->n && error == EXEC_SUCCESS; ++i) {
        const exec_work *work = r->step[i].node->work;
        if (r->step[i].node->kind == EXEC_WORK_GRAPH)
            error = prepare(r->step[i].part[0], stream, auto_free);
        if (work == NULL)
            continue;
        const exec_event *event = exec_work_event(work);
        size_t bytes;
        void *memory = exec_work_memory(work, &bytes);
        if (event != NULL && !exec_handle_is(event, EXEC_HANDLE_EVENT))
            error = EXEC_INVALID_VALUE;
        if (work->kind == EXEC_WORK_FREE && !exec_memory_is_promised(memory) &&
            exec_memory_find(memory) == NULL && !allocates(r, memory)) {
            exec_remark("a graph is launched that frees memory which is not there");
            error = EXEC_INVALID_VALUE;
        }
        if (work->kind != EXEC_WORK_ALLOCATE || !exec_memory_is_promised(memory))
            continue;
        if (auto_free) {
            error = exec_submit_free(memory, stream);
        } else {
            exec_remark("a graph is launched again before memory of %zu bytes that it allocated "
                        "is freed: free it, or instantiate the graph with "
                        "cudaGraphInstantiateFlagAutoFreeOnLaunch",
                        bytes);
            error = EXEC_INVALID_VALUE;
        }
    }
    return error;
}

exec_error exec_replay_launch(exec_replay *r, exec_stream *stream) {
    if (exec_capture_of(stream) != NULL)
        return exec_capture_add_graph(stream, r->graph);
    launcher l = {.stream = stream, .begins = r->graph};
    exec_error error = prepare(r, stream, (r->flags & EXEC_AUTO_FREE) != 0);
    if (error != EXEC_SUCCESS)
        return error;
    l.step = calloc(count(r) + 1, sizeof(const step *));
    if (l.step == NULL)
        return EXEC_OUT_OF_MEMORY;
    error = gather(&l, r);
    if (error == EXEC_SUCCESS)
        error = flush(&l);
    free(l.step);
    return error;
}

/* ---- events ---- */

typedef struct event_work {
    exec_work work;
    exec_event *event;
} event_work;

static exec_error event_work_of(exec_work_kind kind, exec_event *event, exec_work **work) {
    *work = NULL;
    if (!exec_handle_is(event, EXEC_HANDLE_EVENT))
        return EXEC_INVALID_VALUE;
    event_work *w = exec_work_new(kind, sizeof *w, NULL); /* gather() meets it before it runs */
    if (w == NULL)
        return EXEC_OUT_OF_MEMORY;
    w->event = event;
    *work = &w->work;
    return EXEC_SUCCESS;
}

exec_error exec_record_work(exec_event *event, exec_work **work) {
    return event_work_of(EXEC_WORK_RECORD, event, work);
}

exec_error exec_wait_work(exec_event *event, exec_work **work) {
    return event_work_of(EXEC_WORK_WAIT, event, work);
}

exec_event *exec_work_event(const exec_work *work) {
    return work->kind == EXEC_WORK_RECORD || work->kind == EXEC_WORK_WAIT
               ? ((const event_work *)work)->event
               : NULL;
}

/* ---- changes ---- */

exec_node *exec_replay_node(const exec_replay *r, const exec_node *node) {
    return exec_handle_is(node, EXEC_HANDLE_NODE) ? exec_graph_copy_of(r->graph, node) : NULL;
}

static const step *step_of(const exec_replay *r, const exec_node *own) {
    for (size_t i = 0; i < r->n; ++i) {
        const step *s = &r->step[i];
        if (s->node == own)
            return s;
        for (size_t j = 0; s->part != NULL && j < s->node->n_parts; ++j) {
            const step *within = step_of(s->part[j], own);
            if (within != NULL)
                return within;
        }
    }
    return NULL;
}

static step *find(exec_replay *r, const exec_node *node) {
    const exec_node *own = exec_replay_node(r, node);
    return own != NULL ? (step *)step_of(r, own) : NULL; /* of a replay that may be changed */
}

static bool can_be_disabled(const step *s) {
    return s != NULL && s->node->kind <= EXEC_WORK_FILL;
}

exec_error exec_replay_enable(exec_replay *r, const exec_node *node, bool enabled) {
    step *s = find(r, node);
    if (!can_be_disabled(s))
        return EXEC_INVALID_VALUE;
    s->disabled = !enabled;
    return EXEC_SUCCESS;
}

exec_error exec_replay_is_enabled(const exec_replay *r, const exec_node *node, bool *enabled) {
    const exec_node *own = exec_replay_node(r, node);
    const step *s = own != NULL ? step_of(r, own) : NULL;
    if (!can_be_disabled(s))
        return EXEC_INVALID_VALUE;
    *enabled = !s->disabled;
    return EXEC_SUCCESS;
}

/* Whether the nodes wait for the same others. */
static bool same_needs(const exec_node *a, const exec_node *b) {
    if (a->n_needs != b->n_needs)
        return false;
    for (size_t i = 0; i < a->n_needs; ++i) {
        size_t j = 0;
        while (j < b->n_needs && b->needs[j]->place != a->needs[i]->place)
            ++j;
        if (j == b->n_needs)
            return false;
    }
    return true;
}

/* *node: of `b`. */
static exec_update compare(const exec_graph *a, const exec_graph *b, exec_node **node) {
    *node = NULL;
    if (a->n != b->n)
        return EXEC_OTHER_FORM;
    for (size_t i = 0; i < a->n; ++i) {
        const exec_node *x = a->node[i], *y = b->node[i];
        *node = b->node[i];
        if (x->kind != y->kind)
            return EXEC_OTHER_KIND;
        if (!same_needs(x, y))
            return EXEC_OTHER_FORM;
        if (x->kind >= EXEC_WORK_ALLOCATE)
            return EXEC_NOT_UPDATABLE;
        if (x->kind != EXEC_WORK_GRAPH)
            continue;
        const exec_update part = compare(x->part[0], y->part[0], node);
        if (part != EXEC_UPDATED)
            return part;
    }
    *node = NULL;
    return EXEC_UPDATED;
}

static void swap_works(exec_graph *a, exec_graph *b) {
    for (size_t i = 0; i < a->n; ++i) {
        exec_work *old = a->node[i]->work;
        a->node[i]->work = b->node[i]->work;
        b->node[i]->work = old;
        if (a->node[i]->kind == EXEC_WORK_GRAPH)
            swap_works(a->node[i]->part[0], b->node[i]->part[0]);
    }
    const exec_user_objects objects = a->objects;
    a->objects = b->objects;
    b->objects = objects;
}

static exec_error take_works(exec_graph *own, const exec_graph *g) {
    exec_graph *fresh;
    const exec_error error = exec_graph_copy(&fresh, g);
    if (error != EXEC_SUCCESS)
        return error;
    swap_works(own, fresh);
    return exec_graph_destroy(fresh);
}

exec_error exec_replay_set_graph(exec_replay *r, const exec_node *node, const exec_graph *child) {
    const exec_node *own = exec_replay_node(r, node);
    exec_node *where;
    if (own == NULL || own->kind != EXEC_WORK_GRAPH ||
        compare(own->part[0], child, &where) != EXEC_UPDATED)
        return EXEC_INVALID_VALUE;
    return take_works(own->part[0], child);
}

exec_error exec_replay_update(exec_replay *r, const exec_graph *g, exec_update *result,
                              exec_node **node) {
    *result = compare(r->graph, g, node);
    if (*result != EXEC_UPDATED)
        return EXEC_UPDATE_FAILURE;
    const exec_error error = take_works(r->graph, g);
    if (error != EXEC_SUCCESS)
        *result = EXEC_UPDATE_ERROR;
    return error;
}
