/* Memory that graphs allocate and free. Its address is there from the making of the node on; memory
 * lies there from the allocation, in the order of the graph's launch, to what frees it. */
#ifndef ASSAY_SIM_EXEC_GRAPH_MEMORY_H
#define ASSAY_SIM_EXEC_GRAPH_MEMORY_H

#include "sim/exec/error.h"
#include "sim/exec/graph.h"
#include "sim/exec/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The work of the nodes. The address is reserved as long as a node holds it. */
exec_error exec_allocate_work(size_t bytes, const exec_graph *graph, exec_work **work);
/* EXEC_INVALID_VALUE: no graph allocates it, or this graph frees it already. */
exec_error exec_free_work(void *memory, const exec_graph *graph, exec_work **work);

/* The memory of such a work; NULL: it is another. */
void *exec_work_memory(const exec_work *work, size_t *bytes);

/* A node has the work of an allocation, or has it no longer; nothing for other works. */
void exec_graph_memory_hold(const exec_work *work);
void exec_graph_memory_drop(const exec_work *work);

/* cudaMallocAsync in a captured stream: a node. */
exec_error exec_allocate_in(void **memory, size_t bytes, exec_stream *stream);

/* As cudaGraphMemAttributeType numbers them: memory that was freed counts until it is trimmed, as
 * on an H200. EXEC_INVALID_VALUE */
exec_error exec_graph_memory_get(int attribute, uint64_t *value);
exec_error exec_graph_memory_set(int attribute, uint64_t value); /* a high mark, by 0 */
void exec_graph_memory_trim(void);

#endif
