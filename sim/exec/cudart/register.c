/* The functions that nvcc's code calls before main(), to register its images, kernels and
 * variables. */
#include "sim/exec/cudart/cudart.h"
#include "sim/exec/module.h"

#include <errno.h>
#include <stdlib.h>

/* The handle that nvcc's code keeps: it reads and writes nothing behind it. */
static exec_module *of(void **handle) {
    return (exec_module *)(void *)handle;
}

EXPORT void **__cudaRegisterFatBinary(void *wrapper) {
    exec_module *m = NULL;
    exec_call_begin(__func__);
    const exec_error error =
        exec_module_add(wrapper, exec_image_name(program_invocation_short_name), &m);
    exec_call_end(error);
    return (void **)(void *)m;
}

EXPORT void __cudaRegisterFatBinaryEnd(void **handle) {
    (void)handle;
}

/* The program is at its end; what it registered is kept for what still runs. */
EXPORT void __cudaUnregisterFatBinary(void **handle) {
    (void)handle;
}

EXPORT char __cudaInitModule(void **handle) {
    (void)handle;
    return 1;
}

EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device_name,
                                   const char *name, int thread_limit, void *tid, void *bid,
                                   void *block, void *grid, int *warp_size) {
    (void)device_name, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid,
        (void)warp_size;
    exec_call_begin(__func__);
    exec_call_end(handle != NULL ? exec_register_kernel(of(handle), host, name)
                                 : EXEC_OUT_OF_MEMORY);
}

EXPORT void __cudaRegisterVar(void **handle, char *host, char *device_address, const char *name,
                              int external, size_t bytes, int constant, int global) {
    (void)device_address, (void)external, (void)bytes, (void)constant, (void)global;
    exec_call_begin(__func__);
    exec_call_end(handle != NULL ? exec_register_variable(of(handle), host, name)
                                 : EXEC_OUT_OF_MEMORY);
}

EXPORT void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes) {
    (void)handle, (void)name, (void)host, (void)bytes;
}

/* The host's code reaches the variable through a pointer, which is set here. */
EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device_address,
                                     const char *name, int external, size_t bytes, int constant,
                                     int global) {
    (void)device_address, (void)external, (void)bytes, (void)constant, (void)global;
    exec_variable *v;
    exec_call_begin(__func__);
    exec_error error =
        handle != NULL ? exec_register_variable(of(handle), host, name) : EXEC_OUT_OF_MEMORY;
    if (error == EXEC_SUCCESS)
        error = exec_variable_of(host, &v);
    if (error == EXEC_SUCCESS)
        *host = v->address;
    exec_call_end(error);
}

EXPORT void **__cudaRegisterUnifiedTable(void **handle, void *table) {
    (void)table;
    return handle;
}
