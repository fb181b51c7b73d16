/* Graphs: works, and for each the works that it waits for. A replay is a graph made ready to be
 * launched often. */
#ifndef ASSAY_SIM_EXEC_GRAPH_H
#define ASSAY_SIM_EXEC_GRAPH_H

#include "sim/exec/capture.h"
#include "sim/exec/error.h"
#include "sim/exec/work.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct exec_graph exec_graph;
typedef struct exec_node exec_node;
typedef struct exec_replay exec_replay;

exec_error exec_graph_create(exec_graph **graph);
void exec_graph_destroy(exec_graph *graph);

/* Takes the work over, also when the call fails; NULL is an empty node. */
exec_error exec_graph_add(exec_graph *graph, exec_node *const *needs, size_t n, exec_work *work,
                          exec_node **node);
exec_error exec_graph_add_edge(exec_node *from, exec_node *to);
exec_error exec_graph_clone(exec_graph **copy, const exec_graph *graph);

size_t exec_graph_size(const exec_graph *graph);
exec_node *exec_graph_node(const exec_graph *graph, size_t i); /* in the order of their making */
size_t exec_node_needs(const exec_node *node, exec_node *const **needs);
exec_work_kind exec_node_kind(const exec_node *node);
exec_work *exec_node_work(const exec_node *node); /* NULL: an empty one */

/* Takes the work in place of the node's. */
void exec_node_set(exec_node *node, exec_work *work);

/* EXEC_INVALID_VALUE: it has a circle. */
exec_error exec_replay_create(exec_replay **replay, const exec_graph *graph);
void exec_replay_destroy(exec_replay *replay);
exec_error exec_replay_launch(exec_replay *replay, exec_stream *stream);

/* Takes the work in place of that which was made of `node`. EXEC_INVALID_VALUE: there is none. */
exec_error exec_replay_set(exec_replay *replay, const exec_node *node, exec_work *work);

/* Takes over the works of a graph of the same form; false: its form is another. */
bool exec_replay_update(exec_replay *replay, const exec_graph *graph, exec_error *error);

/* The work of a graph within a graph. */
exec_error exec_graph_work(const exec_graph *child, exec_work **work);

#endif
