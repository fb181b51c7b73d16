#include "sim/exec/allocate.h"
#include "sim/exec/cudart/cudart.h"
#include "sim/exec/graph_memory.h"
#include "sim/exec/module.h"
#include "sim/exec/pool.h"

EXPORT exec_error cudaMalloc(void **memory, size_t bytes) {
    EXEC_CALL(exec_allocate_plain(memory, bytes));
}

EXPORT exec_error cudaMallocManaged(void **memory, size_t bytes, unsigned flags) {
    EXEC_CALL(flags == 1 || flags == 2 ? exec_allocate(memory, bytes, EXEC_MANAGED)
                                       : EXEC_INVALID_VALUE);
}

EXPORT exec_error cudaMallocHost(void **memory, size_t bytes) {
    EXEC_CALL(exec_allocate(memory, bytes, EXEC_PINNED));
}

EXPORT exec_error cudaHostAlloc(void **memory, size_t bytes, unsigned flags) {
    EXEC_CALL(flags <= 7 ? exec_allocate(memory, bytes, EXEC_PINNED) : EXEC_INVALID_VALUE);
}

EXPORT exec_error cudaMallocPitch(void **memory, size_t *pitch, size_t width, size_t rows) {
    EXEC_CALL(exec_allocate_rows(memory, pitch, width, rows));
}

static exec_error allocate_3d(pitched *p, size3 size) {
    if (p == NULL)
        return EXEC_INVALID_VALUE;
    *p = (pitched){.width = size.width, .rows = size.rows};
    return exec_allocate_rows(&p->memory, &p->pitch, size.width, size.rows * size.planes);
}

EXPORT exec_error cudaMalloc3D(pitched *p, size3 size) {
    EXEC_CALL(allocate_3d(p, size));
}

/* cudaFree waits for the device. */
static exec_error release(void *memory) {
    exec_streams_synchronize();
    exec_memory_promise(memory, false);
    return exec_deallocate(memory);
}

EXPORT exec_error cudaFree(void *memory) {
    EXEC_CALL(release(memory));
}

EXPORT exec_error cudaFreeHost(void *memory) {
    EXEC_CALL(release(memory));
}

/* ---- in a stream's order; the memory is there at once ---- */

EXPORT exec_error cudaMallocAsync(void **memory, size_t bytes, void *stream) {
    EXEC_CALL(exec_pool_allocate(exec_pool_current(), memory, bytes, stream));
}
SAME_AS(cudaMallocAsync_ptsz, cudaMallocAsync);

EXPORT exec_error cudaMallocFromPoolAsync(void **memory, size_t bytes, exec_pool *pool,
                                          void *stream) {
    EXEC_CALL(exec_pool_allocate(pool, memory, bytes, stream));
}
SAME_AS(cudaMallocFromPoolAsync_ptsz, cudaMallocFromPoolAsync);

static exec_error free_in(void *memory, void *stream) {
    exec_stream *s;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_submit_free(memory, s) : error;
}

EXPORT exec_error cudaFreeAsync(void *memory, void *stream) {
    EXEC_CALL(free_in(memory, stream));
}
SAME_AS(cudaFreeAsync_ptsz, cudaFreeAsync);

/* ---- pools ---- */

