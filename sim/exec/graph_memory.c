#include "sim/exec/graph_memory.h"

#include "sim/exec/allocate.h"
#include "sim/exec/call.h"
#include "sim/exec/capture.h"
#include "sim/exec/memory.h"
#include "sim/exec/overlap.h"
#include "sim/exec/report.h"

#include <stdlib.h>

typedef struct memory_work {
    exec_work work;
    void *memory;
    size_t bytes;
} memory_work;

/* In bytes: what graphs have, and the most of it that each of the two marks has seen. An H200's
 * driver takes memory for graphs in these units. */
#define UNIT ((size_t)32 << 20)
static uint64_t kept, used_high, reserved_high;

static uint64_t more(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* After the memory of graphs has become more. */
static void count(void) {
    kept = more(kept, exec_memory_of_graphs(UNIT));
    used_high = more(used_high, kept);
    reserved_high = more(reserved_high, kept);
}

static void touch(const memory_work *w, const char *what) {
    exec_overlap_by(what, "");
    exec_overlap_touch(w->memory, w->bytes, true);
}

static void run_allocate(exec_work *work) {
    const memory_work *w = (const memory_work *)work;
    if (exec_allocate_again(w->memory) != EXEC_SUCCESS) {
        exec_problem(EXEC_PROBLEM_KERNEL, "a graph cannot allocate its memory: %s", assay_error());
        exec_device_lost(EXEC_OUT_OF_MEMORY);
        return;
    }
    count();
    touch(w, "a graph's allocation");
}

static void run_free(exec_work *work) {
    const memory_work *w = (const memory_work *)work;
    const exec_allocation *a = exec_memory_find(w->memory);
    if (a != NULL)
        touch(&(memory_work){.memory = a->low, .bytes = a->bytes}, "a graph's free node");
    exec_deallocate(w->memory);
}

static exec_error memory_of(exec_work_kind kind, void (*run)(exec_work *), void *memory,
                            size_t bytes, exec_work **work) {
    memory_work *w = exec_work_new(kind, sizeof *w, run);
    *work = NULL;
    if (w == NULL)
        return EXEC_OUT_OF_MEMORY;
    w->memory = memory;
    w->bytes = bytes;
    *work = &w->work;
    return EXEC_SUCCESS;
}

exec_error exec_allocate_work(size_t bytes, const exec_graph *graph, exec_work **work) {
    void *memory;
    *work = NULL;
    if (bytes == 0)
        return EXEC_INVALID_VALUE;
    if (exec_memory_reserve(bytes, graph, exec_call_name(), &memory) != ASSAY_OK)
        return EXEC_OUT_OF_MEMORY;
    const exec_error error = memory_of(EXEC_WORK_ALLOCATE, run_allocate, memory, bytes, work);
    if (error != EXEC_SUCCESS) {
        exec_memory_hold(memory);
        exec_memory_drop(memory);
    }
    return error;
}

static bool frees(const exec_graph *graph, const void *memory) {
    for (size_t i = 0; i < exec_graph_size(graph); ++i) {
        const exec_node *node = exec_graph_node(graph, i);
        if (exec_node_kind(node) == EXEC_WORK_FREE &&
            exec_work_memory(exec_node_work(node), &(size_t){0}) == memory)
            return true;
    }
    return false;
}

exec_error exec_free_work(void *memory, const exec_graph *graph, exec_work **work) {
    *work = NULL;
    if (!exec_memory_is_graphs(memory) || frees(graph, memory))
        return EXEC_INVALID_VALUE;
    return memory_of(EXEC_WORK_FREE, run_free, memory, 0, work);
}

void *exec_work_memory(const exec_work *work, size_t *bytes) {
    const memory_work *w = (const memory_work *)work;
    if (work->kind != EXEC_WORK_ALLOCATE && work->kind != EXEC_WORK_FREE)
        return NULL;
    *bytes = w->bytes;
    return w->memory;
}

void exec_graph_memory_hold(const exec_work *work) {
    if (work->kind == EXEC_WORK_ALLOCATE)
        exec_memory_hold(((const memory_work *)work)->memory);
}

void exec_graph_memory_drop(const exec_work *work) {
    if (work->kind == EXEC_WORK_ALLOCATE)
        exec_memory_drop(((const memory_work *)work)->memory);
}

exec_error exec_allocate_in(void **memory, size_t bytes, exec_stream *stream) {
    exec_work *work;
    if (memory == NULL)
        return EXEC_INVALID_VALUE;
    *memory = NULL;
    if (bytes == 0)
        return EXEC_SUCCESS;
    exec_error error =
        exec_allocate_work(bytes, exec_capture_graph(exec_capture_of(stream)), &work);
    if (error != EXEC_SUCCESS)
        return error;
    *memory = ((memory_work *)work)->memory;
    return exec_capture_add(stream, work);
}

/* ---- what graphs have ---- */

enum { USED, USED_HIGH, RESERVED, RESERVED_HIGH };

exec_error exec_graph_memory_get(int attribute, uint64_t *value) {
    if (value == NULL || attribute < USED || attribute > RESERVED_HIGH)
        return EXEC_INVALID_VALUE;
    const uint64_t all[] = {kept, used_high, kept, reserved_high};
    *value = all[attribute];
    return EXEC_SUCCESS;
}

exec_error exec_graph_memory_set(int attribute, uint64_t value) {
    if (value != 0 || (attribute != USED_HIGH && attribute != RESERVED_HIGH))
        return EXEC_INVALID_VALUE;
    *(attribute == USED_HIGH ? &used_high : &reserved_high) = kept;
    return EXEC_SUCCESS;
}

void exec_graph_memory_trim(void) {
    kept = exec_memory_of_graphs(UNIT);
}
