/*
 * The work of streams: launches, copies, fills, calls of the host. A piece of work is one block
 * of memory without pointers into itself, so that graphs can copy it and do it often.
 */
#ifndef ASSAY_SIM_EXEC_WORK_H
#define ASSAY_SIM_EXEC_WORK_H

#include "sim/exec/error.h"
#include "sim/exec/stream.h"

#include <stddef.h>

/* As cudaGraphNodeType numbers them. */
typedef enum exec_work_kind {
    EXEC_WORK_KERNEL = 0,
    EXEC_WORK_COPY = 1,
    EXEC_WORK_FILL = 2,
    EXEC_WORK_HOST = 3,
    EXEC_WORK_GRAPH = 4,
    EXEC_WORK_EMPTY = 5,
    EXEC_WORK_WAIT = 6,
    EXEC_WORK_RECORD = 7,
    EXEC_WORK_ALLOCATE = 10,
    EXEC_WORK_FREE = 11,
    EXEC_WORK_CONDITIONAL = 13,
} exec_work_kind;

typedef struct exec_work {
    exec_work_kind kind;
    size_t bytes; /* with the data behind this header */
    void (*run)(struct exec_work *work);
} exec_work;

/* Zeroed but for the header; NULL: no memory. For free(). */
void *exec_work_new(exec_work_kind kind, size_t bytes, void (*run)(exec_work *work));
exec_work *exec_work_copy(const exec_work *work);

/* Takes the work over, also when the call fails; also NULL, for EXEC_OUT_OF_MEMORY. A stream that
 * is captured makes a node of it. */
exec_error exec_work_submit(exec_work *work, exec_stream *stream);

/* The stream that a cudaStream_t or CUstream names: NULL and 1 are the default stream, 2 is the
 * thread's own, which is one for all threads here. EXEC_INVALID_HANDLE */
exec_error exec_stream_of(void *handle, exec_stream **stream);

/* A call of the program's: with its data, or with the arguments of cudaStreamAddCallback. */
exec_error exec_submit_call(void (*function)(void *), void *data, exec_stream *stream);
exec_error exec_submit_callback(void (*function)(void *stream, int error, void *data), void *data,
                                void *handle, exec_stream *stream);

exec_error exec_call_work(void (*function)(void *), void *data, exec_work **work);

/* What it calls, for a graph. EXEC_NOT_SUPPORTED: it is a callback of a stream. */
exec_error exec_work_call(const exec_work *work, void (**function)(void *), void **data);

/* Frees an allocation in the stream's order; in a captured stream a node. */
exec_error exec_submit_free(void *memory, exec_stream *stream);

#endif
