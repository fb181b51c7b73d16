#include "sim/exec/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGNMENT = 512,
    KEPT = 1024,            /* freed allocations */
    KEPT_BYTES = 256 << 20, /* of them together */
};

/* All allocations by address, those among them that are freed and kept. */
static struct {
    exec_allocation *a;
    size_t n, room;
    uint64_t last_number;
    char *freed[KEPT]; /* the beginnings of those, oldest first, from `oldest` on around */
    size_t oldest, n_freed, freed_bytes;
    size_t live_bytes;
} m;

/* How many allocations begin at or below `address`. */
static size_t below(const void *address) {
    size_t low = 0, high = m.n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if ((uintptr_t)m.a[middle].low <= (uintptr_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The allocation that holds `address`, freed or not. An empty one holds its beginning. */
static exec_allocation *holder(const void *address) {
    const size_t i = below(address);
    if (i == 0)
        return NULL;
    exec_allocation *a = &m.a[i - 1];
    const size_t offset = (uintptr_t)address - (uintptr_t)a->low;
    return offset < a->bytes || offset == 0 ? a : NULL;
}

static bool make_room(void) {
    if (m.n < m.room)
        return true;
    const size_t room = m.room > 0 ? 2 * m.room : 64;
    exec_allocation *a = realloc(m.a, room * sizeof *a);
    if (a == NULL)
        return false;
    m.a = a;
    m.room = room;
    return true;
}

assay_status exec_memory_allocate(size_t bytes, exec_memory_kind kind, const char *call,
                                  void **memory) {
    *memory = NULL;
    if (bytes > EXEC_DEVICE_BYTES - m.live_bytes)
        return assay_fail(
            ASSAY_ERR_MEMORY,
            "%s of %zu bytes: the simulated device has 16 GiB, of which %zu bytes are "
            "in use",
            call, bytes, m.live_bytes);
    char *low = NULL;
    if (make_room())
        low = aligned_alloc(ALIGNMENT, bytes / ALIGNMENT * ALIGNMENT + ALIGNMENT);
    if (low == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "%s: the host has no %zu bytes left", call, bytes);
    memset(low, 0xff, bytes);
    const size_t i = below(low);
    memmove(&m.a[i + 1], &m.a[i], (m.n - i) * sizeof m.a[0]);
    m.a[i] = (exec_allocation){low, bytes, kind, ++m.last_number, call, false};
    ++m.n;
    m.live_bytes += bytes;
    *memory = low;
    return ASSAY_OK;
}

static void forget_oldest(void) {
    exec_allocation *a = holder(m.freed[m.oldest]);
    const size_t i = (size_t)(a - m.a);
    m.oldest = (m.oldest + 1) % KEPT;
    --m.n_freed;
    m.freed_bytes -= a->bytes;
    free(a->low);
    --m.n;
    memmove(&m.a[i], &m.a[i + 1], (m.n - i) * sizeof m.a[0]);
}

assay_status exec_memory_free(void *memory) {
    exec_allocation *a = holder(memory);
    if (a == NULL)
        return assay_fail(ASSAY_ERR_USAGE, "%p was not allocated with CUDA", memory);
    if (a->freed)
        return assay_fail(ASSAY_ERR_USAGE,
                          "allocation %" PRIu64 " (%s, %zu bytes) has been freed before", a->number,
                          a->call, a->bytes);
    if (a->low != memory)
        return assay_fail(ASSAY_ERR_USAGE,
                          "%p is %zu bytes into allocation %" PRIu64 " (%s, %zu bytes), not its "
                          "beginning",
                          memory, (size_t)((char *)memory - a->low), a->number, a->call, a->bytes);
    a->freed = true;
    m.live_bytes -= a->bytes;
    if (m.n_freed == KEPT)
        forget_oldest();
    a = holder(memory); /* it may have moved */
    m.freed[(m.oldest + m.n_freed++) % KEPT] = a->low;
    m.freed_bytes += a->bytes;
    while (m.freed_bytes > KEPT_BYTES)
        forget_oldest();
    return ASSAY_OK;
}

const exec_allocation *exec_memory_find(const void *address) {
    const exec_allocation *a = holder(address);
    return a != NULL && !a->freed ? a : NULL;
}

bool exec_memory_check(const void *address, size_t bytes, bool writes, char why[EXEC_MEMORY_LINE]) {
    const exec_allocation *a = holder(address);
    const char *verb = writes ? "writes" : "reads";
    if (bytes == 0)
        return true;
    if (a == NULL) { /* the program's own, unless it runs into an allocation */
        const size_t next = below(address);
        if (next == m.n || (uintptr_t)m.a[next].low - (uintptr_t)address >= bytes)
            return true;
        a = &m.a[next];
        snprintf(why, EXEC_MEMORY_LINE,
                 "%s %zu bytes from %zu bytes before allocation %" PRIu64 " (%s, %zu bytes) on",
                 verb, bytes, (size_t)((uintptr_t)a->low - (uintptr_t)address), a->number, a->call,
                 a->bytes);
        return false;
    }
    const size_t offset = (size_t)((const char *)address - a->low), room = a->bytes - offset;
    if (a->freed) {
        snprintf(why, EXEC_MEMORY_LINE,
                 "%s %zu bytes of allocation %" PRIu64 " (%s, %zu bytes), which has been freed",
                 verb, bytes, a->number, a->call, a->bytes);
        return false;
    }
    if (bytes <= room)
        return true;
    snprintf(why, EXEC_MEMORY_LINE,
             "%s %zu bytes, %zu of them behind allocation %" PRIu64 " (%s, %zu bytes)", verb, bytes,
             bytes - room, a->number, a->call, a->bytes);
    return false;
}

const exec_allocation *exec_memory_live(size_t i) {
    for (size_t j = 0; j < m.n; ++j)
        if (!m.a[j].freed && i-- == 0)
            return &m.a[j];
    return NULL;
}
