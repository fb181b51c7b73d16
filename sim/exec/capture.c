#include "sim/exec/capture.h"

#include "sim/exec/graph.h"
#include "sim/exec/table.h"

#include <stdlib.h>
#include <string.h>

struct exec_capture {
    exec_graph *graph;
    exec_stream *origin;
    uint64_t number;
    size_t streams; /* that are captured */
    bool own_graph; /* it made the graph */
};

/* Nodes that a stream's next work waits for, or that an event stands for. */
typedef struct frontier {
    exec_capture *capture;
    uint64_t number; /* the capture's: of an event it may be gone */
    size_t n;
    exec_node *node[];
} frontier;

static exec_table streams, events; /* to frontiers */
static uint64_t last_number;
static size_t captures;

enum { MOST_STREAMS = 256 };
static exec_stream *captured[MOST_STREAMS]; /* those of all captures */
static size_t n_captured;

static frontier *new_frontier(exec_capture *c, size_t n) {
    frontier *f = calloc(1, sizeof *f + n * sizeof(exec_node *));
    if (f != NULL)
        *f = (frontier){.capture = c, .number = c->number, .n = n};
    return f;
}

static exec_error put(exec_table *table, const void *key, frontier *f) {
    frontier *old = exec_table_get(table, key);
    if (f == NULL)
        return EXEC_OUT_OF_MEMORY;
    if (exec_table_put(table, key, f) != ASSAY_OK) {
        free(f);
        return EXEC_OUT_OF_MEMORY;
    }
    free(old);
    return EXEC_SUCCESS;
}

static void drop(exec_table *table, const void *key) {
    free(exec_table_get(table, key));
    exec_table_remove(table, key);
}

const exec_capture *exec_capture_of(const exec_stream *stream) {
    const frontier *f = exec_table_get(&streams, stream);
    return f != NULL ? f->capture : NULL;
}

uint64_t exec_capture_number(const exec_capture *c) {
    return c->number;
}

exec_graph *exec_capture_graph(const exec_capture *c) {
    return c->graph;
}

bool exec_capture_any(void) {
    return captures > 0;
}

size_t exec_capture_needs(const exec_stream *stream, exec_node *const **needs) {
    const frontier *f = exec_table_get(&streams, stream);
    *needs = f->node;
    return f->n;
}

/* Of both, each node once. */
static frontier *merge(const frontier *a, exec_node *const *node, size_t n) {
    frontier *f = new_frontier(a->capture, a->n + n);
    if (f == NULL)
        return NULL;
    f->n = 0;
    for (size_t i = 0; i < a->n + n; ++i) {
        exec_node *next = i < a->n ? a->node[i] : node[i - a->n];
        size_t j = 0;
        while (j < f->n && f->node[j] != next)
            ++j;
        if (j == f->n)
            f->node[f->n++] = next;
    }
    return f;
}

exec_error exec_capture_set_needs(exec_stream *stream, exec_node *const *needs, size_t n,
                                  int replace) {
    const frontier *f = exec_table_get(&streams, stream);
    const frontier none = {.capture = f->capture};
    return put(&streams, stream, merge(replace ? &none : f, needs, n));
}

static exec_error join(exec_stream *stream, exec_capture *c, exec_node *const *node, size_t n) {
    const frontier none = {.capture = c};
    if (n_captured == MOST_STREAMS)
        return EXEC_OUT_OF_MEMORY;
    const exec_error error = put(&streams, stream, merge(&none, node, n));
    if (error == EXEC_SUCCESS) {
        captured[n_captured++] = stream;
        ++c->streams;
    }
    return error;
}

exec_error exec_capture_begin(exec_stream *stream, exec_graph *graph) {
    if (stream == exec_stream_default())
        return EXEC_CAPTURE_UNSUPPORTED;
    if (exec_capture_of(stream) != NULL)
        return EXEC_ILLEGAL_STATE;
    exec_capture *c = calloc(1, sizeof *c);
    if (c == NULL)
        return EXEC_OUT_OF_MEMORY;
    *c = (exec_capture){graph, stream, ++last_number, 0, graph == NULL};
    exec_error error = graph != NULL ? EXEC_SUCCESS : exec_graph_create(&c->graph);
    if (error == EXEC_SUCCESS)
        error = join(stream, c, NULL, 0);
    if (error != EXEC_SUCCESS) {
        if (c->own_graph && c->graph != NULL)
            exec_graph_destroy(c->graph);
        free(c);
        return error;
    }
    ++captures;
    return EXEC_SUCCESS;
}

