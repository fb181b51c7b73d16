#include "sim/exec/allocate.h"
#include "sim/exec/copy.h"
#include "sim/exec/driver/driver.h"
#include "sim/exec/graph_memory.h"
#include "sim/exec/work.h"

static exec_error allocate(device_pointer *memory, size_t bytes, exec_memory_kind kind) {
    void *got = NULL;
    if (memory == NULL || bytes == 0)
        return EXEC_INVALID_VALUE;
    const exec_error error = exec_allocate(&got, bytes, kind);
    *memory = (device_pointer)(uintptr_t)got;
    return error;
}

EXPORT exec_error cuMemAlloc_v2(device_pointer *memory, size_t bytes) {
    DRIVER_CALL(allocate(memory, bytes, EXEC_DEVICE));
}
EXPORT exec_error cuMemAllocManaged(device_pointer *memory, size_t bytes, unsigned flags) {
    (void)flags;
    DRIVER_CALL(allocate(memory, bytes, EXEC_MANAGED));
}
EXPORT exec_error cuMemAllocHost_v2(void **memory, size_t bytes) {
    DRIVER_CALL(exec_allocate(memory, bytes, EXEC_PINNED));
}
EXPORT exec_error cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
    (void)flags;
    DRIVER_CALL(exec_allocate(memory, bytes, EXEC_PINNED));
}

static exec_error rows(device_pointer *memory, size_t *pitch, size_t width, size_t n) {
    void *got = NULL;
    const exec_error error =
        memory != NULL ? exec_allocate_rows(&got, pitch, width, n) : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        *memory = (device_pointer)(uintptr_t)got;
    return error;
}

EXPORT exec_error cuMemAllocPitch_v2(device_pointer *memory, size_t *pitch, size_t width, size_t n,
                                     unsigned element) {
    (void)element;
    DRIVER_CALL(rows(memory, pitch, width, n));
}

static exec_error release(void *memory) {
    exec_streams_synchronize();
    exec_memory_promise(memory, false);
    return exec_deallocate(memory);
}

EXPORT exec_error cuMemFree_v2(device_pointer memory) {
    DRIVER_CALL(release(at(memory)));
}
EXPORT exec_error cuMemFreeHost(void *memory) {
    DRIVER_CALL(release(memory));
}
static exec_error allocate_in(device_pointer *memory, size_t bytes, void *stream) {
    exec_stream *s;
    void *got = NULL;
    exec_error error = memory != NULL ? exec_stream_of(stream, &s) : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        error = exec_allocate_in(&got, bytes, s);
    if (error == EXEC_SUCCESS)
        *memory = (device_pointer)(uintptr_t)got;
    return error;
}

EXPORT exec_error cuMemAllocAsync(device_pointer *memory, size_t bytes, void *stream) {
    DRIVER_CALL(allocate_in(memory, bytes, stream));
}

static exec_error free_in(void *memory, void *stream) {
    exec_stream *s;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_submit_free(memory, s) : error;
}

EXPORT exec_error cuMemFreeAsync(device_pointer memory, void *stream) {
    DRIVER_CALL(free_in(at(memory), stream));
}

static exec_error info(size_t *left, size_t *total) {
    if (left == NULL || total == NULL)
        return EXEC_INVALID_VALUE;
    *left = exec_memory_left();
    *total = EXEC_DEVICE_BYTES;
    return EXEC_SUCCESS;
}

EXPORT exec_error cuMemGetInfo_v2(size_t *left, size_t *total) {
    DRIVER_CALL(info(left, total));
}

static exec_error range(device_pointer *low, size_t *bytes, device_pointer memory) {
    const exec_allocation *a = exec_memory_find(at(memory));
    if (a == NULL)
        return EXEC_NOT_FOUND;
    if (low != NULL)
        *low = (device_pointer)(uintptr_t)a->low;
    if (bytes != NULL)
        *bytes = a->bytes;
    return EXEC_SUCCESS;
}

EXPORT exec_error cuMemGetAddressRange_v2(device_pointer *low, size_t *bytes,
                                          device_pointer memory) {
    DRIVER_CALL(range(low, bytes, memory));
}
EXPORT exec_error cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags) {
    (void)flags;
    DRIVER_CALL(exec_host_register(memory, bytes));
}
EXPORT exec_error cuMemHostUnregister(void *memory) {
    DRIVER_CALL(exec_host_unregister(memory));
}
EXPORT exec_error cuMemHostGetDevicePointer_v2(device_pointer *device, void *host, unsigned flags) {
    (void)flags;
    DRIVER_CALL(exec_place_of(host) != EXEC_PLACE_OWN
                    ? GIVE(device, (device_pointer)(uintptr_t)host)
                    : EXEC_INVALID_VALUE);
}

/* ---- copies ---- */

static exec_error copy(void *to, const void *from, size_t bytes, int direction, void *stream,
                       bool now) {
    exec_stream *s;
    const exec_block b = exec_bytes(to, from, bytes);
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_copy(&b, direction, s, now) : error;
}

