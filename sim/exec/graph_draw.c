/* Graphs as pictures, in Graphviz' language. */
#include "sim/exec/graph.h"
#include "sim/exec/graph_memory.h"
#include "sim/exec/launch.h"
#include "sim/exec/node.h"

#include <inttypes.h>
#include <stdio.h>

static const char *kind_name(exec_work_kind kind) {
    switch (kind) {
    case EXEC_WORK_KERNEL:
        return "KERNEL";
    case EXEC_WORK_COPY:
        return "MEMCPY";
    case EXEC_WORK_FILL:
        return "MEMSET";
    case EXEC_WORK_HOST:
        return "HOST";
    case EXEC_WORK_GRAPH:
        return "GRAPH";
    case EXEC_WORK_WAIT:
        return "EVENT_WAIT";
    case EXEC_WORK_RECORD:
        return "EVENT_RECORD";
    case EXEC_WORK_ALLOCATE:
        return "MEM_ALLOC";
    case EXEC_WORK_FREE:
        return "MEM_FREE";
    case EXEC_WORK_CONDITIONAL:
        return "CONDITIONAL";
    case EXEC_WORK_EMPTY:
        break;
    }
    return "EMPTY";
}

/* What a kernel's or an allocation's label has beside its kind. */
static void draw_details(FILE *file, const exec_node *node) {
    exec_launch l;
    size_t bytes;
    const exec_kernel *k = node->kind == EXEC_WORK_KERNEL ? exec_work_launch(node->work, &l) : NULL;
    if (k != NULL)
        fprintf(file, "\\n%s\\n<<<(%u, %u, %u), (%u, %u, %u), %zu>>>", k->name, l.grid.x, l.grid.y,
                l.grid.z, l.block.x, l.block.y, l.block.z, l.dynamic_shared);
    if (node->kind == EXEC_WORK_ALLOCATE && exec_work_memory(node->work, &bytes) != NULL)
        fprintf(file, "\\n%zu bytes", bytes);
}

static void draw_node(FILE *file, const exec_node *node) {
    const uint64_t graph = node->graph->number;
    fprintf(file, "\"graph_%" PRIu64 "_node_%zu\"[shape=\"box\" label=\"%zu\\n%s", graph,
            node->place, node->place, kind_name(node->kind));
    draw_details(file, node);
    fprintf(file, "\"];\n");
    for (size_t i = 0; i < node->n_needs; ++i)
        fprintf(file, "\"graph_%" PRIu64 "_node_%zu\" -> \"graph_%" PRIu64 "_node_%zu\";\n", graph,
                node->needs[i]->place, graph, node->place);
}

static void draw(FILE *file, const exec_graph *g) {
    fprintf(file, "subgraph cluster_%" PRIu64 " {\nlabel=\"graph_%" PRIu64 "\";\n", g->number,
            g->number);
    for (size_t i = 0; i < g->n; ++i) {
        draw_node(file, g->node[i]);
        for (size_t j = 0; j < g->node[i]->n_parts; ++j)
            draw(file, g->node[i]->part[j]);
    }
    fprintf(file, "}\n");
}

exec_error exec_graph_draw(const exec_graph *g, const char *path) {
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file == NULL)
        return EXEC_INVALID_VALUE;
    fprintf(file, "digraph dot {\n");
    draw(file, g);
    fprintf(file, "}\n");
    return fclose(file) == 0 ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
}
