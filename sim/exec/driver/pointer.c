/* What an address is. */
#include "sim/exec/allocate.h"
#include "sim/exec/driver/driver.h"
#include "sim/exec/pool.h"
#include "sim/exec/virtual.h"

#include <string.h>

enum {
    OF_CONTEXT = 1,
    OF_TYPE,
    OF_DEVICE,
    OF_HOST,
    OF_SYNC = 6,
    OF_BUFFER,
    OF_MANAGED,
    OF_ORDINAL,
    OF_IPC,
    OF_LOW,
    OF_BYTES,
    OF_MAPPED,
    OF_HANDLE_TYPES,
    OF_RDMA,
    OF_ACCESS,
    OF_POOL,
    OF_MAPPING_BYTES,
    OF_MAPPING_LOW,
    OF_BLOCK,
    OF_DECOMPRESSION
};
enum { NO_DEVICE = -2 };
enum { TYPE_HOST = 1, TYPE_DEVICE = 2 };

static exec_error give(void *to, const void *value, size_t bytes) {
    memcpy(to, value, bytes);
    return EXEC_SUCCESS;
}

static exec_error give_word(void *to, uint64_t value) {
    return give(to, &value, sizeof value);
}

/* What CUDA calls a boolean has four bytes, too: programs take it as an int. */
static exec_error give_number(void *to, unsigned value) {
    return give(to, &value, sizeof value);
}

/* The device's access, as CU_POINTER_ATTRIBUTE_ACCESS_FLAGS has it. */
static unsigned access_of(const exec_allocation *a, const char *address) {
    enum { READ = 1, READ_WRITE = 3 };
    if (a == NULL || a->granule == NULL)
        return READ_WRITE;
    const int access = a->granule[(size_t)(address - a->low) / EXEC_GRANULE];
    return access == EXEC_READ_WRITE ? READ_WRITE : access == EXEC_READ ? READ : 0;
}

/* Memory of cuMemAlloc and its kin: not of a pool, a graph, or reserved addresses. */
static bool is_plain(const exec_allocation *a) {
    return a != NULL && a->kind == EXEC_DEVICE && a->granule == NULL && a->graph == NULL &&
           exec_pool_of(a->low) == NULL;
}

/* Memory of pools, of graphs and of cuMemCreate is the device's, and of no context. */
static bool has_context(const exec_allocation *a) {
    return a == NULL || a->kind != EXEC_DEVICE || is_plain(a);
}

/* With the value 0, as CUDA has it. */
static exec_error none(void *to) {
    (void)give_word(to, 0);
    return EXEC_INVALID_VALUE;
}

static exec_error attribute(void *to, int which, device_pointer p) {
    const exec_place place = exec_place_of(at(p));
    const exec_allocation *a = exec_memory_find(at(p));
    void *low = at(p);
    size_t bytes = 0;
    if (to == NULL || place == EXEC_PLACE_OWN)
        return EXEC_INVALID_VALUE;
    (void)exec_piece_of(at(p), &low, &bytes);
    if (which == OF_MAPPING_LOW || which == OF_MAPPING_BYTES)
        (void)exec_mapping_of(at(p), &low, &bytes);
    switch (which) {
    case OF_CONTEXT:
        return give_word(to, has_context(a) ? (uintptr_t)driver_context() : 0);
    case OF_TYPE:
        return give_number(to, place == EXEC_PLACE_HOST ? TYPE_HOST : TYPE_DEVICE);
    case OF_HOST:
        return place == EXEC_PLACE_DEVICE ? none(to) : give_word(to, p);
    case OF_DEVICE:
        return !exec_may_access(at(p)) ? none(to) : give_word(to, p);
    case OF_BUFFER:
    case OF_BLOCK:
        return give_word(to, a != NULL ? a->number : 0);
    case OF_MANAGED:
        return give_number(to, place == EXEC_PLACE_MANAGED);
    case OF_MAPPED:
        return give_number(to, 1);
    case OF_IPC:
    case OF_RDMA:
    case OF_DECOMPRESSION:
        return give_number(to, is_plain(a));
    case OF_ORDINAL:
    case OF_SYNC:
        return give_number(to, 0);
    case OF_LOW:
    case OF_MAPPING_LOW:
        return give_word(to, (uintptr_t)low);
    case OF_BYTES:
    case OF_MAPPING_BYTES:
        return give_word(to, bytes);
    case OF_HANDLE_TYPES:
        return give_word(to, 0);
    case OF_ACCESS:
        return give_number(to, access_of(a, at(p)));
    case OF_POOL:
        return give_word(to, (uintptr_t)exec_pool_of(low));
    default:
        return EXEC_NOT_SUPPORTED;
    }
}

EXPORT exec_error cuPointerGetAttribute(void *to, int which, device_pointer p) {
    DRIVER_CALL(attribute(to, which, p));
}

/* The sizes of the attributes, by number. */
static size_t size_of(int which) {
    switch (which) {
    case OF_TYPE:
    case OF_ORDINAL:
    case OF_ACCESS:
    case OF_SYNC:
    case OF_MANAGED:
    case OF_IPC:
    case OF_MAPPED:
    case OF_RDMA:
    case OF_DECOMPRESSION:
        return sizeof(unsigned);
    default:
        return sizeof(uint64_t);
    }
}

/* Of an address without the attribute: no device; the address itself, which the host may use; of a
 * piece of memory only what there is, and else nothing is written; 0. */
static void without(void *to, int which, device_pointer p) {
    const bool own = exec_place_of(at(p)) == EXEC_PLACE_OWN;
    const int device = NO_DEVICE;
    void *low;
    size_t bytes;
    switch (which) {
    case OF_ORDINAL:
        (void)give(to, &device, sizeof device);
        break;
    case OF_HOST:
        (void)give_word(to, own ? p : 0);
        break;
    case OF_LOW:
    case OF_BYTES:
        if (exec_piece_of(at(p), &low, &bytes))
            (void)give_word(to, which == OF_LOW ? (uintptr_t)low : bytes);
        break;
    default:
        memset(to, 0, size_of(which));
    }
}

/* An address without an attribute is no error here. */
static exec_error attributes(unsigned n, const int *which, void **to, device_pointer p) {
    if (which == NULL || to == NULL)
        return EXEC_INVALID_VALUE;
    for (unsigned i = 0; i < n; ++i) {
        const exec_error error = attribute(to[i], which[i], p);
        if (to[i] == NULL || error == EXEC_NOT_SUPPORTED)
            return to[i] == NULL ? EXEC_INVALID_VALUE : error;
        if (error != EXEC_SUCCESS)
            without(to[i], which[i], p);
    }
    return EXEC_SUCCESS;
}

EXPORT exec_error cuPointerGetAttributes(unsigned n, const int *which, void **to,
                                         device_pointer p) {
    DRIVER_CALL(attributes(n, which, to, p));
}

/* Synchronous copies are so anyway. */
static exec_error set(const void *value, int which, device_pointer p) {
    const exec_allocation *a = exec_memory_find(at(p));
    if (value == NULL || which != OF_SYNC || exec_place_of(at(p)) == EXEC_PLACE_OWN)
        return EXEC_INVALID_VALUE;
    return a != NULL && a->granule != NULL ? EXEC_NOT_SUPPORTED : EXEC_SUCCESS;
}

EXPORT exec_error cuPointerSetAttribute(const void *value, int which, device_pointer p) {
    DRIVER_CALL(set(value, which, p));
}
