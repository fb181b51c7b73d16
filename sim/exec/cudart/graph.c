#include "sim/exec/cudart/cudart.h"
#include "sim/exec/module.h"

#define NAMED(name)     cuda##name
#define KERNELS(name)   cuda##name
#define CALL(body)      EXEC_CALL(body)
#define EXEC_EDGES      (EXEC_CUDART >= 13)
#define EXEC_CONTEXTS   0
#define EXEC_OLD_UPDATE (EXEC_CUDART < 12)

#include "sim/exec/graph.h"
#include "sim/exec/launch.h"

typedef struct kernel_parameters {
    const void *function;
    exec_dim grid, block;
    unsigned dynamic_shared;
    void **arguments, **packed;
} kernel_parameters;

static exec_error kernel_work(const kernel_parameters *p, const exec_work *old, exec_work **work) {
    exec_kernel *k;
    if (p == NULL || p->packed != NULL)
        return p == NULL ? EXEC_INVALID_VALUE : EXEC_NOT_SUPPORTED;
    exec_launch l = {p->grid, p->block, {0}, p->dynamic_shared, false};
    const exec_error error = exec_kernel_of(p->function, &k);
    if (error == EXEC_SUCCESS)
        exec_work_keep(old, k, &l);
    return error == EXEC_SUCCESS ? exec_launch_work(k, &l, p->arguments, NULL, work) : error;
}

static void kernel_given(const exec_kernel *k, const exec_launch *l, void **arguments,
                         kernel_parameters *p) {
    *p = (kernel_parameters){.function = k,
                             .grid = l->grid,
                             .block = l->block,
                             .dynamic_shared = (unsigned)l->dynamic_shared,
                             .arguments = arguments};
}

typedef copy3 copy_parameters;

static exec_error copy_work(const copy3 *c, const exec_work *old, exec_work **work) {
    (void)old;
    exec_block b = {0};
    const exec_error error = cudart_block_of(c, &b);
    return error == EXEC_SUCCESS ? exec_copy_work(&b, c->direction, work) : error;
}

static void copy_given(const exec_block *b, int direction, copy3 *c) {
    *c = (copy3){.from = {(char *)(uintptr_t)b->from, b->from_pitch, b->width,
                          b->from_slice / b->from_pitch},
                 .to = {b->to, b->to_pitch, b->width, b->to_slice / b->to_pitch},
                 .size = {b->width, b->rows, b->planes},
                 .direction = direction};
}

typedef struct child_parameters {
    exec_graph *graph;
    int ownership;
} child_parameters;

typedef struct conditional_parameters {
    uint64_t handle;
    int kind;
    unsigned n_bodies;
    exec_graph **bodies;
} conditional_parameters;

typedef struct node_parameters {
    exec_work_kind kind;
    int reserved[3];
    union {
        long long padding[29];
        kernel_parameters kernel;
        struct {
            int flags, reserved[3];
            copy3 copy;
        } copy;
        child_parameters child;
        exec_event *event;
        void *memory;
        conditional_parameters conditional;
    } of;
    long long more;
} node_parameters;

static const copy3 *node_copy(const node_parameters *p) {
    return &p->of.copy.copy;
}

#include "sim/exec/graph_calls.h"
#include "sim/exec/graph_edges.h"

SAME_AS(cudaGraphLaunch_ptsz, cudaGraphLaunch);
SAME_AS(cudaGraphUpload_ptsz, cudaGraphUpload);
SAME_AS(cudaGraphInstantiateWithParams_ptsz, cudaGraphInstantiateWithParams);

EXPORT exec_error cudaGraphConditionalHandleCreate(uint64_t *handle, exec_graph *graph,
                                                   unsigned first, unsigned flags) {
    EXEC_CALL(make_condition(handle, graph, first, flags));
}

/* ---- copies by their bytes, and of variables ---- */

typedef struct bytes {
    void *to;
    const void *from;
    size_t n;
    int direction;
} bytes;

static exec_error bytes_work(const bytes *b, const exec_work *old, exec_work **work) {
    (void)old;
    const exec_block block = exec_bytes(b->to, b->from, b->n);
    return exec_copy_work(&block, b->direction, work);
}

static exec_error add_bytes(const place *p, const bytes *b, exec_error error) {
    exec_work *work = NULL;
    if (error == EXEC_SUCCESS)
        error = bytes_work(b, NULL, &work);
    return add(p, work, error);
}

static exec_error set_bytes(exec_node *node, const bytes *b, exec_error error) {
    exec_work *work = NULL;
    if (error == EXEC_SUCCESS)
        error = bytes_work(b, NULL, &work);
    return set(node, work, error);
}

static exec_error set_bytes_in(exec_replay *replay, const exec_node *node, const bytes *b,
                               exec_error error) {
    exec_work *work = NULL;
    if (error == EXEC_SUCCESS)
        error = bytes_work(b, NULL, &work);
    return set_in(replay, node, work, error);
}

/* The three ways to such a node: BYTES is the copy, ERROR what finding its variable came to. */
#define COPY_CALLS(FORM, BYTES, ERROR, ...)                                                        \
    EXPORT exec_error cudaGraphAddMemcpyNode##FORM(PLACE, __VA_ARGS__) {                           \
        bytes b;                                                                                   \
        EXEC_CALL((b = BYTES, add_bytes(THIS_PLACE, &b, ERROR)));                                  \
    }                                                                                              \
    EXPORT exec_error cudaGraphMemcpyNodeSetParams##FORM(exec_node *node, __VA_ARGS__) {           \
        bytes b;                                                                                   \
        EXEC_CALL((b = BYTES, set_bytes(node, &b, ERROR)));                                        \
    }                                                                                              \
    EXPORT exec_error cudaGraphExecMemcpyNodeSetParams##FORM(exec_replay *replay, exec_node *node, \
                                                             __VA_ARGS__) {                        \
        bytes b;                                                                                   \
        EXEC_CALL((b = BYTES, set_bytes_in(replay, node, &b, ERROR)));                             \
    }

COPY_CALLS(1D, ((bytes){to, from, count, direction}), EXEC_SUCCESS, void *to, const void *from,
           size_t count, int direction)
COPY_CALLS(ToSymbol, ((bytes){NULL, from, count, direction}),
           cudart_symbol_part(symbol, count, offset, (char **)&b.to), const void *symbol,
           const void *from, size_t count, size_t offset, int direction)
COPY_CALLS(FromSymbol, ((bytes){to, NULL, count, direction}),
           cudart_symbol_part(symbol, count, offset, (char **)(uintptr_t)&b.from), void *to,
           const void *symbol, size_t count, size_t offset, int direction)
