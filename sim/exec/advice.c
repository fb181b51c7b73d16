#include "sim/exec/advice.h"

#include "sim/exec/capture.h"
#include "sim/exec/memory.h"
#include "sim/exec/work.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* As CUDA numbers them. */
enum { READ_MOSTLY = 1, NOT_READ_MOSTLY, PREFER, PREFER_NONE, ACCESSED, NOT_ACCESSED };
enum { TYPE_NONE, TYPE_DEVICE, TYPE_HOST, TYPE_NODE, TYPE_OWN_NODE };
enum { OF_HOST = -1, OF_NONE = -2 }; /* in place of a device's number */
enum { PAGE = 4096 };

/* What is told of a page. */
enum aspect { IS_READ_MOSTLY, PREFERRED, IS_ACCESSED, IS_ACCESSED_BY_HOST, PREFETCHED };

static const exec_location nowhere = {TYPE_NONE, OF_NONE};

/* The newest first: it counts. Whole pages, of one allocation. */
typedef struct note {
    struct note *next;
    uintptr_t low, high;
    enum aspect aspect;
    exec_location where; /* nowhere: no longer */
} note;
static note *notes;

exec_location exec_hint_of_device(int device) {
    return (exec_location){device == OF_HOST ? TYPE_HOST : TYPE_DEVICE, device};
}

/* `no_device`: for a device that there is not. */
static exec_error check_place(exec_location where, exec_error no_device) {
    if (where.type == TYPE_DEVICE)
        return where.number == 0 ? EXEC_SUCCESS : no_device;
    return where.type >= TYPE_HOST && where.type <= TYPE_OWN_NODE ? EXEC_SUCCESS
                                                                  : EXEC_INVALID_VALUE;
}

static bool is_managed(const void *memory, size_t bytes) {
    const exec_allocation *a = exec_memory_find(memory);
    return a != NULL && a->kind == EXEC_MANAGED && bytes > 0 &&
           bytes <= a->bytes - (size_t)((const char *)memory - a->low);
}

/* A note takes the place of those that it covers, so that hints in a loop do not add up. */
static void drop_covered(const note *by) {
    for (note **link = &notes; *link != NULL;) {
        note *n = *link;
        if (n->aspect == by->aspect && by->low <= n->low && n->high <= by->high) {
            *link = n->next;
            free(n);
        } else {
            link = &n->next;
        }
    }
}

static exec_error add(const void *memory, size_t bytes, enum aspect aspect, exec_location where) {
    note *n = malloc(sizeof *n);
    if (n == NULL)
        return EXEC_OUT_OF_MEMORY;
    if (where.type == TYPE_HOST)
        where.number = OF_HOST;
    const uintptr_t low = (uintptr_t)memory, high = low + bytes;
    *n = (note){NULL, low / PAGE * PAGE, (high + PAGE - 1) / PAGE * PAGE, aspect, where};
    drop_covered(n);
    n->next = notes;
    notes = n;
    return EXEC_SUCCESS;
}

static exec_error access_by(const void *memory, size_t bytes, exec_location where, bool may) {
    if (where.type != TYPE_DEVICE && where.type != TYPE_HOST)
        return EXEC_INVALID_VALUE;
    const exec_error error = check_place(where, EXEC_INVALID_VALUE);
    return error == EXEC_SUCCESS
               ? add(memory, bytes, where.type == TYPE_HOST ? IS_ACCESSED_BY_HOST : IS_ACCESSED,
                     may ? where : nowhere)
               : error;
}

exec_error exec_advise(const void *memory, size_t bytes, int advice, exec_location where) {
    if (!is_managed(memory, bytes))
        return EXEC_INVALID_VALUE;
    const exec_error error = check_place(where, EXEC_INVALID_VALUE);
    switch (advice) {
    case READ_MOSTLY:
    case NOT_READ_MOSTLY: /* on whatever device */
        if (where.type == TYPE_NONE)
            return EXEC_INVALID_VALUE;
        return add(memory, bytes, IS_READ_MOSTLY,
                   advice == READ_MOSTLY ? exec_hint_of_device(0) : nowhere);
    case PREFER:
        return error == EXEC_SUCCESS ? add(memory, bytes, PREFERRED, where) : error;
    case PREFER_NONE:
        return add(memory, bytes, PREFERRED, nowhere);
    case ACCESSED:
    case NOT_ACCESSED:
        return access_by(memory, bytes, where, advice == ACCESSED);
    default:
        return EXEC_INVALID_VALUE;
    }
}

