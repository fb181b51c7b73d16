/* Graphs: works, and for each the works that it waits for. A replay is a graph made ready to be
 * launched often. */
#ifndef ASSAY_SIM_EXEC_GRAPH_H
#define ASSAY_SIM_EXEC_GRAPH_H

#include "sim/exec/attributes.h"
#include "sim/exec/capture.h"
#include "sim/exec/condition.h"
#include "sim/exec/error.h"
#include "sim/exec/user_object.h"
#include "sim/exec/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct exec_graph exec_graph;
typedef struct exec_node exec_node;
typedef struct exec_replay exec_replay;

exec_error exec_graph_create(exec_graph **graph);

/* EXEC_INVALID_VALUE: it is part of a node. */
exec_error exec_graph_destroy(exec_graph *graph);

/* EXEC_NOT_SUPPORTED, with a line: it has nodes that cannot be copied, as CUDA says. */
exec_error exec_graph_clone(exec_graph **copy, const exec_graph *graph);

/* The node of a clone that was made of `node`; NULL: there is none. */
exec_node *exec_graph_copy_of(const exec_graph *clone, const exec_node *node);

exec_user_objects *exec_graph_objects(exec_graph *graph);
exec_conditions *exec_graph_conditions(exec_graph *graph);

/* ---- nodes ---- */

/* Takes the work over, also when the call fails; NULL is an empty node. */
exec_error exec_graph_add(exec_graph *graph, exec_node *const *needs, size_t n, exec_work *work,
                          exec_node **node);

/* A graph as a node: a copy of it, or, with `move`, the graph itself. */
exec_error exec_graph_add_graph(exec_graph *graph, exec_node *const *needs, size_t n,
                                exec_graph *child, bool move, exec_node **node);

/* A conditional node; `*bodies` gets its graphs, n_bodies of them, which last as long as it. */
exec_error exec_graph_add_conditional(exec_graph *graph, exec_node *const *needs, size_t n,
                                      uint64_t handle, exec_conditional kind, size_t n_bodies,
                                      exec_graph ***bodies, exec_node **node);

/* EXEC_NOT_SUPPORTED: its graph allocates or frees memory. */
exec_error exec_node_destroy(exec_node *node);

size_t exec_graph_size(const exec_graph *graph);
exec_node *exec_graph_node(const exec_graph *graph, size_t i); /* in the order of their making */
size_t exec_node_needs(const exec_node *node, exec_node *const **needs);
exec_work_kind exec_node_kind(const exec_node *node);
exec_work *exec_node_work(const exec_node *node);   /* NULL: an empty one, or one of graphs */
exec_graph *exec_node_graph(const exec_node *node); /* NULL: it is not a graph */
exec_graph *exec_node_owner(const exec_node *node);
exec_attributes *exec_node_attributes(exec_node *node);

/* Takes the work in place of the node's. EXEC_INVALID_VALUE: it is of another kind. */
exec_error exec_node_set(exec_node *node, exec_work *work);

/* EXEC_INVALID_VALUE: no such edge, or not of one graph. */
exec_error exec_graph_add_edge(exec_node *from, exec_node *to);
exec_error exec_graph_remove_edge(exec_node *from, exec_node *to);

/* Writes the graph in Graphviz' language. EXEC_INVALID_VALUE: the file cannot be written. */
exec_error exec_graph_draw(const exec_graph *graph, const char *path);

/* ---- replays ---- */

enum { EXEC_AUTO_FREE = 1, EXEC_UPLOAD = 2, EXEC_DEVICE_LAUNCH = 4, EXEC_NODE_PRIORITY = 8 };

/* EXEC_INVALID_VALUE: it has a circle, or a handle without a node. EXEC_NOT_SUPPORTED, with a line:
 * it has memory or conditional nodes, and another replay. */
exec_error exec_replay_create(exec_replay **replay, const exec_graph *graph, uint64_t flags);
void exec_replay_destroy(exec_replay *replay);
uint64_t exec_replay_flags(const exec_replay *replay);

/* EXEC_INVALID_VALUE, with a line: memory of its last launch has not been freed. In a captured
 * stream it becomes a node. */
exec_error exec_replay_launch(exec_replay *replay, exec_stream *stream);

/* The replay's own of `node`. NULL: there is none. */
exec_node *exec_replay_node(const exec_replay *replay, const exec_node *node);

/* Takes over the works of a graph of the same form. */
exec_error exec_replay_set_graph(exec_replay *replay, const exec_node *node,
                                 const exec_graph *child);

/* EXEC_INVALID_VALUE: there is none, or it is not a kernel, a copy or a fill. */
exec_error exec_replay_enable(exec_replay *replay, const exec_node *node, bool enabled);
exec_error exec_replay_is_enabled(const exec_replay *replay, const exec_node *node, bool *enabled);

/* As cudaGraphExecUpdateResult numbers them. */
typedef enum exec_update {
    EXEC_UPDATED = 0,
    EXEC_UPDATE_ERROR = 1,
    EXEC_OTHER_FORM = 2,
    EXEC_OTHER_KIND = 3,
    EXEC_NOT_UPDATABLE = 6, /* memory or conditional nodes */
} exec_update;

/* Takes over the works of a graph of the same form. *node: where its form is another; NULL. */
exec_error exec_replay_update(exec_replay *replay, const exec_graph *graph, exec_update *result,
                              exec_node **node);

/* ---- the work of nodes that only graphs have ---- */

/* The stream of the launch records the event, or waits for it. */
exec_error exec_record_work(exec_event *event, exec_work **work);
exec_error exec_wait_work(exec_event *event, exec_work **work);
exec_event *exec_work_event(const exec_work *work);

#endif
