#include "sim/exec/virtual.h"

#include "sim/exec/allocate.h"
#include "sim/exec/call.h"
#include "sim/exec/handles.h"
#include "sim/exec/report.h"
#include "sim/exec/stream.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FRESH = 0xff }; /* as memory.c */

struct exec_physical {
    exec_physical *next;
    char *home; /* pages that only their mappings are accessed by */
    size_t bytes;
    uint64_t number; /* the program's first is 1 */
    uint64_t references, mappings;
};

typedef struct mapping {
    struct mapping *next;
    char *low;
    size_t bytes;
    exec_physical *physical;
} mapping;

static exec_physical *all;
static mapping *mappings;

static bool is_granular(size_t bytes) {
    return bytes > 0 && bytes % EXEC_GRANULE == 0;
}

/* ---- ranges ---- */

exec_error exec_reserve(void **memory, size_t bytes, size_t alignment, void *hint) {
    if (alignment < EXEC_GRANULE && (alignment & (alignment - 1)) == 0)
        alignment = EXEC_GRANULE;
    if (memory == NULL || !is_granular(bytes) || (alignment & (alignment - 1)) != 0)
        return EXEC_INVALID_VALUE;
    return exec_error_of(exec_memory_add_range(bytes, alignment, hint, exec_call_name(), memory));
}

static void set_state(exec_allocation *range, const char *low, size_t bytes, exec_access access) {
    memset(range->granule + (size_t)(low - range->low) / EXEC_GRANULE, (int)access,
           bytes / EXEC_GRANULE);
}

static bool is_all_unmapped(const exec_allocation *range, const char *low, size_t bytes) {
    const size_t first = (size_t)(low - range->low) / EXEC_GRANULE;
    for (size_t i = first; i * EXEC_GRANULE < (size_t)(low - range->low) + bytes; ++i)
        if (range->granule[i] != EXEC_UNMAPPED)
            return false;
    return true;
}

static exec_error refuse(const char *why) {
    exec_remark("%s: %s", exec_call_name(), why);
    return EXEC_INVALID_VALUE;
}

exec_error exec_unreserve(void *memory, size_t bytes) {
    exec_allocation *range = exec_memory_range(memory, bytes);
    if (range == NULL || range->low != memory || range->bytes != bytes)
        return refuse("no range of this size was reserved there");
    if (!is_all_unmapped(range, range->low, bytes))
        return refuse("memory is still mapped in the range");
    exec_memory_remove_range(range);
    return EXEC_SUCCESS;
}

/* ---- physical memory ---- */

exec_error exec_physical_create(exec_physical **physical, size_t bytes) {
    static uint64_t last;
    *physical = NULL;
    if (!is_granular(bytes))
        return EXEC_INVALID_VALUE;
    if (exec_memory_claim(bytes, exec_call_name()) != ASSAY_OK)
        return EXEC_OUT_OF_MEMORY;
    exec_physical *p = calloc(1, sizeof *p);
    /* Shared, for the processes that run a launch's blocks, and so that it can be mapped again. */
    char *home = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == NULL || home == MAP_FAILED || exec_handle_add(p, EXEC_HANDLE_PHYSICAL) != ASSAY_OK) {
        if (home != MAP_FAILED)
            munmap(home, bytes);
        free(p);
        exec_memory_unclaim(bytes);
        return EXEC_OUT_OF_MEMORY;
    }
    memset(home, FRESH, bytes);
    (void)mprotect(home, bytes, PROT_NONE);
    *p = (exec_physical){.next = all, .home = home, .bytes = bytes, .number = ++last};
    p->references = 1;
    all = p;
    exec_count_allocation(bytes);
    *physical = p;
    return EXEC_SUCCESS;
}

static void destroy_unused(exec_physical *p) {
    exec_physical **link = &all;
    if (p->references > 0 || p->mappings > 0)
        return;
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    munmap(p->home, p->bytes);
    exec_memory_unclaim(p->bytes);
    exec_count_free(p->bytes);
    free(p);
}

exec_error exec_physical_release(exec_physical *p) {
    if (!exec_handle_is(p, EXEC_HANDLE_PHYSICAL))
        return refuse("no such handle, or it has been released before");
    if (--p->references == 0)
        exec_handle_remove(p);
    destroy_unused(p);
    return EXEC_SUCCESS;
}

void exec_physical_tell_leaks(void) {
    for (const exec_physical *p = all; p != NULL; p = p->next)
        if (p->references > 0)
            exec_problem(EXEC_PROBLEM_LEAK,
                         "physical memory %" PRIu64
                         " (cuMemCreate, %zu bytes) has not been released at the end",
                         p->number, p->bytes);
}

/* ---- mappings ---- */

static mapping *find(const void *address) {
    for (mapping *at = mappings; at != NULL; at = at->next)
        if (at->low <= (const char *)address && (const char *)address < at->low + at->bytes)
            return at;
    return NULL;
}

