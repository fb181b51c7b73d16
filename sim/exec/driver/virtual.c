/* Virtual memory management. */
#include "sim/exec/virtual.h"

#include "sim/exec/allocate.h"
#include "sim/exec/driver/driver.h"
#include "sim/exec/handles.h"

typedef struct properties {
    int type, handle_types;
    exec_location place;
    void *windows;
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char reserved[4];
} properties;

enum { PINNED = 1 };

static exec_error check(const properties *p) {
    if (p == NULL || p->type != PINNED)
        return EXEC_INVALID_VALUE;
    if (p->place.type != EXEC_LOCATION_DEVICE) {
        exec_remark("%s: only memory of the device is simulated", exec_call_name());
        return EXEC_NOT_SUPPORTED;
    }
    return p->place.number == 0 ? EXEC_SUCCESS : EXEC_INVALID_DEVICE;
}

static exec_error granularity(size_t *bytes, const properties *p, int option) {
    const exec_error error = check(p);
    if (error != EXEC_SUCCESS)
        return error;
    return option == 0 || option == 1 ? GIVE(bytes, EXEC_GRANULE) : EXEC_INVALID_VALUE;
}

EXPORT exec_error cuMemGetAllocationGranularity(size_t *bytes, const properties *p, int option) {
    DRIVER_CALL(granularity(bytes, p, option));
}

static exec_error reserve(device_pointer *memory, size_t bytes, size_t alignment,
                          device_pointer hint, uint64_t flags) {
    void *got = NULL;
    if (memory == NULL || flags != 0)
        return EXEC_INVALID_VALUE;
    const exec_error error = exec_reserve(&got, bytes, alignment, at(hint));
    *memory = (device_pointer)(uintptr_t)got;
    return error;
}

EXPORT exec_error cuMemAddressReserve(device_pointer *memory, size_t bytes, size_t alignment,
                                      device_pointer hint, unsigned long long flags) {
    DRIVER_CALL(reserve(memory, bytes, alignment, hint, flags));
}
EXPORT exec_error cuMemAddressFree(device_pointer memory, size_t bytes) {
    DRIVER_CALL(exec_unreserve(at(memory), bytes));
}

static exec_error create(exec_physical **handle, size_t bytes, const properties *p,
                         uint64_t flags) {
    const exec_error error = check(p);
    if (error != EXEC_SUCCESS || handle == NULL || flags != 0)
        return error != EXEC_SUCCESS ? error : EXEC_INVALID_VALUE;
    if (p->handle_types != 0 || p->usage != 0) {
        exec_remark("%s: memory for other processes or for arrays is not simulated",
                    exec_call_name());
        return EXEC_NOT_SUPPORTED;
    }
    return exec_physical_create(handle, bytes);
}

EXPORT exec_error cuMemCreate(exec_physical **handle, size_t bytes, const properties *p,
                              unsigned long long flags) {
    DRIVER_CALL(create(handle, bytes, p, flags));
}
EXPORT exec_error cuMemRelease(exec_physical *handle) {
    DRIVER_CALL(exec_physical_release(handle));
}
EXPORT exec_error cuMemRetainAllocationHandle(exec_physical **handle, void *address) {
    DRIVER_CALL(handle != NULL ? exec_physical_retain(handle, address) : EXEC_INVALID_VALUE);
}
EXPORT exec_error cuMemGetAllocationPropertiesFromHandle(properties *p, exec_physical *handle) {
    const properties own = {.type = PINNED, .place = {EXEC_LOCATION_DEVICE, 0}};
    DRIVER_CALL(exec_handle_is(handle, EXEC_HANDLE_PHYSICAL) ? GIVE(p, own) : EXEC_INVALID_VALUE);
}
EXPORT exec_error cuMemMap(device_pointer memory, size_t bytes, size_t offset,
                           exec_physical *handle, unsigned long long flags) {
    DRIVER_CALL(flags == 0 ? exec_map(at(memory), bytes, offset, handle) : EXEC_INVALID_VALUE);
}
EXPORT exec_error cuMemUnmap(device_pointer memory, size_t bytes) {
    DRIVER_CALL(exec_unmap(at(memory), bytes));
}

/* ---- access, by the number of its flags ---- */

static const int flags_of[] = {[EXEC_NO_ACCESS] = 0, [EXEC_READ] = 1, [EXEC_READ_WRITE] = 3};

typedef struct description {
    exec_location place;
    int flags;
} description;

static exec_error set(void *memory, size_t bytes, const description *d, size_t n) {
    exec_access access = EXEC_UNMAPPED;
    if (d == NULL || n == 0)
        return EXEC_INVALID_VALUE;
    for (size_t i = 0; i < n; ++i) {
        if (d[i].place.type != EXEC_LOCATION_DEVICE)
            return EXEC_NOT_SUPPORTED; /* the memory is the device's */
        if (d[i].place.number != 0)
            return EXEC_INVALID_VALUE;
        access = EXEC_UNMAPPED;
        for (int a = EXEC_NO_ACCESS; a <= EXEC_READ_WRITE; ++a)
            if (flags_of[a] == d[i].flags)
                access = (exec_access)a;
        if (access == EXEC_UNMAPPED)
            return EXEC_INVALID_VALUE;
    }
    return exec_set_access(memory, bytes, access);
}

EXPORT exec_error cuMemSetAccess(device_pointer memory, size_t bytes, const description *d,
                                 size_t n) {
    DRIVER_CALL(set(at(memory), bytes, d, n));
}

static exec_error get(unsigned long long *flags, const exec_location *place, void *memory) {
    const exec_allocation *range = exec_memory_range(memory, 1);
    if (flags == NULL || place == NULL)
        return EXEC_INVALID_VALUE;
    *flags = 0;
    if (range == NULL || exec_memory_find(memory) == NULL)
        return EXEC_INVALID_VALUE;
    if (place->type == EXEC_LOCATION_DEVICE && place->number != 0)
        return EXEC_INVALID_DEVICE;
    if (place->type != EXEC_LOCATION_DEVICE) /* it has no access */
        return place->type != 0 ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
    const size_t offset = (size_t)((const char *)memory - range->low);
    *flags = (unsigned long long)flags_of[range->granule[offset / EXEC_GRANULE]];
    return EXEC_SUCCESS;
}

EXPORT exec_error cuMemGetAccess(unsigned long long *flags, const exec_location *place,
                                 device_pointer memory) {
    DRIVER_CALL(get(flags, place, at(memory)));
}
