#include "sim/exec/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ALIGNMENT = 256,
    FRESH = 0xff,
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
    bool any_host;
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

/* The allocation whose pages, or one of the two around them, hold `address`. */
static exec_allocation *neighbour(const void *address) {
    const uintptr_t at = (uintptr_t)address, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const size_t i = below(address);
    for (size_t j = i > 0 ? i - 1 : 0; j < m.n && j <= i; ++j) {
        const uintptr_t low = (uintptr_t)m.a[j].pages - page;
        if (at >= low && at - low < m.a[j].page_bytes + 2 * page)
            return &m.a[j];
    }
    return NULL;
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

/* Pages of its own between two that cannot be touched; shared, for the processes that run a
 * launch's blocks (sim/split.h). */
static bool map(exec_allocation *a) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t bytes = a->bytes > 0 ? (a->bytes + page - 1) / page * page : page;
    char *all = mmap(NULL, bytes + 2 * page, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return false;
    a->pages = all + page;
    a->page_bytes = bytes;
    a->low = a->pages + (bytes - a->bytes) / ALIGNMENT * ALIGNMENT;
    if (a->bytes == 0) /* its beginning is its own */
        a->low = a->pages;
    if (mprotect(a->pages, bytes, PROT_READ | PROT_WRITE) == 0)
        return true;
    munmap(all, bytes + 2 * page);
    return false;
}

static void unmap(const exec_allocation *a) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    munmap(a->pages - page, a->page_bytes + 2 * page);
}

assay_status exec_memory_claim(size_t bytes, const char *call) {
    if (bytes > EXEC_DEVICE_BYTES - m.live_bytes)
        return assay_fail(
            ASSAY_ERR_MEMORY,
            "%s of %zu bytes: the simulated device has 16 GiB, of which %zu bytes are "
            "in use",
            call, bytes, m.live_bytes);
    m.live_bytes += bytes;
    return ASSAY_OK;
}

void exec_memory_unclaim(size_t bytes) {
    m.live_bytes -= bytes;
}

/* There is room. */
static void insert(exec_allocation made) {
    made.number = ++m.last_number;
    const size_t i = below(made.low);
    memmove(&m.a[i + 1], &m.a[i], (m.n - i) * sizeof m.a[0]);
    m.a[i] = made;
    ++m.n;
}

assay_status exec_memory_allocate(size_t bytes, exec_memory_kind kind, const char *call,
                                  void **memory) {
    *memory = NULL;
    const assay_status status = exec_memory_claim(bytes, call);
    if (status != ASSAY_OK)
        return status;
    exec_allocation made = {.bytes = bytes, .kind = kind, .call = call};
    if (!make_room() || !map(&made)) {
        exec_memory_unclaim(bytes);
        return assay_fail(ASSAY_ERR_MEMORY, "%s: the host has no %zu bytes left", call, bytes);
    }
    memset(made.pages, FRESH, made.page_bytes);
    insert(made);
    m.any_host |= kind != EXEC_DEVICE;
    *memory = made.low;
    return ASSAY_OK;
}

/* Takes `all` and gives back what lies outside of the aligned part and the pages around it. */
static char *aligned_part(char *all, size_t whole, size_t bytes, size_t alignment) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (uintptr_t)all + page;
    char *low = all + page + ((alignment - first % alignment) % alignment);
    char *end = low + bytes + page;
    if (low - page > all)
        munmap(all, (size_t)(low - page - all));
    if (end < all + whole)
        munmap(end, (size_t)(all + whole - end));
    return low;
}

