/* Memory and events of other processes. */
#include "sim/exec/ipc.h"

#include "sim/exec/driver/driver.h"

EXPORT exec_error cuIpcGetMemHandle(exec_ipc_handle *handle, device_pointer memory) {
    DRIVER_CALL(exec_ipc_export(handle, at(memory)));
}

static exec_error open(device_pointer *memory, const exec_ipc_handle *handle, unsigned flags) {
    void *got = NULL;
    const exec_error error =
        memory != NULL ? exec_ipc_open(&got, handle, flags) : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        *memory = (device_pointer)(uintptr_t)got;
    return error;
}

EXPORT exec_error cuIpcOpenMemHandle_v2(device_pointer *memory, exec_ipc_handle handle,
                                        unsigned flags) {
    DRIVER_CALL(open(memory, &handle, flags));
}
EXPORT exec_error cuIpcCloseMemHandle(device_pointer memory) {
    DRIVER_CALL(exec_ipc_close(at(memory)));
}
EXPORT exec_error cuIpcGetEventHandle(exec_ipc_handle *handle, void *event) {
    DRIVER_CALL(exec_ipc_export_event(handle, event));
}
EXPORT exec_error cuIpcOpenEventHandle(void **event, exec_ipc_handle handle) {
    DRIVER_CALL(exec_ipc_open_event(event, &handle));
}
