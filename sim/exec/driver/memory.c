#include "sim/exec/advice.h"
#include "sim/exec/driver/driver.h"
#include "sim/exec/stream.h"
#include "sim/exec/virtual.h"

static exec_error allocate(device_pointer *memory, size_t bytes, exec_memory_kind kind) {
    void *got = NULL;
    if (memory == NULL || bytes == 0)
        return EXEC_INVALID_VALUE;
    const exec_error error =
        kind == EXEC_DEVICE ? exec_allocate_plain(&got, bytes) : exec_allocate(&got, bytes, kind);
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
    const exec_error error = memory != NULL && width > 0 && n > 0
                                 ? exec_allocate_rows(&got, pitch, width, n)
                                 : EXEC_INVALID_VALUE;
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
    void *begin;
    size_t n;
    if (exec_place_of(at(memory)) == EXEC_PLACE_OWN || !exec_piece_of(at(memory), &begin, &n))
        return EXEC_NOT_FOUND;
    if (a != NULL && a->granule != NULL) { /* a range: the mapping in it, if it can be accessed */
        if (!exec_may_access(at(memory)))
            return EXEC_NOT_FOUND;
        (void)exec_mapping_of(at(memory), &begin, &n);
    }
    if (low != NULL)
        *low = (device_pointer)(uintptr_t)begin;
    if (bytes != NULL)
        *bytes = n;
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
SAME_AS(cuMemHostRegister, cuMemHostRegister_v2);
EXPORT exec_error cuMemHostUnregister(void *memory) {
    DRIVER_CALL(exec_host_unregister(memory));
}

static exec_error host_flags(unsigned *flags, const void *host) {
    enum { MAPPED = 2 };
    return exec_place_of(host) == EXEC_PLACE_HOST ? GIVE(flags, MAPPED) : EXEC_INVALID_VALUE;
}

EXPORT exec_error cuMemHostGetFlags(unsigned *flags, void *host) {
    DRIVER_CALL(host_flags(flags, host));
}
EXPORT exec_error cuMemHostGetDevicePointer_v2(device_pointer *device, void *host, unsigned flags) {
    (void)flags;
    DRIVER_CALL(exec_place_of(host) != EXEC_PLACE_OWN
                    ? GIVE(device, (device_pointer)(uintptr_t)host)
                    : EXEC_INVALID_VALUE);
}

/* ---- hints about managed memory ---- */

/* CUDA 12.2's second forms have a location and flags in place of the device. */
EXPORT exec_error cuMemPrefetchAsync(device_pointer memory, size_t bytes, int device,
                                     void *stream) {
    DRIVER_CALL(exec_prefetch(at(memory), bytes, exec_hint_of_device(device), 0, stream));
}
SAME_AS(cuMemPrefetchAsync_ptsz, cuMemPrefetchAsync);
EXPORT exec_error cuMemPrefetchAsync_v2(device_pointer memory, size_t bytes, exec_location to,
                                        unsigned flags, void *stream) {
    DRIVER_CALL(exec_prefetch(at(memory), bytes, to, flags, stream));
}
SAME_AS(cuMemPrefetchAsync_v2_ptsz, cuMemPrefetchAsync_v2);
EXPORT exec_error cuMemAdvise(device_pointer memory, size_t bytes, int advice, int device) {
    DRIVER_CALL(exec_advise(at(memory), bytes, advice, exec_hint_of_device(device)));
}
EXPORT exec_error cuMemAdvise_v2(device_pointer memory, size_t bytes, int advice,
                                 exec_location to) {
    DRIVER_CALL(exec_advise(at(memory), bytes, advice, to));
}

EXPORT exec_error cuMemRangeGetAttribute(void *to, size_t room, int attribute,
                                         device_pointer memory, size_t bytes) {
    DRIVER_CALL(exec_range_get(to, room, attribute, at(memory), bytes));
}
EXPORT exec_error cuMemRangeGetAttributes(void **to, size_t *room, int *attributes, size_t n,
                                          device_pointer memory, size_t bytes) {
    DRIVER_CALL(exec_range_get_all(to, room, attributes, n, at(memory), bytes));
}
