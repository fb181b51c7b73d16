#include "sim/exec/capture.h"

#include <string.h>

/* The calls that an H200's driver (580.159.04) refused beside a capture, and their kin of the other
 * interface. What waits for a stream or an event depends on which (sync.c). */
static const char *const unsafe[] = {
    "cudaCreateSurfaceObject",
    "cudaCreateTextureObject",
    "cudaDestroySurfaceObject",
    "cudaDestroyTextureObject",
    "cudaDeviceSetLimit",
    "cudaFree",
    "cudaFreeArray",
    "cudaFreeHost",
    "cudaGraphExecDestroy",
    "cudaGraphInstantiate",
    "cudaGraphInstantiateWithFlags",
    "cudaGraphInstantiateWithParams",
    "cudaHostAlloc",
    "cudaHostRegister",
    "cudaHostUnregister",
    "cudaMalloc",
    "cudaMalloc3D",
    "cudaMalloc3DArray",
    "cudaMallocArray",
    "cudaMallocHost",
    "cudaMallocManaged",
    "cudaMallocPitch",
    "cudaMemAdvise",
    "cudaMemPoolCreate",
    "cudaMemPoolDestroy",
    "cudaMemPoolTrimTo",
    "cudaStreamAttachMemAsync",
    "cuArray3DCreate",
    "cuArrayCreate",
    "cuArrayDestroy",
    "cuCtxSetLimit",
    "cuGraphExecDestroy",
    "cuGraphInstantiate",
    "cuGraphInstantiateWithFlags",
    "cuGraphInstantiateWithParams",
    "cuMemAdvise",
    "cuMemAlloc",
    "cuMemAllocHost",
    "cuMemAllocManaged",
    "cuMemAllocPitch",
    "cuMemFree",
    "cuMemFreeHost",
    "cuMemHostAlloc",
    "cuMemHostRegister",
    "cuMemHostUnregister",
    "cuMemPoolCreate",
    "cuMemPoolDestroy",
    "cuMemPoolTrimTo",
    "cuStreamAttachMemAsync",
    "cuSurfObjectCreate",
    "cuSurfObjectDestroy",
    "cuTexObjectCreate",
    "cuTexObjectDestroy",
};

/* "cuMemAlloc_v2" is cuMemAlloc. */
static bool is(const char *name, const char *call) {
    const size_t n = strlen(call);
    return strncmp(name, call, n) == 0 && (name[n] == '\0' || name[n] == '_');
}

exec_error exec_capture_call(const char *name) {
    for (size_t i = 0; i < sizeof unsafe / sizeof unsafe[0]; ++i)
        if (is(name, unsafe[i]))
            return exec_capture_unsafe();
    return EXEC_SUCCESS;
}