/* A page before and one behind cannot be touched either. */
static char *reserve(size_t bytes, size_t alignment, char *hint) {
    enum { FLAGS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), wanted = bytes + 2 * page;
    if (hint != NULL && (uintptr_t)hint % alignment == 0 && (uintptr_t)hint > page) {
        char *all = mmap(hint - page, wanted, PROT_NONE, FLAGS | MAP_FIXED_NOREPLACE, -1, 0);
        if (all == hint - page)
            return hint;
        if (all != MAP_FAILED) /* a kernel that does not know the flag */
            munmap(all, wanted);
    }
    if (wanted > SIZE_MAX - alignment)
        return NULL;
    char *all = mmap(NULL, wanted + alignment, PROT_NONE, FLAGS, -1, 0);
    return all != MAP_FAILED ? aligned_part(all, wanted + alignment, bytes, alignment) : NULL;
}

assay_status exec_memory_add_range(size_t bytes, size_t alignment, void *hint, const char *call,
                                   void **memory) {
    exec_allocation made = {.bytes = bytes, .kind = EXEC_DEVICE, .call = call};
    made.granule = calloc((bytes - 1) / EXEC_GRANULE + 1, 1);
    *memory = NULL;
    if (made.granule != NULL && make_room())
        made.low = reserve(bytes, alignment, hint);
    if (made.low == NULL) {
        free(made.granule);
        return assay_fail(ASSAY_ERR_MEMORY, "%s: the host has no %zu addresses left", call, bytes);
    }
    made.pages = made.low;
    made.page_bytes = bytes;
    insert(made);
    *memory = made.low;
    return ASSAY_OK;
}

static void forget(exec_allocation *a) {
    const size_t i = (size_t)(a - m.a);
    unmap(a);
    --m.n;
    memmove(&m.a[i], &m.a[i + 1], (m.n - i) * sizeof m.a[0]);
}

static void forget_oldest(void) {
    exec_allocation *a = holder(m.freed[m.oldest]);
    m.oldest = (m.oldest + 1) % KEPT;
    --m.n_freed;
    m.freed_bytes -= a->bytes;
    forget(a);
}

static void take_memory(exec_allocation *a) {
    a->freed = true;
    (void)madvise(a->pages, a->page_bytes, MADV_REMOVE); /* while it can be written */
    (void)mprotect(a->pages, a->page_bytes, PROT_NONE);
}

/* Freed memory, whose addresses stay its own for a while. */
static void keep(exec_allocation *a) {
    char *low = a->low;
    a->freed = true;
    if (m.n_freed == KEPT)
        forget_oldest();
    a = holder(low); /* it may have moved */
    m.freed[(m.oldest + m.n_freed++) % KEPT] = low;
    m.freed_bytes += a->bytes;
    while (m.freed_bytes > KEPT_BYTES)
        forget_oldest();
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
    if (a->granule != NULL)
        return assay_fail(ASSAY_ERR_USAGE,
                          "allocation %" PRIu64 " (%s, %zu bytes) is a range of addresses, which "
                          "cuMemAddressFree frees",
                          a->number, a->call, a->bytes);
    take_memory(a);
    exec_memory_unclaim(a->bytes);
    if (!a->reserved)
        keep(a);
    return ASSAY_OK;
}

/* ---- memory of graphs ---- */

assay_status exec_memory_reserve(size_t bytes, const void *graph, const char *call, void **memory) {
    exec_allocation made = {
        .bytes = bytes, .kind = EXEC_DEVICE, .call = call, .graph = graph, .reserved = true};
    *memory = NULL;
    if (bytes > EXEC_DEVICE_BYTES)
        return assay_fail(ASSAY_ERR_MEMORY, "%s of %zu bytes: the simulated device has 16 GiB",
                          call, bytes);
    if (!make_room() || !map(&made))
        return assay_fail(ASSAY_ERR_MEMORY, "%s: the host has no %zu bytes left", call, bytes);
    insert(made);
    take_memory(holder(made.low));
    *memory = made.low;
    return ASSAY_OK;
}

static exec_allocation *reserved_at(const void *address) {
    exec_allocation *a = holder(address);
    return a != NULL && a->reserved ? a : NULL;
}

bool exec_memory_is_reserved(const void *address) {
    return reserved_at(address) != NULL;
}

