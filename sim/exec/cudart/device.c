#include "sim/exec/cudart/cudart.h"
#include "sim/exec/properties.h"
#include "sim/exec/sync.h"

#include <string.h>

static exec_error give(int *to, int value) {
    if (to == NULL)
        return EXEC_INVALID_VALUE;
    *to = value;
    return EXEC_SUCCESS;
}

static exec_error only(int device) {
    return device == 0 ? EXEC_SUCCESS : EXEC_INVALID_DEVICE;
}

EXPORT exec_error cudaGetDeviceCount(int *n) {
    EXEC_CALL(give(n, 1));
}
EXPORT exec_error cudaGetDevice(int *device) {
    EXEC_CALL(give(device, 0));
}
EXPORT exec_error cudaSetDevice(int device) {
    EXEC_CALL(only(device));
}
EXPORT exec_error cudaInitDevice(int device, unsigned flags, unsigned extra) {
    (void)flags, (void)extra;
    EXEC_CALL(only(device));
}
EXPORT exec_error cudaSetValidDevices(int *devices, int n) {
    EXEC_CALL(n == 0 || (n == 1 && devices != NULL && *devices == 0) ? EXEC_SUCCESS
                                                                     : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cudaChooseDevice(int *device, const void *properties) {
    (void)properties;
    EXEC_CALL(give(device, 0));
}

static unsigned device_flags;

EXPORT exec_error cudaSetDeviceFlags(unsigned flags) {
    device_flags = flags;
    EXEC_CALL(EXEC_SUCCESS);
}
EXPORT exec_error cudaGetDeviceFlags(unsigned *flags) {
    if (flags != NULL)
        *flags = device_flags | 8; /* host memory can be mapped */
    EXEC_CALL(flags != NULL ? EXEC_SUCCESS : EXEC_INVALID_VALUE);
}

EXPORT exec_error cudaDeviceSynchronize(void) {
    EXEC_CALL(exec_sync_device());
}

/* The program's allocations stay, as leaks that the summary names. */
EXPORT exec_error cudaDeviceReset(void) {
    exec_call_begin(__func__);
    exec_streams_synchronize();
    exec_device_found();
    exec_limits_reset();
    exec_last_error(true);
    return exec_call_end(EXEC_SUCCESS);
}

EXPORT exec_error cudaDeviceGetAttribute(int *value, int attribute, int device) {
    EXEC_CALL(device == 0 ? exec_attribute(attribute, value) : EXEC_INVALID_DEVICE);
}

enum {
    DRIVER_VERSION = 13000,
    RUNTIME_VERSION = 1000 * EXEC_CUDART + (EXEC_CUDART == 12 ? 80 : 0)
};

EXPORT exec_error cudaDriverGetVersion(int *version) {
    EXEC_CALL(give(version, DRIVER_VERSION));
}
EXPORT exec_error cudaRuntimeGetVersion(int *version) {
    EXEC_CALL(give(version, RUNTIME_VERSION));
}

/* ---- buses ---- */

static exec_error bus(char *to, int room) {
    if (to == NULL || room < (int)sizeof EXEC_BUS_ID)
        return EXEC_INVALID_VALUE;
    memcpy(to, EXEC_BUS_ID, sizeof EXEC_BUS_ID);
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaDeviceGetPCIBusId(char *to, int room, int device) {
    EXEC_CALL(device == 0 ? bus(to, room) : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cudaDeviceGetByPCIBusId(int *device, const char *id) {
    EXEC_CALL(id != NULL && strcmp(id, EXEC_BUS_ID) == 0 ? give(device, 0) : EXEC_INVALID_VALUE);
}

/* ---- peers: there is no second device ---- */

EXPORT exec_error cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    EXEC_CALL(device == 0 && peer == 0 ? give(can, 0) : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    (void)flags;
    EXEC_CALL(peer == 0 ? EXEC_PEER_UNSUPPORTED : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cudaDeviceDisablePeerAccess(int peer) {
    EXEC_CALL(peer == 0 ? EXEC_PEER_NOT_ENABLED : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cudaDeviceGetP2PAttribute(int *value, int attribute, int from, int to) {
    (void)attribute, (void)from, (void)to;
    EXEC_CALL(value != NULL ? EXEC_INVALID_DEVICE : EXEC_INVALID_VALUE);
}

/* ---- limits ---- */

EXPORT exec_error cudaDeviceSetLimit(int limit, size_t value) {
    EXEC_CALL(exec_set_limit(limit, value));
}
EXPORT exec_error cudaDeviceGetLimit(size_t *value, int limit) {
    EXEC_CALL(exec_get_limit(limit, value));
}

/* ---- preferences for caches and banks that are not simulated ---- */

EXPORT exec_error cudaDeviceSetCacheConfig(int preference) {
    (void)preference;
    EXEC_CALL(EXEC_SUCCESS);
}
EXPORT exec_error cudaDeviceGetCacheConfig(int *preference) {
    EXEC_CALL(give(preference, 0));
}
EXPORT exec_error cudaDeviceSetSharedMemConfig(int width) {
    (void)width;
    EXEC_CALL(EXEC_SUCCESS);
}
EXPORT exec_error cudaDeviceGetSharedMemConfig(int *width) {
    EXEC_CALL(give(width, 1));
}

EXPORT exec_error cudaProfilerStart(void) {
    EXEC_CALL(EXEC_SUCCESS);
}
EXPORT exec_error cudaProfilerStop(void) {
    EXEC_CALL(EXEC_SUCCESS);
}

#if EXEC_CUDART < 13 /* names of CUDA 3 */
SAME_AS(cudaThreadSynchronize, cudaDeviceSynchronize);
SAME_AS(cudaThreadExit, cudaDeviceReset);
SAME_AS(cudaThreadSetLimit, cudaDeviceSetLimit);
SAME_AS(cudaThreadGetLimit, cudaDeviceGetLimit);
SAME_AS(cudaThreadSetCacheConfig, cudaDeviceSetCacheConfig);
SAME_AS(cudaThreadGetCacheConfig, cudaDeviceGetCacheConfig);
#endif
