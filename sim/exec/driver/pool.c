/* Memory pools, and memory in a stream's order. */
#include "sim/exec/pool.h"

#include "sim/exec/driver/driver.h"
#include "sim/exec/work.h"

static exec_error allocate(device_pointer *memory, size_t bytes, exec_pool *pool, void *stream) {
    void *got = NULL;
    if (memory == NULL)
        return EXEC_INVALID_VALUE;
    const exec_error error = exec_pool_allocate(pool, &got, bytes, stream);
    *memory = (device_pointer)(uintptr_t)got;
    return error;
}

EXPORT exec_error cuMemAllocAsync(device_pointer *memory, size_t bytes, void *stream) {
    DRIVER_CALL(allocate(memory, bytes, exec_pool_current(), stream));
}
SAME_AS(cuMemAllocAsync_ptsz, cuMemAllocAsync);
EXPORT exec_error cuMemAllocFromPoolAsync(device_pointer *memory, size_t bytes, exec_pool *pool,
                                          void *stream) {
    DRIVER_CALL(allocate(memory, bytes, pool, stream));
}
SAME_AS(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync);

static exec_error free_in(void *memory, void *stream) {
    exec_stream *s;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_submit_free(memory, s) : error;
}

EXPORT exec_error cuMemFreeAsync(device_pointer memory, void *stream) {
    DRIVER_CALL(free_in(at(memory), stream));
}
SAME_AS(cuMemFreeAsync_ptsz, cuMemFreeAsync);

/* ---- the device's pools ---- */

EXPORT exec_error cuDeviceGetDefaultMemPool(exec_pool **pool, int device) {
    DRIVER_CALL(device == 0 ? GIVE(pool, exec_pool_default()) : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cuDeviceGetMemPool(exec_pool **pool, int device) {
    DRIVER_CALL(device == 0 ? GIVE(pool, exec_pool_current()) : EXEC_INVALID_VALUE);
}
EXPORT exec_error cuDeviceSetMemPool(int device, exec_pool *pool) {
    DRIVER_CALL(device == 0 ? exec_pool_set_current(pool) : EXEC_INVALID_VALUE);
}

/* CUDA 13's forms, by place. */
static exec_error give_at(exec_pool **to, exec_pool *pool, const exec_location *place, int type) {
    const exec_error error = exec_pool_at(place, type);
    if (error != EXEC_SUCCESS)
        return error;
    return GIVE(to, pool);
}

EXPORT exec_error cuMemGetDefaultMemPool(exec_pool **pool, const exec_location *place, int type) {
    DRIVER_CALL(give_at(pool, exec_pool_default(), place, type));
}
EXPORT exec_error cuMemGetMemPool(exec_pool **pool, const exec_location *place, int type) {
    DRIVER_CALL(give_at(pool, exec_pool_current(), place, type));
}

static exec_error set_at(const exec_location *place, int type, exec_pool *pool) {
    const exec_error error = exec_pool_at(place, type);
    return error == EXEC_SUCCESS ? exec_pool_set_current(pool) : error;
}

EXPORT exec_error cuMemSetMemPool(const exec_location *place, int type, exec_pool *pool) {
    DRIVER_CALL(set_at(place, type, pool));
}

/* ---- pools ---- */

EXPORT exec_error cuMemPoolCreate(exec_pool **pool, const exec_pool_properties *properties) {
    DRIVER_CALL(exec_pool_create(pool, properties));
}
EXPORT exec_error cuMemPoolDestroy(exec_pool *pool) {
    DRIVER_CALL(exec_pool_destroy(pool));
}
EXPORT exec_error cuMemPoolTrimTo(exec_pool *pool, size_t bytes) {
    DRIVER_CALL(exec_pool_trim(pool, bytes));
}
EXPORT exec_error cuMemPoolGetAttribute(exec_pool *pool, int attribute, void *value) {
    DRIVER_CALL(exec_pool_get(pool, attribute, value));
}
EXPORT exec_error cuMemPoolSetAttribute(exec_pool *pool, int attribute, const void *value) {
    DRIVER_CALL(exec_pool_set(pool, attribute, value));
}
EXPORT exec_error cuMemPoolSetAccess(exec_pool *pool, const exec_pool_access *access, size_t n) {
    DRIVER_CALL(exec_pool_set_access(pool, access, n));
}
EXPORT exec_error cuMemPoolGetAccess(int *flags, exec_pool *pool, const exec_location *place) {
    DRIVER_CALL(exec_pool_get_access(pool, place, flags));
}