void exec_memory_hold(const void *memory) {
    exec_allocation *a = reserved_at(memory);
    if (a != NULL)
        ++a->holders;
}

void exec_memory_drop(const void *memory) {
    exec_allocation *a = reserved_at(memory);
    if (a == NULL || --a->holders > 0)
        return;
    a->reserved = false;
    if (a->freed)
        forget(a);
}

size_t exec_memory_holders(const void *memory) {
    const exec_allocation *a = reserved_at(memory);
    return a != NULL ? a->holders : 0;
}

assay_status exec_memory_revive(const void *memory) {
    exec_allocation *a = reserved_at(memory);
    if (a == NULL || !a->freed)
        return assay_fail(ASSAY_ERR_USAGE, "its last memory has not been freed");
    if (a->bytes > EXEC_DEVICE_BYTES - m.live_bytes ||
        mprotect(a->pages, a->page_bytes, PROT_READ | PROT_WRITE) != 0)
        return assay_fail(ASSAY_ERR_MEMORY,
                          "the simulated device has 16 GiB, of which %zu bytes are in use",
                          m.live_bytes);
    memset(a->pages, FRESH, a->page_bytes);
    a->freed = false;
    m.live_bytes += a->bytes;
    return ASSAY_OK;
}

bool exec_memory_is_graphs(const void *memory) {
    const exec_allocation *a = holder(memory);
    return a != NULL && a->low == memory && a->graph != NULL && (a->reserved || !a->freed);
}

size_t exec_memory_of_graphs(size_t unit) {
    size_t bytes = 0;
    for (size_t i = 0; i < m.n; ++i) {
        size_t own = 0;
        for (size_t j = 0; m.a[i].graph != NULL && !m.a[i].freed && j < m.n; ++j) {
            if (m.a[j].graph != m.a[i].graph || m.a[j].freed)
                continue;
            if (j < i) /* counted with the first */
                break;
            own += m.a[j].bytes;
        }
        bytes += (own + unit - 1) / unit * unit;
    }
    return bytes;
}

void exec_memory_promise(const void *memory, bool promised) {
    exec_allocation *a = reserved_at(memory);
    if (a != NULL)
        a->promised = promised;
}

bool exec_memory_is_promised(const void *memory) {
    const exec_allocation *a = reserved_at(memory);
    return a != NULL && a->promised;
}

void exec_memory_remove_range(exec_allocation *range) {
    free(range->granule);
    range->granule = NULL;
    keep(range);
}

exec_allocation *exec_memory_range(const void *address, size_t bytes) {
    exec_allocation *a = holder(address);
    if (a == NULL || a->granule == NULL)
        return NULL;
    return bytes <= a->bytes - (size_t)((const char *)address - a->low) ? a : NULL;
}

/* Of a range. */
static exec_access access_at(const exec_allocation *a, const char *at) {
    return (exec_access)a->granule[(size_t)(at - a->low) / EXEC_GRANULE];
}

const exec_allocation *exec_memory_find(const void *address) {
    const exec_allocation *a = holder(address);
    if (a == NULL || a->freed)
        return NULL;
    return a->granule == NULL || access_at(a, address) != EXEC_UNMAPPED ? a : NULL;
}

void exec_memory_be_plain(const void *address) {
    exec_allocation *a = holder(address);
    if (a != NULL)
        a->plain = true;
}

void exec_memory_written(const void *address) {
    static uint64_t clock;
    exec_allocation *a = holder(address);
    if (a != NULL)
        a->written = ++clock;
}

static const char *const lacks[] = {[EXEC_UNMAPPED] = "nothing is mapped",
                                    [EXEC_NO_ACCESS] = "the device has no access",
                                    [EXEC_READ] = "the device may only read"};