EXPORT exec_error cuMemcpy(device_pointer to, device_pointer from, size_t bytes) {
    DRIVER_CALL(copy(at(to), at(from), bytes, EXEC_ANY_DIRECTION, NULL, true));
}
EXPORT exec_error cuMemcpyAsync(device_pointer to, device_pointer from, size_t bytes,
                                void *stream) {
    DRIVER_CALL(copy(at(to), at(from), bytes, EXEC_ANY_DIRECTION, stream, false));
}
EXPORT exec_error cuMemcpyHtoD_v2(device_pointer to, const void *from, size_t bytes) {
    DRIVER_CALL(copy(at(to), from, bytes, EXEC_HOST_TO_DEVICE, NULL, true));
}
EXPORT exec_error cuMemcpyHtoDAsync_v2(device_pointer to, const void *from, size_t bytes,
                                       void *stream) {
    DRIVER_CALL(copy(at(to), from, bytes, EXEC_HOST_TO_DEVICE, stream, false));
}
EXPORT exec_error cuMemcpyDtoH_v2(void *to, device_pointer from, size_t bytes) {
    DRIVER_CALL(copy(to, at(from), bytes, EXEC_DEVICE_TO_HOST, NULL, true));
}
EXPORT exec_error cuMemcpyDtoHAsync_v2(void *to, device_pointer from, size_t bytes, void *stream) {
    DRIVER_CALL(copy(to, at(from), bytes, EXEC_DEVICE_TO_HOST, stream, false));
}
EXPORT exec_error cuMemcpyDtoD_v2(device_pointer to, device_pointer from, size_t bytes) {
    DRIVER_CALL(copy(at(to), at(from), bytes, EXEC_DEVICE_TO_DEVICE, NULL, true));
}
EXPORT exec_error cuMemcpyDtoDAsync_v2(device_pointer to, device_pointer from, size_t bytes,
                                       void *stream) {
    DRIVER_CALL(copy(at(to), at(from), bytes, EXEC_DEVICE_TO_DEVICE, stream, false));
}

/* ---- fills ---- */

static exec_error fill(device_pointer to, uint32_t value, size_t element, size_t n, void *stream,
                       bool now) {
    exec_stream *s;
    const exec_fill f = {at(to), value, element, n, 1, 1, n * element, n * element};
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_set(&f, s, now) : error;
}

EXPORT exec_error cuMemsetD8_v2(device_pointer to, unsigned char value, size_t n) {
    DRIVER_CALL(fill(to, value, 1, n, NULL, true));
}
EXPORT exec_error cuMemsetD16_v2(device_pointer to, unsigned short value, size_t n) {
    DRIVER_CALL(fill(to, value, 2, n, NULL, true));
}
EXPORT exec_error cuMemsetD32_v2(device_pointer to, unsigned value, size_t n) {
    DRIVER_CALL(fill(to, value, 4, n, NULL, true));
}
EXPORT exec_error cuMemsetD8Async(device_pointer to, unsigned char value, size_t n, void *stream) {
    DRIVER_CALL(fill(to, value, 1, n, stream, false));
}
EXPORT exec_error cuMemsetD16Async(device_pointer to, unsigned short value, size_t n,
                                   void *stream) {
    DRIVER_CALL(fill(to, value, 2, n, stream, false));
}
EXPORT exec_error cuMemsetD32Async(device_pointer to, unsigned value, size_t n, void *stream) {
    DRIVER_CALL(fill(to, value, 4, n, stream, false));
}

/* ---- what an address is ---- */

enum {
    OF_CONTEXT = 1,
    OF_TYPE,
    OF_DEVICE,
    OF_HOST,
    OF_MANAGED = 8,
    OF_ORDINAL,
    OF_LOW = 11,
    OF_BYTES
};
enum { TYPE_HOST = 1, TYPE_DEVICE = 2 };

static exec_error attribute(void *to, int which, device_pointer p) {
    const exec_place place = exec_place_of(at(p));
    const exec_allocation *a = exec_memory_find(at(p));
    if (to == NULL || place == EXEC_PLACE_OWN)
        return EXEC_INVALID_VALUE;
    switch (which) {
    case OF_TYPE:
        *(unsigned *)to = place == EXEC_PLACE_HOST ? TYPE_HOST : TYPE_DEVICE;
        return EXEC_SUCCESS;
    case OF_DEVICE:
    case OF_HOST:
        *(device_pointer *)to = p;
        return which == OF_HOST && place == EXEC_PLACE_DEVICE ? EXEC_INVALID_VALUE : EXEC_SUCCESS;
    case OF_MANAGED:
        *(unsigned *)to = place == EXEC_PLACE_MANAGED;
        return EXEC_SUCCESS;
    case OF_ORDINAL:
        *(int *)to = 0;
        return EXEC_SUCCESS;
    case OF_LOW:
        *(device_pointer *)to = a != NULL ? (device_pointer)(uintptr_t)a->low : p;
        return EXEC_SUCCESS;
    case OF_BYTES:
        *(size_t *)to = a != NULL ? a->bytes : 0;
        return EXEC_SUCCESS;
    default:
        return EXEC_NOT_SUPPORTED;
    }
}

EXPORT exec_error cuPointerGetAttribute(void *to, int which, device_pointer p) {
    DRIVER_CALL(attribute(to, which, p));
}
