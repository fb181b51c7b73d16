#include "sim/exec/allocate.h"

#include "sim/exec/advice.h"
#include "sim/exec/call.h"
#include "sim/exec/ipc.h"
#include "sim/exec/module.h"
#include "sim/exec/pool.h"
#include "sim/exec/report.h"
#include "sim/exec/virtual.h"

#include <inttypes.h>
#include <stdlib.h>

static size_t live_bytes;

void exec_count_allocation(size_t bytes) {
    exec_report *r = exec_report_get();
    ++r->allocations;
    live_bytes += bytes;
    if (live_bytes > r->most_bytes)
        r->most_bytes = live_bytes;
}

void exec_count_free(size_t bytes) {
    live_bytes -= bytes;
}

exec_error exec_allocate(void **memory, size_t bytes, exec_memory_kind kind) {
    if (memory == NULL)
        return EXEC_INVALID_VALUE;
    *memory = NULL;
    if (bytes == 0)
        return EXEC_SUCCESS;
    if (exec_memory_allocate(bytes, kind, exec_call_name(), memory) != ASSAY_OK)
        return EXEC_OUT_OF_MEMORY;
    exec_count_allocation(bytes);
    return EXEC_SUCCESS;
}

exec_error exec_allocate_plain(void **memory, size_t bytes) {
    const exec_error error = exec_allocate(memory, bytes, EXEC_DEVICE);
    if (error == EXEC_SUCCESS)
        exec_memory_be_plain(*memory);
    return error;
}

exec_error exec_allocate_again(void *reserved) {
    const exec_error error = exec_error_of(exec_memory_revive(reserved));
    if (error == EXEC_SUCCESS)
        exec_count_allocation(exec_memory_find(reserved)->bytes);
    return error;
}

exec_error exec_allocate_rows(void **memory, size_t *pitch, size_t width, size_t rows) {
    if (memory == NULL || pitch == NULL || width > EXEC_DEVICE_BYTES || rows > EXEC_DEVICE_BYTES)
        return EXEC_INVALID_VALUE;
    *pitch = (width + 511) / 512 * 512;
    return exec_allocate_plain(memory, *pitch * rows);
}

exec_error exec_deallocate(void *memory) {
    if (memory == NULL)
        return EXEC_SUCCESS;
    const exec_allocation *a = exec_memory_find(memory);
    const size_t bytes = a != NULL ? a->bytes : 0;
    if (!exec_ipc_release(memory)) {
        exec_problem(EXEC_PROBLEM_FREE,
                     "%s: allocation %" PRIu64 " (%s, %zu bytes) is another process's, and "
                     "cudaIpcCloseMemHandle closes it",
                     exec_call_name(), a->number, a->call, bytes);
        return EXEC_INVALID_VALUE;
    }
    if (exec_memory_free(memory) != ASSAY_OK) {
        exec_problem(EXEC_PROBLEM_FREE, "%s: %s", exec_call_name(), assay_error());
        return EXEC_INVALID_VALUE;
    }
    exec_pool_freed(memory, bytes);
    exec_count_free(bytes);
    exec_advice_forget(memory, bytes);
    return EXEC_SUCCESS;
}

size_t exec_memory_left(void) {
    return EXEC_DEVICE_BYTES - live_bytes;
}

/* ---- registered memory ---- */

typedef struct range {
    struct range *next;
    char *low;
    size_t bytes;
} range;
static range *registered;

exec_error exec_host_register(void *memory, size_t bytes) {
    char *low = memory;
    if (low == NULL || bytes == 0)
        return EXEC_INVALID_VALUE;
    for (const range *r = registered; r != NULL; r = r->next)
        if (low < r->low + r->bytes && r->low < low + bytes)
            return EXEC_ALREADY_REGISTERED;
    range *r = malloc(sizeof *r);
    if (r == NULL)
        return EXEC_OUT_OF_MEMORY;
    *r = (range){registered, low, bytes};
    registered = r;
    return EXEC_SUCCESS;
}

exec_error exec_host_unregister(void *memory) {
    for (range **link = &registered; *link != NULL; link = &(*link)->next)
        if ((*link)->low == memory) {
            range *r = *link;
            *link = r->next;
            free(r);
            return EXEC_SUCCESS;
        }
    return EXEC_NOT_REGISTERED;
}

bool exec_host_any_registered(void) {
    return registered != NULL;
}

exec_place exec_place_of(const void *address) {
    const exec_allocation *a = exec_memory_find(address);
    if (a != NULL)
        return a->kind == EXEC_DEVICE    ? EXEC_PLACE_DEVICE
               : a->kind == EXEC_MANAGED ? EXEC_PLACE_MANAGED
                                         : EXEC_PLACE_HOST;
    if (exec_variable_at(address) != NULL || exec_memory_is_reserved(address))
        return EXEC_PLACE_DEVICE;
    for (const range *r = registered; r != NULL; r = r->next)
        if (r->low <= (const char *)address && (const char *)address < r->low + r->bytes)
            return EXEC_PLACE_HOST;
    return EXEC_PLACE_OWN;
}

bool exec_piece_of(const void *address, void **low, size_t *bytes) {
    const exec_allocation *a = exec_memory_find(address);
    const exec_variable *v = exec_variable_at(address);
    if (a == NULL)
        a = exec_memory_range(address, 1);
    if (a != NULL || v != NULL) {
        *low = a != NULL ? a->low : v->address;
        *bytes = a != NULL ? a->bytes : v->bytes;
        return true;
    }
    for (const range *r = registered; r != NULL; r = r->next)
        if (r->low <= (const char *)address && (const char *)address < r->low + r->bytes) {
            *low = r->low;
            *bytes = r->bytes;
            return true;
        }
    return false;
}

bool exec_may_access(const void *address) {
    const exec_allocation *a = exec_memory_range(address, 1);
    return a == NULL ||
           a->granule[(size_t)((const char *)address - a->low) / EXEC_GRANULE] >= EXEC_READ;
}

void exec_tell_leaks(void) {
    const exec_allocation *a;
    for (size_t i = 0; (a = exec_memory_live(i)) != NULL; ++i)
        exec_problem(EXEC_PROBLEM_LEAK,
                     "allocation %" PRIu64 " (%s, %zu bytes) has not been freed at the end",
                     a->number, a->call, a->bytes);
    exec_physical_tell_leaks();
}