/* Whether the mappings of a range allow it. */
static bool is_allowed(const exec_allocation *a, size_t offset, size_t bytes, bool writes,
                       char why[EXEC_MEMORY_LINE]) {
    const exec_access needed = writes ? EXEC_READ_WRITE : EXEC_READ;
    const size_t end = offset + bytes;
    for (; offset < end; offset = (offset / EXEC_GRANULE + 1) * EXEC_GRANULE) {
        const exec_access access = access_at(a, a->low + offset);
        if (access >= needed)
            continue;
        snprintf(why, EXEC_MEMORY_LINE,
                 "%s %zu bytes of allocation %" PRIu64 " (%s, %zu bytes), where %s at byte %zu",
                 writes ? "writes" : "reads", bytes, a->number, a->call, a->bytes, lacks[access],
                 offset);
        return false;
    }
    return true;
}

static const char *gone(const exec_allocation *a) {
    return a->reserved ? "its graph has not allocated now" : "has been freed";
}

static bool check(const void *address, size_t bytes, bool writes, bool later,
                  char why[EXEC_MEMORY_LINE]) {
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
    if (a->freed && !(later && a->reserved)) {
        snprintf(why, EXEC_MEMORY_LINE,
                 "%s %zu bytes of allocation %" PRIu64 " (%s, %zu bytes), which %s", verb, bytes,
                 a->number, a->call, a->bytes, gone(a));
        return false;
    }
    if (bytes <= room)
        return a->granule == NULL || is_allowed(a, offset, bytes, writes, why);
    snprintf(why, EXEC_MEMORY_LINE,
             "%s %zu bytes, %zu of them behind allocation %" PRIu64 " (%s, %zu bytes)", verb, bytes,
             bytes - room, a->number, a->call, a->bytes);
    return false;
}

bool exec_memory_check(const void *address, size_t bytes, bool writes, char why[EXEC_MEMORY_LINE]) {
    return check(address, bytes, writes, false, why);
}

bool exec_memory_check_later(const void *address, size_t bytes, bool writes,
                             char why[EXEC_MEMORY_LINE]) {
    return check(address, bytes, writes, true, why);
}

bool exec_memory_any_host(void) {
    return m.any_host;
}

const exec_allocation *exec_memory_live(size_t i) {
    for (size_t j = 0; j < m.n; ++j)
        if (!m.a[j].freed && i-- == 0)
            return &m.a[j];
    return NULL;
}

static bool describe(const exec_allocation *a, const char *at, char where[EXEC_MEMORY_LINE]) {
    const char *end = a->low + a->bytes;
    char place[64] = "in";
    exec_access access = EXEC_READ_WRITE;
    if (a->granule != NULL && at >= a->low && at < end)
        access = access_at(a, at);
    if (at < a->low)
        snprintf(place, sizeof place, "%zu bytes before", (size_t)(a->low - at));
    else if (at >= end)
        snprintf(place, sizeof place, "%zu bytes behind the end of", (size_t)(at - end));
    snprintf(where, EXEC_MEMORY_LINE, "%s allocation %" PRIu64 " (%s, %zu bytes)%s%s%s%s", place,
             a->number, a->call, a->bytes, a->freed ? ", which " : "", a->freed ? gone(a) : "",
             access < EXEC_READ_WRITE ? ", where " : "",
             access < EXEC_READ_WRITE ? lacks[access] : "");
    return true;
}

bool exec_memory_describe(const void *address, char where[EXEC_MEMORY_LINE]) {
    const exec_allocation *a = neighbour(address);
    return a != NULL && describe(a, address, where);
}

bool exec_memory_overrun(char what[EXEC_MEMORY_LINE]) {
    for (size_t i = 0; i < m.n; ++i) {
        const exec_allocation *a = &m.a[i];
        char *end = a->pages + a->page_bytes;
        if (a->freed)
            continue;
        for (char *at = a->low + a->bytes; at < end; ++at)
            if (*at != (char)FRESH) {
                memset(a->low + a->bytes, FRESH,
                       (size_t)(end - at) + (size_t)(at - a->low) - a->bytes);
                return describe(a, at, what);
            }
    }
    return false;
}