static exec_error give_pool(exec_pool **to, exec_pool *pool, int device) {
    if (device != 0 || to == NULL)
        return device != 0 ? EXEC_INVALID_DEVICE : EXEC_INVALID_VALUE;
    *to = pool;
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaDeviceGetDefaultMemPool(exec_pool **pool, int device) {
    EXEC_CALL(give_pool(pool, exec_pool_default(), device));
}
EXPORT exec_error cudaDeviceGetMemPool(exec_pool **pool, int device) {
    EXEC_CALL(device == 0 ? give_pool(pool, exec_pool_current(), 0) : EXEC_INVALID_VALUE);
}
EXPORT exec_error cudaDeviceSetMemPool(int device, exec_pool *pool) {
    EXEC_CALL(device == 0 ? exec_pool_set_current(pool) : EXEC_INVALID_VALUE);
}
EXPORT exec_error cudaMemPoolCreate(exec_pool **pool, const exec_pool_properties *properties) {
    EXEC_CALL(exec_pool_create(pool, properties));
}
EXPORT exec_error cudaMemPoolDestroy(exec_pool *pool) {
    EXEC_CALL(exec_pool_destroy(pool));
}
EXPORT exec_error cudaMemPoolTrimTo(exec_pool *pool, size_t bytes) {
    EXEC_CALL(exec_pool_trim(pool, bytes));
}
EXPORT exec_error cudaMemPoolGetAttribute(exec_pool *pool, int attribute, void *value) {
    EXEC_CALL(exec_pool_get(pool, attribute, value));
}
EXPORT exec_error cudaMemPoolSetAttribute(exec_pool *pool, int attribute, const void *value) {
    EXEC_CALL(exec_pool_set(pool, attribute, value));
}
EXPORT exec_error cudaMemPoolSetAccess(exec_pool *pool, const exec_pool_access *access, size_t n) {
    EXEC_CALL(exec_pool_set_access(pool, access, n));
}
EXPORT exec_error cudaMemPoolGetAccess(int *flags, exec_pool *pool, const exec_location *place) {
    EXEC_CALL(exec_pool_get_access(pool, place, flags));
}

/* ---- memory of the host ---- */

EXPORT exec_error cudaHostRegister(void *memory, size_t bytes, unsigned flags) {
    (void)flags;
    EXEC_CALL(exec_host_register(memory, bytes));
}

EXPORT exec_error cudaHostUnregister(void *memory) {
    EXEC_CALL(exec_host_unregister(memory));
}

static exec_error device_pointer(void **device, void *host) {
    if (device == NULL || exec_place_of(host) == EXEC_PLACE_OWN)
        return EXEC_INVALID_VALUE;
    *device = host;
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
    (void)flags;
    EXEC_CALL(device_pointer(device, host));
}

static exec_error host_flags(unsigned *flags, const void *host) {
    if (flags == NULL || exec_place_of(host) != EXEC_PLACE_HOST)
        return EXEC_INVALID_VALUE;
    *flags = 2; /* mapped */
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaHostGetFlags(unsigned *flags, void *host) {
    EXEC_CALL(host_flags(flags, host));
}

/* ---- what there is ---- */

typedef struct pointer_attributes {
    int place, device;
    const void *device_pointer, *host_pointer;
#if EXEC_CUDART >= 13
    long reserved[8];
#endif
} pointer_attributes;

static exec_error attributes_of(pointer_attributes *a, const void *address) {
    if (a == NULL)
        return EXEC_INVALID_VALUE;
    const exec_place place = exec_place_of(address);
    *a = (pointer_attributes){.place = (int)place, .device = place == EXEC_PLACE_OWN ? -2 : 0};
    if (place != EXEC_PLACE_OWN && exec_may_access(address))
        a->device_pointer = address;
    if (place != EXEC_PLACE_DEVICE)
        a->host_pointer = address;
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaPointerGetAttributes(pointer_attributes *attributes, const void *address) {
    EXEC_CALL(attributes_of(attributes, address));
}

static exec_error memory_info(size_t *left, size_t *total) {
    if (left == NULL || total == NULL)
        return EXEC_INVALID_VALUE;
    *left = exec_memory_left();
    *total = EXEC_DEVICE_BYTES;
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaMemGetInfo(size_t *left, size_t *total) {
    EXEC_CALL(memory_info(left, total));
}

EXPORT exec_error cudaStreamAttachMemAsync(void *stream, void *memory, size_t bytes,
                                           unsigned flags) {
    (void)stream, (void)bytes, (void)flags;
    EXEC_CALL(exec_memory_find(memory) != NULL ? EXEC_SUCCESS : EXEC_INVALID_VALUE);
}
SAME_AS(cudaStreamAttachMemAsync_ptsz, cudaStreamAttachMemAsync);

/* ---- variables ---- */

static exec_error symbol_address(void **address, const void *symbol) {
    exec_variable *v;
    if (address == NULL)
        return EXEC_INVALID_VALUE;
    const exec_error error = exec_variable_of(symbol, &v);
    if (error == EXEC_SUCCESS)
        *address = v->address;
    return error;
}

EXPORT exec_error cudaGetSymbolAddress(void **address, const void *symbol) {
    EXEC_CALL(symbol_address(address, symbol));
}

static exec_error symbol_size(size_t *bytes, const void *symbol) {
    exec_variable *v;
    if (bytes == NULL)
        return EXEC_INVALID_VALUE;
    const exec_error error = exec_variable_of(symbol, &v);
    if (error == EXEC_SUCCESS)
        *bytes = v->bytes;
    return error;
}

EXPORT exec_error cudaGetSymbolSize(size_t *bytes, const void *symbol) {
    EXEC_CALL(symbol_size(bytes, symbol));
}