/* Whether a node waits for this one, or the origin's next work would. */
static bool is_joined(const exec_capture *c, const exec_node *node) {
    const frontier *last = exec_table_get(&streams, c->origin);
    for (size_t i = 0; i < last->n; ++i)
        if (last->node[i] == node)
            return true;
    for (size_t i = 0; i < exec_graph_size(c->graph); ++i) {
        exec_node *const *needs;
        const size_t n = exec_node_needs(exec_graph_node(c->graph, i), &needs);
        for (size_t j = 0; j < n; ++j)
            if (needs[j] == node)
                return true;
    }
    return false;
}

static bool all_joined(const exec_capture *c) {
    for (size_t i = 0; i < n_captured; ++i) {
        const frontier *f = exec_table_get(&streams, captured[i]);
        for (size_t j = 0; f->capture == c && j < f->n; ++j)
            if (!is_joined(c, f->node[j]))
                return false;
    }
    return true;
}

static void leave(const exec_capture *c) {
    size_t n = 0;
    for (size_t i = 0; i < n_captured; ++i)
        if (exec_capture_of(captured[i]) == c)
            drop(&streams, captured[i]);
        else
            captured[n++] = captured[i];
    n_captured = n;
}

exec_error exec_capture_end(exec_stream *stream, exec_graph **graph) {
    frontier *f = exec_table_get(&streams, stream);
    *graph = NULL;
    if (f == NULL || f->capture->origin != stream)
        return EXEC_CAPTURE_UNMATCHED;
    exec_capture *c = f->capture;
    const bool joined = all_joined(c);
    if (joined)
        *graph = c->graph;
    else if (c->own_graph)
        exec_graph_destroy(c->graph);
    leave(c);
    --captures;
    free(c);
    return joined ? EXEC_SUCCESS : EXEC_CAPTURE_UNJOINED;
}

exec_error exec_capture_add(exec_stream *stream, exec_work *work) {
    const frontier *f = exec_table_get(&streams, stream);
    exec_node *node;
    const exec_error error = exec_graph_add(f->capture->graph, f->node, f->n, work, &node);
    return error == EXEC_SUCCESS ? exec_capture_set_needs(stream, &node, 1, true) : error;
}

exec_error exec_capture_add_graph(exec_stream *stream, exec_graph *graph) {
    const frontier *f = exec_table_get(&streams, stream);
    exec_node *node;
    const exec_error error =
        exec_graph_add_graph(f->capture->graph, f->node, f->n, graph, false, &node);
    return error == EXEC_SUCCESS ? exec_capture_set_needs(stream, &node, 1, true) : error;
}

exec_error exec_capture_record(exec_event *event, exec_stream *stream, bool *done) {
    const frontier *f = exec_table_get(&streams, stream);
    *done = f != NULL;
    if (f == NULL) {
        drop(&events, event);
        return EXEC_SUCCESS;
    }
    return put(&events, event, merge(f, NULL, 0));
}

static bool is_under_way(uint64_t number) {
    for (size_t i = 0; i < n_captured; ++i)
        if (exec_capture_of(captured[i])->number == number)
            return true;
    return false;
}

exec_error exec_capture_wait(exec_stream *stream, const exec_event *event, bool *done) {
    const frontier *e = exec_table_get(&events, event), *f = exec_table_get(&streams, stream);
    *done = e != NULL && is_under_way(e->number);
    if (!*done)
        return EXEC_SUCCESS;
    if (f == NULL)
        return join(stream, e->capture, e->node, e->n);
    if (f->capture != e->capture)
        return EXEC_CAPTURE_MERGE;
    return exec_capture_set_needs(stream, e->node, e->n, false);
}

void exec_capture_forget(const exec_event *event) {
    drop(&events, event);
}
