/* The insides of graphs, for the files that they are made of. */
#ifndef ASSAY_SIM_EXEC_NODE_H
#define ASSAY_SIM_EXEC_NODE_H

#include "sim/exec/attributes.h"
#include "sim/exec/condition.h"
#include "sim/exec/graph.h"
#include "sim/exec/user_object.h"

#include <stdint.h>

struct exec_node {
    exec_graph *graph;
    exec_work_kind kind;
    exec_work *work; /* NULL: an empty node, a graph, a conditional node */
    exec_node **needs;
    size_t n_needs, place;   /* place: in the graph's list */
    uint64_t number, origin; /* of the node that it was copied from; 0: of none */
    exec_graph **part;       /* the graph within it; the bodies of a conditional node */
    size_t n_parts;
    exec_condition *condition;
    exec_conditional conditional;
    exec_attributes attributes; /* of a kernel's node */
};

struct exec_graph {
    exec_node **node;
    size_t n, room;
    uint64_t number;
    exec_node *holder; /* whose part it is; NULL: the program's own */
    exec_user_objects objects;
    exec_conditions conditions;
};

/* A copy also of what programs may not clone. */
exec_error exec_graph_copy(exec_graph **copy, const exec_graph *graph);

/* Whether it, or a graph within it, has such a node. */
bool exec_graph_has(const exec_graph *graph, exec_work_kind kind);

#endif
