#include "sim/exec/graph.h"
#include "sim/exec/allocate.h"
#include "sim/exec/copy.h"
#include "sim/exec/driver/driver.h"
#include "sim/exec/launch.h"
#include "sim/exec/memory.h"
#include "sim/exec/pool.h"

#include <string.h>

#define NAMED(name)     cu##name
#define KERNELS(name)   cu##name##_v2
#define CALL(body)      DRIVER_CALL(body)
#define EXEC_EDGES      0
#define EXEC_CONTEXTS   1
#define EXEC_OLD_UPDATE 1

/* CUDA_KERNEL_NODE_PARAMS_v3; version 1 ends before `kernel`. */
typedef struct kernel_parameters {
    void *function;
    exec_dim grid, block;
    unsigned dynamic_shared;
    void **arguments, **extra;
    void *kernel; /* where there is no function */
    void *context;
} kernel_parameters;

static const void *packed(void **extra) {
    enum { END, BUFFER };
    for (; extra != NULL && (uintptr_t)extra[0] != END; extra += 2)
        if ((uintptr_t)extra[0] == BUFFER)
            return extra[1];
    return NULL;
}

static exec_error kernel_work(const kernel_parameters *p, const exec_work *old, exec_work **work) {
    exec_kernel *k;
    if (p == NULL)
        return EXEC_INVALID_VALUE;
    exec_launch l = {p->grid, p->block, {0}, p->dynamic_shared, false};
    const exec_error error = exec_kernel_of(p->function != NULL ? p->function : p->kernel, &k);
    if (error == EXEC_SUCCESS)
        exec_work_keep(old, k, &l);
    return error == EXEC_SUCCESS ? exec_launch_work(k, &l, p->arguments, packed(p->extra), work)
                                 : error;
}

enum { BYTES_OF_VERSION_1 = offsetof(kernel_parameters, kernel) };

static void kernel_given(const exec_kernel *k, const exec_launch *l, void **arguments,
                         kernel_parameters *p) {
    *p = (kernel_parameters){.function = (void *)(uintptr_t)k,
                             .grid = l->grid,
                             .block = l->block,
                             .dynamic_shared = (unsigned)l->dynamic_shared,
                             .arguments = arguments};
}

/* One side of a copy. */
typedef struct side {
    size_t x, y, z, level;
    int place;
    void *host;
    device_pointer device;
    void *array, *reserved;
    size_t pitch, rows;
} side;

typedef struct copy_parameters {
    side from, to;
    size_t width, rows, planes;
} copy_parameters;

enum { ON_HOST = 1, ON_DEVICE, IN_ARRAY, ANYWHERE };

static exec_error place_in(const side *s, const copy_parameters *c, char **place, size_t *pitch,
                           size_t *slice) {
    if (s->place == IN_ARRAY)
        return EXEC_NOT_SUPPORTED;
    if (s->place < ON_HOST || s->place > ANYWHERE)
        return EXEC_INVALID_VALUE;
    *pitch = s->pitch != 0 ? s->pitch : c->width;
    *slice = *pitch * (s->rows != 0 ? s->rows : c->rows);
    *place = (char *)(s->place == ON_HOST ? s->host : at(s->device)) + s->z * *slice +
             s->y * *pitch + s->x;
    return EXEC_SUCCESS;
}

static exec_error copy_work(const copy_parameters *c, const exec_work *old, exec_work **work) {
    (void)old;
    if (c == NULL)
        return EXEC_INVALID_VALUE;
    exec_block b = {.width = c->width, .rows = c->rows, .planes = c->planes};
    char *from, *to;
    exec_error error = place_in(&c->from, c, &from, &b.from_pitch, &b.from_slice);
    if (error == EXEC_SUCCESS)
        error = place_in(&c->to, c, &to, &b.to_pitch, &b.to_slice);
    if (error != EXEC_SUCCESS)
        return error;
    b.from = from;
    b.to = to;
    if (c->from.place == ANYWHERE || c->to.place == ANYWHERE)
        return exec_copy_work(&b, EXEC_ANY_DIRECTION, work);
    const int on_device = (c->from.place == ON_DEVICE) * 2 + (c->to.place == ON_DEVICE);
    return exec_copy_work(&b, on_device, work); /* as exec_direction numbers them */
}

