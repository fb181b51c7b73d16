/*
 * Memory and events of one process in another (cudaIpc...): both map the same file of memory. A
 * handle names it by its process and its number there, so that the processes need not be related.
 *
 * An event for several processes is recorded when the work before it is done, at once also with
 * late streams, so that another process has nothing to wait for. What processes do is not compared.
 */
#ifndef ASSAY_SIM_EXEC_IPC_H
#define ASSAY_SIM_EXEC_IPC_H

#include "sim/exec/error.h"

#include <stdbool.h>
#include <stdint.h>

/* cudaIpcMemHandle_t and its like: 64 bytes. */
typedef struct exec_ipc_handle {
    uint64_t magic;
    int64_t process;
    uint64_t file,
        number; /* the file's name in the process, and its inode; of an event its address */
    uint64_t bytes;
    char unused[24];
} exec_ipc_handle;

/* EXEC_INVALID_VALUE: it is not the beginning of memory from cudaMalloc or its like. */
exec_error exec_ipc_export(exec_ipc_handle *handle, const void *memory);

/* The same memory as often as it is opened. EXEC_INVALID_CONTEXT: it is this process's own.
 * EXEC_INVALID_HANDLE: it is none, or its process has ended or freed it. */
exec_error exec_ipc_open(void **memory, const exec_ipc_handle *handle, unsigned flags);
exec_error exec_ipc_close(void *memory);

/* Memory is about to be freed. False: it is another process's. */
bool exec_ipc_release(const void *memory);

exec_error exec_ipc_export_event(exec_ipc_handle *handle, void *event);
exec_error exec_ipc_open_event(void **event, const exec_ipc_handle *handle);

#endif
