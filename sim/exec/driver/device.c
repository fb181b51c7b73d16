#include "sim/exec/driver/driver.h"
#include "sim/exec/memory.h"
#include "sim/exec/properties.h"
#include "sim/exec/sync.h"

#include <stdio.h>
#include <string.h>

enum { VERSION = 13000 };

EXPORT exec_error cuInit(unsigned flags) {
    DRIVER_CALL(flags == 0 ? EXEC_SUCCESS : EXEC_INVALID_VALUE);
}
EXPORT exec_error cuDriverGetVersion(int *version) {
    DRIVER_CALL(GIVE(version, VERSION));
}
EXPORT exec_error cuDeviceGetCount(int *n) {
    DRIVER_CALL(GIVE(n, 1));
}
EXPORT exec_error cuDeviceGet(int *device, int i) {
    DRIVER_CALL(i == 0 ? GIVE(device, 0) : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cuDeviceGetAttribute(int *value, int attribute, int device) {
    DRIVER_CALL(device == 0 ? exec_attribute(attribute, value) : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cuDeviceTotalMem_v2(size_t *bytes, int device) {
    DRIVER_CALL(device == 0 ? GIVE(bytes, EXEC_DEVICE_BYTES) : EXEC_INVALID_DEVICE);
}

static exec_error text(char *to, int room, const char *from) {
    if (to == NULL || room <= 0)
        return EXEC_INVALID_VALUE;
    snprintf(to, (size_t)room, "%s", from);
    return EXEC_SUCCESS;
}

EXPORT exec_error cuDeviceGetName(char *to, int room, int device) {
    DRIVER_CALL(device == 0 ? text(to, room, EXEC_DEVICE_NAME) : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cuDeviceGetPCIBusId(char *to, int room, int device) {
    DRIVER_CALL(device == 0 ? text(to, room, EXEC_BUS_ID) : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cuDeviceGetByPCIBusId(int *device, const char *id) {
    DRIVER_CALL(id != NULL && strcmp(id, EXEC_BUS_ID) == 0 ? GIVE(device, 0) : EXEC_INVALID_VALUE);
}

static exec_error uuid(char *to) {
    static const char own[16] = "assay-sim-sm-90";
    if (to == NULL)
        return EXEC_INVALID_VALUE;
    memcpy(to, own, sizeof own);
    return EXEC_SUCCESS;
}

EXPORT exec_error cuDeviceGetUuid_v2(char *to, int device) {
    DRIVER_CALL(device == 0 ? uuid(to) : EXEC_INVALID_DEVICE);
}
SAME_AS(cuDeviceGetUuid, cuDeviceGetUuid_v2);

EXPORT exec_error cuDeviceComputeCapability(int *major, int *minor, int device) {
    if (minor != NULL)
        *minor = 0;
    DRIVER_CALL(device != 0     ? EXEC_INVALID_DEVICE
                : minor != NULL ? GIVE(major, 9)
                                : EXEC_INVALID_VALUE);
}
EXPORT exec_error cuDeviceCanAccessPeer(int *can, int device, int peer) {
    DRIVER_CALL(device == 0 && peer == 0 ? GIVE(can, 0) : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cuProfilerStart(void) {
    DRIVER_CALL(EXEC_SUCCESS);
}
EXPORT exec_error cuProfilerStop(void) {
    DRIVER_CALL(EXEC_SUCCESS);
}

/* ---- contexts: one, by whatever name ---- */

static char context;
static _Thread_local void *current[16];
static _Thread_local int depth;

void *driver_context(void) {
    return &context;
}

bool driver_is_context(const void *c) {
    return c == &context;
}

static exec_error push(void *c) {
    if (depth == (int)(sizeof current / sizeof current[0]))
        return EXEC_OUT_OF_MEMORY;
    if (c != &context)
        return EXEC_INVALID_CONTEXT;
    current[depth++] = c;
    return EXEC_SUCCESS;
}

static exec_error pop(void **c) {
    if (depth == 0)
        return EXEC_INVALID_CONTEXT;
    --depth;
    if (c != NULL)
        *c = current[depth];
    return EXEC_SUCCESS;
}

static exec_error create(void **c, int device) {
    if (c == NULL || device != 0)
        return c == NULL ? EXEC_INVALID_VALUE : EXEC_INVALID_DEVICE;
    *c = &context;
    return push(&context);
}

EXPORT exec_error cuCtxCreate_v2(void **c, unsigned flags, int device) {
    (void)flags;
    DRIVER_CALL(create(c, device));
}
SAME_AS(cuCtxCreate, cuCtxCreate_v2);
EXPORT exec_error cuCtxCreate_v3(void **c, const void *affinity, int n, unsigned flags,
                                 int device) {
    (void)affinity, (void)n, (void)flags;
    DRIVER_CALL(create(c, device));
}
/* CUDA 13's takes parameters before the flags. */
EXPORT exec_error cuCtxCreate_v4(void **c, const void *parameters, unsigned flags, int device) {
    (void)parameters, (void)flags;
    DRIVER_CALL(create(c, device));
}
EXPORT exec_error cuCtxDestroy_v2(void *c) {
    exec_streams_synchronize();
    DRIVER_CALL(c == &context ? (depth > 0 ? pop(NULL) : EXEC_SUCCESS) : EXEC_INVALID_CONTEXT);
}
SAME_AS(cuCtxDestroy, cuCtxDestroy_v2);

/* The runtime makes its context a thread's own, where the program has set none. */
static void *now(void) {
    return depth > 0 ? current[depth - 1] : exec_call_by_runtime() ? &context : NULL;
}

static exec_error attach(void **c, unsigned flags) {
    if (c == NULL || flags != 0)
        return EXEC_INVALID_VALUE;
    *c = now();
    return *c != NULL ? EXEC_SUCCESS : EXEC_INVALID_CONTEXT;
}

EXPORT exec_error cuCtxAttach(void **c, unsigned flags) {
    DRIVER_CALL(attach(c, flags));
}
/* The context that there is lasts. */
EXPORT exec_error cuCtxDetach(void *c) {
    DRIVER_CALL(c == &context && now() != NULL ? EXEC_SUCCESS : EXEC_INVALID_CONTEXT);
}
EXPORT exec_error cuCtxPushCurrent_v2(void *c) {
    DRIVER_CALL(push(c));
}
SAME_AS(cuCtxPushCurrent, cuCtxPushCurrent_v2);
EXPORT exec_error cuCtxPopCurrent_v2(void **c) {
    DRIVER_CALL(pop(c));
}
SAME_AS(cuCtxPopCurrent, cuCtxPopCurrent_v2);

static exec_error set(void *c) {
    if (depth > 0)
        --depth;
    return c != NULL ? push(c) : EXEC_SUCCESS;
}

EXPORT exec_error cuCtxSetCurrent(void *c) {
    DRIVER_CALL(set(c));
}
EXPORT exec_error cuCtxGetCurrent(void **c) {
    DRIVER_CALL(GIVE(c, now()));
}
EXPORT exec_error cuCtxGetDevice(int *device) {
    DRIVER_CALL(GIVE(device, 0));
}

/* NULL: the current one. */
static bool is_any(const void *c) {
    return c == &context || (c == NULL && now() != NULL);
}

EXPORT exec_error cuCtxGetDevice_v2(int *device, void *c) {
    DRIVER_CALL(is_any(c) ? GIVE(device, 0) : EXEC_INVALID_CONTEXT);
}
EXPORT exec_error cuCtxGetId(void *c, unsigned long long *id) {
    DRIVER_CALL(is_any(c)   ? GIVE(id, 1)
                : c == NULL ? EXEC_INVALID_CONTEXT
                            : EXEC_CONTEXT_DESTROYED);
}
EXPORT exec_error cuCtxSynchronize_v2(void *c) {
    DRIVER_CALL(is_any(c) ? exec_sync_device() : EXEC_INVALID_CONTEXT);
}
EXPORT exec_error cuCtxGetApiVersion(void *c, unsigned *version) {
    (void)c;
    DRIVER_CALL(GIVE(version, VERSION));
}

enum { MAP_HOST = 8 }; /* which is always so */
static unsigned context_flags = MAP_HOST;

static exec_error set_flags(unsigned flags) {
    enum { KNOWN = 0xff };
    if (flags > KNOWN)
        return EXEC_INVALID_VALUE;
    context_flags = flags | MAP_HOST;
    return EXEC_SUCCESS;
}

EXPORT exec_error cuCtxSetFlags(unsigned flags) {
    DRIVER_CALL(set_flags(flags));
}
EXPORT exec_error cuCtxGetFlags(unsigned *flags) {
    DRIVER_CALL(GIVE(flags, context_flags));
}
EXPORT exec_error cuCtxSetCacheConfig(int preference) {
    (void)preference;
    DRIVER_CALL(EXEC_SUCCESS);
}
EXPORT exec_error cuCtxGetCacheConfig(int *preference) {
    DRIVER_CALL(GIVE(preference, 0));
}
EXPORT exec_error cuCtxSetSharedMemConfig(int width) {
    (void)width;
    DRIVER_CALL(EXEC_SUCCESS);
}
EXPORT exec_error cuCtxGetSharedMemConfig(int *width) {
    DRIVER_CALL(GIVE(width, 1)); /* of a bank: four bytes */
}
EXPORT exec_error cuCtxResetPersistingL2Cache(void) {
    DRIVER_CALL(EXEC_SUCCESS);
}
EXPORT exec_error cuCtxSetLimit(int limit, size_t value) {
    DRIVER_CALL(exec_set_limit(limit, value));
}
EXPORT exec_error cuCtxGetLimit(size_t *value, int limit) {
    DRIVER_CALL(exec_get_limit(limit, value));
}
EXPORT exec_error cuCtxSynchronize(void) {
    DRIVER_CALL(exec_sync_device());
}
EXPORT exec_error cuCtxGetStreamPriorityRange(int *lowest, int *highest) {
    if (lowest != NULL)
        *lowest = 0;
    if (highest != NULL)
        *highest = EXEC_HIGHEST_PRIORITY;
    DRIVER_CALL(EXEC_SUCCESS);
}

EXPORT exec_error cuDevicePrimaryCtxRetain(void **c, int device) {
    DRIVER_CALL(device == 0 ? GIVE(c, (void *)&context) : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cuDevicePrimaryCtxRelease_v2(int device) {
    DRIVER_CALL(device == 0 ? EXEC_SUCCESS : EXEC_INVALID_DEVICE);
}
SAME_AS(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);
EXPORT exec_error cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
    (void)flags;
    DRIVER_CALL(device == 0 ? EXEC_SUCCESS : EXEC_INVALID_DEVICE);
}
SAME_AS(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2);
EXPORT exec_error cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    if (flags != NULL)
        *flags = 0;
    DRIVER_CALL(device == 0 ? GIVE(active, 1) : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cuDevicePrimaryCtxReset_v2(int device) {
    exec_call_begin(__func__);
    exec_streams_synchronize();
    exec_device_found();
    exec_limits_reset();
    return exec_call_leave(device == 0 ? EXEC_SUCCESS : EXEC_INVALID_DEVICE);
}
SAME_AS(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2);

/* ---- errors ---- */

static exec_error describe(const char **to, const char *found) {
    if (to == NULL)
        return EXEC_INVALID_VALUE;
    *to = found;
    return found != NULL ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
}

EXPORT exec_error cuGetErrorName(int error, const char **name) {
    return describe(name, exec_error_driver_name(error));
}
EXPORT exec_error cuGetErrorString(int error, const char **to) {
    return describe(to, exec_error_driver_name(error) != NULL ? exec_error_text(error) : NULL);
}
