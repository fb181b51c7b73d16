/* Memory and events of other processes. */
#include "sim/exec/ipc.h"

#include "sim/exec/cudart/cudart.h"

EXPORT exec_error cudaIpcGetMemHandle(exec_ipc_handle *handle, void *memory) {
    EXEC_CALL(exec_ipc_export(handle, memory));
}
EXPORT exec_error cudaIpcOpenMemHandle(void **memory, exec_ipc_handle handle, unsigned flags) {
    EXEC_CALL(exec_ipc_open(memory, &handle, flags));
}
EXPORT exec_error cudaIpcCloseMemHandle(void *memory) {
    EXEC_CALL(exec_ipc_close(memory));
}
EXPORT exec_error cudaIpcGetEventHandle(exec_ipc_handle *handle, void *event) {
    EXEC_CALL(exec_ipc_export_event(handle, event));
}
EXPORT exec_error cudaIpcOpenEventHandle(void **event, exec_ipc_handle handle) {
    EXEC_CALL(exec_ipc_open_event(event, &handle));
}
