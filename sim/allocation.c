#include "sim/allocation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sim_race_compiled;
void (*sim_race_guard)(void *memory, size_t bytes, bool on);

enum { PAGE = 4096, PAGES = 64 };

/* A page that one allocation fills, or in which none is. */
typedef struct whole_page {
    uintptr_t number; /* + 1 */
    bool inside;
} whole_page;

static struct {
    sim_range *list; /* by address */
    size_t n, capacity;
    const sim_range *last;   /* found */
    whole_page whole[PAGES]; /* that were asked for, by their number's low bits */
} allocations;

/* Index of the first that ends behind `address`. */
static size_t find(const volatile char *address) {
    size_t low = 0, high = allocations.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (allocations.list[middle].high > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const sim_range *sim_allocation_of(const volatile void *address) {
    if (allocations.last && sim_in_range(allocations.last, address))
        return allocations.last;
    const size_t i = find(address);
    if (i == allocations.n || (const volatile char *)address < allocations.list[i].low)
        return NULL;
    return allocations.last = &allocations.list[i];
}

/* NULL: an allocation begins or ends in the page. */
static const whole_page *whole_page_of(uintptr_t address) {
    const uintptr_t number = address / PAGE + 1;
    whole_page *whole = &allocations.whole[number % PAGES];
    if (whole->number == number)
        return whole;
    const char *const page = (const char *)((number - 1) * PAGE);
    const size_t i = find(page);
    const sim_range *range = i < allocations.n ? &allocations.list[i] : NULL;
    if (!range || range->low >= page + PAGE)
        *whole = (whole_page){number, false};
    else if (range->low <= page && range->high >= page + PAGE)
        *whole = (whole_page){number, true};
    else
        return NULL;
    return whole;
}

bool sim_is_allocated(const volatile void *address) {
    const whole_page *whole = whole_page_of((uintptr_t)address);
    return whole ? whole->inside : sim_allocation_of(address) != NULL;
}

bool sim_is_allocated_whole(uintptr_t address) {
    const whole_page *whole = whole_page_of(address);
    return whole && whole->inside;
}

static void forget_found(void) {
    allocations.last = NULL;
    memset(allocations.whole, 0, sizeof allocations.whole);
}

/* Reports then tell the address alone. But for kernels of C++ only memory that is noted here is
 * recorded, and all other is out of bounds. */
static void not_noted(void) {
    if (!sim_race_compiled)
        return;
    fprintf(stderr, "assay: no memory to record accesses; choose a smaller case\n");
    abort();
}

void trace_alloc(void *memory, size_t bytes) {
    const sim_range range = {memory, (char *)memory + bytes};
    if (bytes == 0)
        return;
    trace_guard(memory, bytes, false); /* an object that has gone may have lain there */
    if (allocations.n == allocations.capacity) {
        const size_t capacity = allocations.capacity == 0 ? 64 : 2 * allocations.capacity;
        sim_range *grown = realloc(allocations.list, capacity * sizeof range);
        if (!grown) {
            not_noted();
            return;
        }
        allocations.list = grown;
        allocations.capacity = capacity;
    }
    const size_t i = find(range.low);
    memmove(&allocations.list[i + 1], &allocations.list[i], (allocations.n - i) * sizeof range);
    allocations.list[i] = range;
    ++allocations.n;
    forget_found();
}

void trace_release(void *memory) {
    const size_t i = find(memory);
    if (i == allocations.n || allocations.list[i].low != memory)
        return;
    --allocations.n;
    memmove(&allocations.list[i], &allocations.list[i + 1],
            (allocations.n - i) * sizeof allocations.list[0]);
    forget_found();
}