exec_error exec_mapping_of(const void *address, void **low, size_t *bytes) {
    const mapping *found = find(address);
    if (found == NULL)
        return EXEC_INVALID_VALUE;
    *low = found->low;
    *bytes = found->bytes;
    return EXEC_SUCCESS;
}

exec_error exec_physical_retain(exec_physical **physical, const void *address) {
    const mapping *found = find(address);
    *physical = NULL;
    if (found == NULL)
        return EXEC_INVALID_VALUE;
    exec_physical *p = found->physical;
    if (p->references == 0 && exec_handle_add(p, EXEC_HANDLE_PHYSICAL) != ASSAY_OK)
        return EXEC_OUT_OF_MEMORY;
    ++p->references;
    *physical = p;
    return EXEC_SUCCESS;
}

exec_error exec_map(void *memory, size_t bytes, size_t offset, exec_physical *p) {
    exec_allocation *range = exec_memory_range(memory, bytes);
    if (!exec_handle_is(p, EXEC_HANDLE_PHYSICAL))
        return refuse("no such handle, or it has been released before");
    if (offset != 0 || bytes != p->bytes) {
        exec_remark("%s: a part of a handle's memory, which CUDA does not map", exec_call_name());
        return EXEC_NOT_SUPPORTED;
    }
    if ((uintptr_t)memory % EXEC_GRANULE != 0)
        return refuse("the address is to be a multiple of the granularity");
    if (range == NULL)
        return refuse("these addresses are not reserved");
    if (!is_all_unmapped(range, memory, bytes))
        return refuse("memory is mapped there already");
    mapping *made = malloc(sizeof *made);
    /* An old size of 0 maps shared pages once more. */
    if (made == NULL ||
        mremap(p->home, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, memory) == MAP_FAILED) {
        free(made);
        return EXEC_OUT_OF_MEMORY;
    }
    *made = (mapping){mappings, memory, bytes, p};
    mappings = made;
    ++p->mappings;
    set_state(range, memory, bytes, EXEC_NO_ACCESS);
    return EXEC_SUCCESS;
}

/* The bytes of the mappings in [low, low + bytes), which are to be whole ones; SIZE_MAX: not so. */
static size_t mapped_in(const char *low, size_t bytes) {
    size_t covered = 0;
    for (const mapping *at = mappings; at != NULL; at = at->next) {
        if (at->low >= low + bytes || at->low + at->bytes <= low)
            continue;
        if (at->low < low || at->low + at->bytes > low + bytes)
            return SIZE_MAX;
        covered += at->bytes;
    }
    return covered;
}

static exec_error unmap(mapping *gone) {
    if (mmap(gone->low, gone->bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        return EXEC_OUT_OF_MEMORY;
    set_state(exec_memory_range(gone->low, gone->bytes), gone->low, gone->bytes, EXEC_UNMAPPED);
    mapping **link = &mappings;
    while (*link != gone)
        link = &(*link)->next;
    *link = gone->next;
    --gone->physical->mappings;
    destroy_unused(gone->physical);
    free(gone);
    return EXEC_SUCCESS;
}

/* CUDA asks for whole mappings without gaps, but takes what it finds. */
exec_error exec_unmap(void *memory, size_t bytes) {
    char *low = memory;
    const size_t covered = mapped_in(low, bytes);
    if (exec_memory_range(memory, 1) == NULL || bytes == 0 || covered == SIZE_MAX)
        return refuse("these are not whole mappings");
    if (covered != bytes)
        exec_problem(EXEC_PROBLEM_MISUSE,
                     "%s of %zu bytes, of which %zu are mapped: CUDA asks for whole mappings",
                     exec_call_name(), bytes, covered);
    exec_streams_synchronize();
    exec_error error = EXEC_SUCCESS;
    for (mapping *at = mappings, *next; error == EXEC_SUCCESS && at != NULL; at = next) {
        next = at->next;
        if (low <= at->low && at->low < low + bytes)
            error = unmap(at);
    }
    return error;
}

exec_error exec_set_access(void *memory, size_t bytes, exec_access access) {
    static const int protection[] = {[EXEC_NO_ACCESS] = PROT_NONE,
                                     [EXEC_READ] = PROT_READ,
                                     [EXEC_READ_WRITE] = PROT_READ | PROT_WRITE};
    exec_allocation *range = exec_memory_range(memory, bytes);
    if (range == NULL || !is_granular(bytes) || mapped_in(memory, bytes) != bytes)
        return refuse("these are not whole mappings");
    exec_streams_synchronize();
    if (mprotect(memory, bytes, protection[access]) != 0)
        return EXEC_OUT_OF_MEMORY;
    set_state(range, memory, bytes, access);
    return EXEC_SUCCESS;
}
