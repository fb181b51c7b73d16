#include "sim/exec/capture.h"

#include "sim/exec/graph.h"
#include "sim/exec/table.h"

#include <stdlib.h>
#include <string.h>

struct exec_capture {
    exec_graph *graph;
    exec_stream *origin;
    uint64_t number;
    exec_capture_mode mode;
    const void *thread; /* that began it */
    bool own_graph;     /* it made the graph */
    bool invalid;       /* a call that it forbids was made: no graph comes of it */
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

/* Its address tells threads apart. */
static _Thread_local exec_capture_mode mode_of_thread = EXEC_CAPTURE_GLOBAL;

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

exec_capture_state exec_capture_status(const exec_stream *stream) {
    const exec_capture *c = exec_capture_of(stream);
    if (c == NULL)
        return EXEC_NOT_CAPTURED;
    return c->invalid ? EXEC_INVALID_CAPTURE : EXEC_CAPTURED;
}

bool exec_capture_any(void) {
    return n_captured > 0;
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
    if (f->capture->invalid)
        return EXEC_CAPTURE_INVALIDATED;
    return put(&streams, stream, merge(replace ? &none : f, needs, n));
}

static exec_error join(exec_stream *stream, exec_capture *c, exec_node *const *node, size_t n) {
    const frontier none = {.capture = c};
    if (n_captured == MOST_STREAMS)
        return EXEC_OUT_OF_MEMORY;
    const exec_error error = put(&streams, stream, merge(&none, node, n));
    if (error == EXEC_SUCCESS)
        captured[n_captured++] = stream;
    return error;
}

exec_error exec_capture_begin(exec_stream *stream, exec_graph *graph, exec_capture_mode mode) {
    if (stream == exec_stream_default())
        return EXEC_CAPTURE_UNSUPPORTED;
    if (exec_capture_of(stream) != NULL)
        return EXEC_ILLEGAL_STATE;
    exec_capture *c = calloc(1, sizeof *c);
    if (c == NULL)
        return EXEC_OUT_OF_MEMORY;
    *c = (exec_capture){.graph = graph,
                        .origin = stream,
                        .number = ++last_number,
                        .mode = mode,
                        .thread = &mode_of_thread,
                        .own_graph = graph == NULL};
    exec_error error = graph != NULL ? EXEC_SUCCESS : exec_graph_create(&c->graph);
    if (error == EXEC_SUCCESS)
        error = join(stream, c, NULL, 0);
    if (error != EXEC_SUCCESS) {
        if (c->own_graph && c->graph != NULL)
            exec_graph_destroy(c->graph);
        free(c);
        return error;
    }
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

static void leave_one(const exec_stream *stream) {
    drop(&streams, stream);
    size_t n = 0;
    for (size_t i = 0; i < n_captured; ++i)
        if (captured[i] != stream)
            captured[n++] = captured[i];
    n_captured = n;
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

/* Without a graph, unless all is right. */
static exec_error end(exec_capture *c, exec_graph **graph) {
    exec_error error = EXEC_SUCCESS;
    if (c->mode != EXEC_CAPTURE_RELAXED && c->thread != &mode_of_thread)
        error = EXEC_CAPTURE_WRONG_THREAD;
    else if (c->invalid)
        error = EXEC_CAPTURE_INVALIDATED;
    else if (!all_joined(c))
        error = EXEC_CAPTURE_UNJOINED;
    if (error == EXEC_SUCCESS)
        *graph = c->graph;
    else if (c->own_graph)
        exec_graph_destroy(c->graph);
    leave(c);
    free(c);
    return error;
}

exec_error exec_capture_end(exec_stream *stream, exec_graph **graph) {
    frontier *f = exec_table_get(&streams, stream);
    *graph = NULL;
    if (f == NULL)
        return EXEC_ILLEGAL_STATE;
    if (f->capture->origin == stream)
        return end(f->capture, graph);
    f->capture->invalid = true;
    return EXEC_CAPTURE_UNMATCHED;
}

void exec_capture_forget_stream(const exec_stream *stream) {
    frontier *f = exec_table_get(&streams, stream);
    exec_graph *none = NULL;
    if (f == NULL)
        return;
    if (f->capture->origin != stream) {
        leave_one(stream);
        return;
    }
    f->capture->invalid = true;
    (void)end(f->capture, &none);
}

exec_error exec_capture_add(exec_stream *stream, exec_work *work) {
    const frontier *f = exec_table_get(&streams, stream);
    exec_node *node;
    if (f->capture->invalid) {
        free(work);
        return EXEC_CAPTURE_INVALIDATED;
    }
    const exec_error error = exec_graph_add(f->capture->graph, f->node, f->n, work, &node);
    return error == EXEC_SUCCESS ? exec_capture_set_needs(stream, &node, 1, true) : error;
}

exec_error exec_capture_add_graph(exec_stream *stream, exec_graph *graph) {
    const frontier *f = exec_table_get(&streams, stream);
    exec_node *node;
    if (f->capture->invalid)
        return EXEC_CAPTURE_INVALIDATED;
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
    return f->capture->invalid ? EXEC_CAPTURE_INVALIDATED : put(&events, event, merge(f, NULL, 0));
}

/* NULL: it has ended. */
static exec_capture *under_way(uint64_t number) {
    for (size_t i = 0; i < n_captured; ++i) {
        const frontier *f = exec_table_get(&streams, captured[i]);
        if (f->capture->number == number)
            return f->capture;
    }
    return NULL;
}

static exec_error spoil(exec_capture *c, exec_error error) {
    c->invalid = true;
    return error;
}

exec_error exec_capture_wait(exec_stream *stream, const exec_event *event, bool recorded,
                             bool *done) {
    const frontier *e = exec_table_get(&events, event), *f = exec_table_get(&streams, stream);
    *done = e != NULL || f != NULL;
    if (!*done)
        return EXEC_SUCCESS;
    if (f != NULL && f->capture->invalid)
        return EXEC_CAPTURE_INVALIDATED;
    if (e == NULL) /* an event without a record is no hindrance */
        return recorded ? spoil(f->capture, EXEC_CAPTURE_ISOLATION) : EXEC_SUCCESS;
    exec_capture *c = under_way(e->number);
    if (c == NULL || c->invalid)
        return EXEC_INVALID_VALUE;
    if (stream == exec_stream_default())
        return spoil(c, EXEC_CAPTURE_IMPLICIT);
    if (f == NULL)
        return join(stream, c, e->node, e->n);
    if (f->capture != c) {
        c->invalid = true;
        return spoil(f->capture, EXEC_CAPTURE_MERGE);
    }
    return exec_capture_set_needs(stream, e->node, e->n, false);
}

void exec_capture_forget(const exec_event *event) {
    drop(&events, event);
}

/* ---- calls that captures forbid ---- */

exec_error exec_capture_exchange(int *mode) {
    if (mode == NULL || *mode < EXEC_CAPTURE_GLOBAL || *mode > EXEC_CAPTURE_RELAXED)
        return EXEC_INVALID_VALUE;
    const exec_capture_mode old = mode_of_thread;
    mode_of_thread = (exec_capture_mode)*mode;
    *mode = (int)old;
    return EXEC_SUCCESS;
}

/* Makes all captures for which `forbids` invalid. */
static exec_error spoil_all(bool (*forbids)(const exec_capture *), exec_error error) {
    exec_error found = EXEC_SUCCESS;
    for (size_t i = 0; i < n_captured; ++i) {
        const frontier *f = exec_table_get(&streams, captured[i]);
        if (forbids(f->capture))
            found = spoil(f->capture, error);
    }
    return found;
}

static bool always(const exec_capture *c) {
    (void)c;
    return true;
}

/* As CUDA has it: the thread's own captures count, and unless it has asked for less, those that
 * other threads began for all threads. */
static bool forbids_unsafe(const exec_capture *c) {
    if (mode_of_thread == EXEC_CAPTURE_RELAXED || c->mode == EXEC_CAPTURE_RELAXED)
        return false;
    return c->thread == &mode_of_thread ||
           (mode_of_thread == EXEC_CAPTURE_GLOBAL && c->mode == EXEC_CAPTURE_GLOBAL);
}

/* It has a stream that work of the default stream would wait for. */
static bool has_blocking(const exec_capture *c) {
    for (size_t i = 0; i < n_captured; ++i)
        if (exec_capture_of(captured[i]) == c && exec_stream_is_blocking(captured[i]))
            return true;
    return false;
}

exec_error exec_capture_unsafe(void) {
    return spoil_all(forbids_unsafe, EXEC_CAPTURE_UNSUPPORTED);
}

exec_error exec_capture_device(void) {
    return spoil_all(always, EXEC_CAPTURE_UNSUPPORTED);
}

exec_error exec_capture_legacy(const exec_stream *stream) {
    return stream == exec_stream_default() ? spoil_all(has_blocking, EXEC_CAPTURE_IMPLICIT)
                                           : EXEC_SUCCESS;
}

exec_error exec_capture_refuse(const exec_stream *stream) {
    const frontier *f = exec_table_get(&streams, stream);
    return f != NULL ? spoil(f->capture, EXEC_CAPTURE_UNSUPPORTED) : EXEC_SUCCESS;
}

exec_error exec_capture_ask_stream(const exec_stream *stream) {
    exec_error error = exec_capture_refuse(stream);
    if (error == EXEC_SUCCESS)
        error = exec_capture_legacy(stream);
    return error == EXEC_SUCCESS ? exec_capture_unsafe() : error;
}

exec_error exec_capture_time_event(const exec_event *event) {
    const frontier *e = exec_table_get(&events, event);
    if (e == NULL)
        return EXEC_SUCCESS;
    const exec_capture *c = under_way(e->number);
    return c != NULL && !c->invalid ? EXEC_CAPTURED_EVENT : EXEC_INVALID_VALUE;
}

exec_error exec_capture_ask_event(const exec_event *event) {
    const exec_error error = exec_capture_time_event(event);
    if (error == EXEC_CAPTURED_EVENT) {
        const frontier *e = exec_table_get(&events, event);
        return spoil(under_way(e->number), error);
    }
    return error == EXEC_SUCCESS ? exec_capture_unsafe() : error;
}
