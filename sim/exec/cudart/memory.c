#include "sim/exec/allocate.h"
#include "sim/exec/cudart/cudart.h"
#include "sim/exec/graph_memory.h"
#include "sim/exec/module.h"

EXPORT exec_error cudaMalloc(void **memory, size_t bytes) {
    EXEC_CALL(exec_allocate(memory, bytes, EXEC_DEVICE));
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

static exec_error allocate_in(void **memory, size_t bytes, void *stream) {
    exec_stream *s;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_allocate_in(memory, bytes, s) : error;
}

EXPORT exec_error cudaMallocAsync(void **memory, size_t bytes, void *stream) {
    EXEC_CALL(allocate_in(memory, bytes, stream));
}
SAME_AS(cudaMallocAsync_ptsz, cudaMallocAsync);

EXPORT exec_error cudaMallocFromPoolAsync(void **memory, size_t bytes, void *pool, void *stream) {
    (void)pool;
    EXEC_CALL(allocate_in(memory, bytes, stream));
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

/* Pools: there is one, whose settings change nothing. */
static char the_pool;

static exec_error give_pool(void **pool) {
    if (pool == NULL)
        return EXEC_INVALID_VALUE;
    *pool = &the_pool;
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaDeviceGetDefaultMemPool(void **pool, int device) {
    EXEC_CALL(device == 0 ? give_pool(pool) : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cudaDeviceGetMemPool(void **pool, int device) {
    EXEC_CALL(device == 0 ? give_pool(pool) : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cudaDeviceSetMemPool(int device, void *pool) {
    (void)pool;
    EXEC_CALL(device == 0 ? EXEC_SUCCESS : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cudaMemPoolCreate(void **pool, const void *properties) {
    (void)properties;
    EXEC_CALL(give_pool(pool));
}
EXPORT exec_error cudaMemPoolDestroy(void *pool) {
    EXEC_CALL(pool == &the_pool ? EXEC_SUCCESS : EXEC_INVALID_VALUE);
}
EXPORT exec_error cudaMemPoolTrimTo(void *pool, size_t bytes) {
    (void)bytes;
    EXEC_CALL(pool == &the_pool ? EXEC_SUCCESS : EXEC_INVALID_VALUE);
}
EXPORT exec_error cudaMemPoolSetAttribute(void *pool, int attribute, void *value) {
    (void)attribute, (void)value;
    EXEC_CALL(pool == &the_pool ? EXEC_SUCCESS : EXEC_INVALID_VALUE);
}
EXPORT exec_error cudaMemPoolSetAccess(void *pool, const void *access, size_t n) {
    (void)access, (void)n;
    EXEC_CALL(pool == &the_pool ? EXEC_SUCCESS : EXEC_INVALID_VALUE);
}

/* What a pool is asked, as cudaMemPoolAttr numbers it: three switches (int), then sizes. */
static exec_error pool_attribute(const void *pool, int attribute, void *value) {
    enum { SWITCHES = 3, ATTRIBUTES = 8, THRESHOLD = 4 };
    if (pool != &the_pool || value == NULL || attribute < 1 || attribute > ATTRIBUTES)
        return EXEC_INVALID_VALUE;
    if (attribute <= SWITCHES)
        *(int *)value = 1;
    else
        *(uint64_t *)value = attribute == THRESHOLD ? 0 : EXEC_DEVICE_BYTES - exec_memory_left();
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaMemPoolGetAttribute(void *pool, int attribute, void *value) {
    EXEC_CALL(pool_attribute(pool, attribute, value));
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
    if (place != EXEC_PLACE_OWN)
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

/* ---- hints: managed memory is everywhere at once ---- */

static exec_error hint(const void *memory, size_t bytes) {
    const exec_allocation *a = exec_memory_find(memory);
    if (a == NULL || a->kind == EXEC_DEVICE || bytes == 0)
        return EXEC_INVALID_VALUE;
    return bytes <= a->bytes - (size_t)((const char *)memory - a->low) ? EXEC_SUCCESS
                                                                       : EXEC_INVALID_VALUE;
}

typedef struct location {
    int type, number;
} location;

#if EXEC_CUDART >= 13
EXPORT exec_error cudaMemPrefetchAsync(const void *memory, size_t bytes, location to,
                                       unsigned flags, void *stream) {
    (void)to, (void)flags, (void)stream;
    EXEC_CALL(hint(memory, bytes));
}
EXPORT exec_error cudaMemAdvise(const void *memory, size_t bytes, int advice, location to) {
    (void)advice, (void)to;
    EXEC_CALL(hint(memory, bytes));
}
#else
EXPORT exec_error cudaMemPrefetchAsync(const void *memory, size_t bytes, int device, void *stream) {
    (void)device, (void)stream;
    EXEC_CALL(hint(memory, bytes));
}
EXPORT exec_error cudaMemAdvise(const void *memory, size_t bytes, int advice, int device) {
    (void)advice, (void)device;
    EXEC_CALL(hint(memory, bytes));
}
#if EXEC_CUDART == 12
EXPORT exec_error cudaMemPrefetchAsync_v2(const void *memory, size_t bytes, location to,
                                          unsigned flags, void *stream) {
    (void)to, (void)flags, (void)stream;
    EXEC_CALL(hint(memory, bytes));
}
SAME_AS(cudaMemPrefetchAsync_v2_ptsz, cudaMemPrefetchAsync_v2);
EXPORT exec_error cudaMemAdvise_v2(const void *memory, size_t bytes, int advice, location to) {
    (void)advice, (void)to;
    EXEC_CALL(hint(memory, bytes));
}
#endif
#endif
SAME_AS(cudaMemPrefetchAsync_ptsz, cudaMemPrefetchAsync);

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