static side side_of(const void *place, bool device, size_t pitch, size_t slice) {
    side s = {.place = device ? ON_DEVICE : ON_HOST, .pitch = pitch, .rows = slice / pitch};
    if (device)
        s.device = (device_pointer)(uintptr_t)place;
    else
        s.host = (void *)(uintptr_t)place;
    return s;
}

static bool is_on_device(const void *place) {
    return exec_place_of(place) == EXEC_PLACE_DEVICE || exec_place_of(place) == EXEC_PLACE_MANAGED;
}

static void copy_given(const exec_block *b, int direction, copy_parameters *c) {
    (void)direction;
    *c = (copy_parameters){side_of(b->from, is_on_device(b->from), b->from_pitch, b->from_slice),
                           side_of(b->to, is_on_device(b->to), b->to_pitch, b->to_slice), b->width,
                           b->rows, b->planes};
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
    void *context;
} conditional_parameters;

typedef struct node_parameters {
    exec_work_kind kind;
    int reserved[3];
    union {
        long long padding[29];
        kernel_parameters kernel;
        struct {
            int flags, reserved;
            void *context;
            copy_parameters copy;
        } copy;
        child_parameters child;
        exec_event *event;
        void *memory;
        conditional_parameters conditional;
    } of;
    long long more;
} node_parameters;

static const copy_parameters *node_copy(const node_parameters *p) {
    return &p->of.copy.copy;
}

#include "sim/exec/graph_calls.h"
#include "sim/exec/graph_edges.h"

/* ---- forms of other versions ---- */

SAME_AS(cuGraphInstantiate_v2, cuGraphInstantiate);
SAME_AS(cuGraphLaunch_ptsz, cuGraphLaunch);
SAME_AS(cuGraphUpload_ptsz, cuGraphUpload);
SAME_AS(cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams);

EXPORT exec_error cuGraphExecUpdate_v2(exec_replay *replay, exec_graph *graph, update_result *r) {
    DRIVER_CALL(update(replay, graph, r));
}

EXPORT exec_error cuGraphConditionalHandleCreate(uint64_t *handle, exec_graph *graph, void *context,
                                                 unsigned first, unsigned flags) {
    DRIVER_CALL(context != NULL ? make_condition(handle, graph, first, flags)
                                : EXEC_INVALID_CONTEXT);
}

/* Version 1 of a kernel's parameters, as the later one has them. */
static const kernel_parameters *later(const void *first, kernel_parameters *p) {
    if (first == NULL)
        return NULL;
    *p = (kernel_parameters){0};
    memcpy(p, first, BYTES_OF_VERSION_1);
    return p;
}

EXPORT exec_error cuGraphAddKernelNode(PLACE, const void *first) {
    kernel_parameters p;
    DRIVER_CALL(add_kernel_work(THIS_PLACE, later(first, &p)));
}
EXPORT exec_error cuGraphKernelNodeSetParams(exec_node *node, const void *first) {
    kernel_parameters p;
    DRIVER_CALL(set_kernel_work(node, later(first, &p)));
}
EXPORT exec_error cuGraphExecKernelNodeSetParams(exec_replay *replay, exec_node *node,
                                                 const void *first) {
    kernel_parameters p;
    DRIVER_CALL(set_in_kernel_work(replay, node, later(first, &p)));
}

static exec_error first_kernel_of(const exec_node *node, void *first) {
    kernel_parameters p;
    const exec_error error = first != NULL ? kernel_of(node, &p) : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        memcpy(first, &p, BYTES_OF_VERSION_1);
    return error;
}

EXPORT exec_error cuGraphKernelNodeGetParams(exec_node *node, void *first) {
    DRIVER_CALL(first_kernel_of(node, first));
}
