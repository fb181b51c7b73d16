#include "sim/exec/work.h"

#include "sim/exec/allocate.h"
#include "sim/exec/call.h"
#include "sim/exec/capture.h"
#include "sim/exec/graph_memory.h"
#include "sim/exec/handles.h"
#include "sim/exec/memory.h"
#include "sim/exec/overlap.h"

#include <stdlib.h>
#include <string.h>

void *exec_work_new(exec_work_kind kind, size_t bytes, void (*run)(exec_work *)) {
    exec_work *work = calloc(1, bytes);
    if (work != NULL)
        *work = (exec_work){kind, bytes, run};
    return work;
}

exec_work *exec_work_copy(const exec_work *work) {
    exec_work *copy = malloc(work->bytes);
    if (copy != NULL)
        memcpy(copy, work, work->bytes);
    return copy;
}

static void run_once(void *data) {
    exec_work *work = data;
    work->run(work);
    free(work);
}

exec_error exec_work_submit(exec_work *work, exec_stream *stream) {
    if (work == NULL)
        return EXEC_OUT_OF_MEMORY;
    if (exec_capture_of(stream) != NULL)
        return exec_capture_add(stream, work);
    const exec_error error = exec_capture_legacy(stream);
    if (error != EXEC_SUCCESS) {
        free(work);
        return error;
    }
    if (exec_stream_submit(stream, run_once, work) == ASSAY_OK)
        return EXEC_SUCCESS;
    free(work);
    return EXEC_OUT_OF_MEMORY;
}

exec_error exec_stream_of(void *handle, exec_stream **stream) {
    *stream = exec_stream_default();
    if ((uintptr_t)handle <= 1)
        return EXEC_SUCCESS;
    if ((uintptr_t)handle == 2) {
        static exec_stream *own;
        if (own == NULL && exec_stream_create(true, &own) != ASSAY_OK)
            return EXEC_OUT_OF_MEMORY;
        *stream = own;
        return EXEC_SUCCESS;
    }
    if (!exec_handle_is(handle, EXEC_HANDLE_STREAM))
        return EXEC_INVALID_HANDLE;
    *stream = handle;
    return EXEC_SUCCESS;
}

typedef struct call_work {
    exec_work work;
    void (*function)(void *);
    void (*callback)(void *, int, void *);
    void *data, *handle;
} call_work;

/* The program may learn by the call that the work before it is done. */
static void run_call(exec_work *work) {
    const call_work *c = (const call_work *)work;
    exec_streams_host_learns();
    if (c->callback != NULL)
        c->callback(c->handle, EXEC_SUCCESS, c->data);
    else
        c->function(c->data);
}

exec_error exec_call_work(void (*function)(void *), void *data, exec_work **work) {
    *work = NULL;
    if (function == NULL)
        return EXEC_INVALID_VALUE;
    call_work *c = exec_work_new(EXEC_WORK_HOST, sizeof *c, run_call);
    if (c == NULL)
        return EXEC_OUT_OF_MEMORY;
    c->function = function;
    c->data = data;
    *work = &c->work;
    return EXEC_SUCCESS;
}

exec_error exec_work_call(const exec_work *work, void (**function)(void *), void **data) {
    const call_work *c = (const call_work *)work;
    if (work->run != run_call || c->callback != NULL)
        return EXEC_NOT_SUPPORTED;
    *function = c->function;
    *data = c->data;
    return EXEC_SUCCESS;
}

exec_error exec_submit_call(void (*function)(void *), void *data, exec_stream *stream) {
    exec_work *work;
    const exec_error error = exec_call_work(function, data, &work);
    return error == EXEC_SUCCESS ? exec_work_submit(work, stream) : error;
}

exec_error exec_submit_callback(void (*function)(void *, int, void *), void *data, void *handle,
                                exec_stream *stream) {
    exec_error error = function != NULL ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        error = exec_capture_refuse(stream);
    if (error != EXEC_SUCCESS)
        return error;
    call_work *c = exec_work_new(EXEC_WORK_HOST, sizeof *c, run_call);
    if (c == NULL)
        return EXEC_OUT_OF_MEMORY;
    c->callback = function;
    c->data = data;
    c->handle = handle;
    return exec_work_submit(&c->work, stream);
}

typedef struct free_work {
    exec_work work;
    void *memory;
} free_work;

static void run_free(exec_work *work) {
    const exec_allocation *a = exec_memory_find(((free_work *)work)->memory);
    exec_overlap_by("cudaFreeAsync", "");
    if (a != NULL)
        exec_overlap_touch(a->low, a->bytes, true);
    exec_deallocate(((free_work *)work)->memory);
}

exec_error exec_submit_free(void *memory, exec_stream *stream) {
    if (exec_capture_of(stream) != NULL) {
        exec_work *node;
        const exec_error error =
            exec_free_work(memory, exec_capture_graph(exec_capture_of(stream)), &node);
        return error == EXEC_SUCCESS ? exec_capture_add(stream, node) : error;
    }
    exec_error error = exec_capture_legacy(stream);
    if (error == EXEC_SUCCESS)
        error = exec_capture_unsafe();
    if (error != EXEC_SUCCESS || memory == NULL)
        return error;
    /* What is known to be wrong is told at once. */
    if (exec_memory_find(memory) == NULL && !exec_memory_is_promised(memory))
        return exec_deallocate(memory);
    free_work *f = exec_work_new(EXEC_WORK_HOST, sizeof *f, run_free);
    if (f == NULL)
        return EXEC_OUT_OF_MEMORY;
    f->memory = memory;
    exec_memory_promise(memory, false);
    return exec_work_submit(&f->work, stream);
}