exec_error exec_prefetch(const void *memory, size_t bytes, exec_location where, unsigned flags,
                         void *stream) {
    exec_stream *s;
    exec_error error = exec_stream_of(stream, &s);
    if (error == EXEC_SUCCESS)
        error = exec_capture_refuse(s);
    if (error == EXEC_SUCCESS)
        error = exec_capture_legacy(s);
    if (error == EXEC_SUCCESS && (flags != 0 || !is_managed(memory, bytes)))
        error = EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        error = check_place(where, EXEC_INVALID_DEVICE);
    return error == EXEC_SUCCESS ? add(memory, bytes, PREFETCHED, where) : error;
}

/* ---- questions ---- */

static exec_location at_page(uintptr_t page, enum aspect aspect) {
    for (const note *n = notes; n != NULL; n = n->next)
        if (n->aspect == aspect && n->low <= page && page < n->high)
            return n->where;
    return nowhere;
}

static bool same(exec_location a, exec_location b) {
    return a.type == b.type && (a.number == b.number || a.type == TYPE_HOST);
}

/* What all pages have; nowhere: they differ. */
static exec_location of_all(const void *memory, size_t bytes, enum aspect aspect) {
    const uintptr_t low = (uintptr_t)memory / PAGE * PAGE, high = (uintptr_t)memory + bytes;
    const exec_location first = at_page(low, aspect);
    for (uintptr_t page = low + PAGE; page < high; page += PAGE)
        if (!same(at_page(page, aspect), first))
            return nowhere;
    return first;
}

/* The number of a device, of the host or of nothing, which a node of the host is here. */
static int device_of(exec_location where) {
    return where.type == TYPE_DEVICE ? where.number : where.type == TYPE_HOST ? OF_HOST : OF_NONE;
}

/* The device, then the host, as far as they have been told of; nothing behind them. */
static exec_error accessed_by(int *to, size_t room, const void *memory, size_t bytes) {
    size_t n = 0;
    if (room == 0 || room % sizeof *to != 0)
        return EXEC_INVALID_VALUE;
    for (enum aspect a = IS_ACCESSED; a <= IS_ACCESSED_BY_HOST; ++a)
        if (n < room / sizeof *to && of_all(memory, bytes, a).type != TYPE_NONE)
            to[n++] = a == IS_ACCESSED ? 0 : OF_HOST;
    while (n < room / sizeof *to)
        to[n++] = OF_NONE;
    return EXEC_SUCCESS;
}

exec_error exec_range_get(void *to, size_t room, int attribute, const void *memory, size_t bytes) {
    static const enum aspect aspects[] = {[1] = IS_READ_MOSTLY, PREFERRED, IS_ACCESSED,
                                          PREFETCHED,           PREFERRED, PREFERRED,
                                          PREFETCHED,           PREFETCHED};
    if (to == NULL || attribute < 1 || attribute > 8 || !is_managed(memory, bytes))
        return EXEC_INVALID_VALUE;
    const exec_location where = of_all(memory, bytes, aspects[attribute]);
    if (aspects[attribute] == IS_ACCESSED)
        return accessed_by(to, room, memory, bytes);
    if (room != sizeof(int))
        return EXEC_INVALID_VALUE;
    const int answers[] = {[1] = where.type == TYPE_DEVICE,
                           device_of(where),
                           0,
                           device_of(where),
                           where.type,
                           where.number,
                           where.type,
                           where.number};
    *(int *)to = answers[attribute];
    return EXEC_SUCCESS;
}

exec_error exec_range_get_all(void *const *to, const size_t *room, const int *attribute, size_t n,
                              const void *memory, size_t bytes) {
    exec_error error = to != NULL && room != NULL && attribute != NULL && n > 0
                           ? EXEC_SUCCESS
                           : EXEC_INVALID_VALUE;
    for (size_t i = 0; error == EXEC_SUCCESS && i < n; ++i)
        error = exec_range_get(to[i], room[i], attribute[i], memory, bytes);
    return error;
}

void exec_advice_forget(const void *memory, size_t bytes) {
    const uintptr_t low = (uintptr_t)memory, high = low + bytes;
    for (note **link = &notes; *link != NULL;) {
        note *n = *link;
        if (n->low < high && low < n->high) {
            *link = n->next;
            free(n);
        } else {
            link = &n->next;
        }
    }
}
