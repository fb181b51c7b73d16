/* The nodes that allocate and free memory, and what is told of it: a part of graph_calls.h, by
 * whose macros and functions it is written. */
typedef struct memory_parameters {
    int pool[22]; /* its type, handles, place and number first */
    const void *access;
    size_t n_access, bytes;
    void *memory;
} memory_parameters;

/* Pinned memory, without handles, of the device 0. */
static const int of_device[] = {1, 0, 1, 0};

static exec_error add_allocation(const place *p, memory_parameters *m) {
    exec_work *work;
    if (!is_place(p) || m == NULL || memcmp(m->pool, of_device, sizeof of_device) != 0)
        return EXEC_INVALID_VALUE;
    exec_error error = exec_allocate_work(m->bytes, p->graph, &work);
    if (error == EXEC_SUCCESS)
        error = add(p, work, EXEC_SUCCESS);
    if (error == EXEC_SUCCESS)
        m->memory = exec_work_memory(exec_node_work(*p->node), &m->bytes);
    return error;
}

EXPORT exec_error NAMED(GraphAddMemAllocNode)(PLACE, memory_parameters *m) {
    CALL(add_allocation(THIS_PLACE, m));
}

static exec_error allocation_of(const exec_node *node, memory_parameters *m) {
    if (!has_kind(node, EXEC_WORK_ALLOCATE) || m == NULL)
        return EXEC_INVALID_VALUE;
    *m = (memory_parameters){0};
    memcpy(m->pool, of_device, sizeof of_device);
    m->memory = exec_work_memory(exec_node_work(node), &m->bytes);
    return EXEC_SUCCESS;
}

EXPORT exec_error NAMED(GraphMemAllocNodeGetParams)(exec_node *node, memory_parameters *m) {
    CALL(allocation_of(node, m));
}

static exec_error add_free(const place *p, void *memory) {
    exec_work *work;
    const exec_error error =
        is_place(p) ? exec_free_work(memory, p->graph, &work) : EXEC_INVALID_VALUE;
    return error == EXEC_SUCCESS ? add(p, work, error) : error;
}

EXPORT exec_error NAMED(GraphAddMemFreeNode)(PLACE, void *memory) {
    CALL(add_free(THIS_PLACE, memory));
}

static exec_error freed_of(const exec_node *node, void **memory) {
    if (!has_kind(node, EXEC_WORK_FREE) || memory == NULL)
        return EXEC_INVALID_VALUE;
    *memory = exec_work_memory(exec_node_work(node), &(size_t){0});
    return EXEC_SUCCESS;
}

EXPORT exec_error NAMED(GraphMemFreeNodeGetParams)(exec_node *node, void **memory) {
    CALL(freed_of(node, memory));
}

EXPORT exec_error NAMED(DeviceGetGraphMemAttribute)(int device, int attribute, uint64_t *value) {
    CALL(device == 0 ? exec_graph_memory_get(attribute, value) : EXEC_INVALID_DEVICE);
}
EXPORT exec_error NAMED(DeviceSetGraphMemAttribute)(int device, int attribute,
                                                    const uint64_t *value) {
    CALL(device != 0     ? EXEC_INVALID_DEVICE
         : value != NULL ? exec_graph_memory_set(attribute, *value)
                         : EXEC_INVALID_VALUE);
}

static exec_error trim(int device) {
    if (device != 0)
        return EXEC_INVALID_DEVICE;
    exec_graph_memory_trim();
    return EXEC_SUCCESS;
}

EXPORT exec_error NAMED(DeviceGraphMemTrim)(int device) {
    CALL(trim(device));
}
