#include "sim/race/race_shadow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

sim_region sim_shadow_parts[2];

/* Shadow of released allocations, kept for the next ones: cells of earlier epochs are empty as they
 * are, and fresh pages are what recording costs most for. */
enum { SPARE = 16, SPARE_CELLS = 1 << 22 /* 640 MiB at most */ };

static struct {
    sim_region *global; /* sorted by address */
    size_t n_global, capacity;
    sim_region *last; /* hit */
    sim_region spare[SPARE];
    size_t n_spare;
} shadow;

/* Zeroed; pages that are never touched cost nothing. */
static void *map(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        fprintf(stderr, "assay: no memory to record accesses; choose a smaller case\n");
        abort();
    }
    return memory;
}

static sim_cells map_cells(size_t count) {
    return (sim_cells){map(count * sizeof(sim_cell)), map(count * sizeof(sim_older))};
}

static void unmap_cells(sim_cells cells, size_t count) {
    if (!cells.cell)
        return;
    munmap(cells.cell, count * sizeof(sim_cell));
    munmap(cells.older, count * sizeof(sim_older));
}

static void clear(sim_region *region) {
    unmap_cells(region->word, region->capacity);
    unmap_cells(region->byte, region->capacity * SIM_WORD);
    if (region->state)
        munmap(region->state, region->capacity);
    *region = (sim_region){.shared = region->shared};
}

static size_t cells(const sim_region *region) {
    return region->capacity * (region->byte.cell ? 1 + SIM_WORD : 1);
}

static void keep(sim_region *region) {
    size_t kept = cells(region);
    for (size_t i = 0; i < shadow.n_spare; ++i)
        kept += cells(&shadow.spare[i]);
    if (shadow.n_spare == SPARE || kept > SPARE_CELLS) {
        clear(region);
        return;
    }
    shadow.spare[shadow.n_spare++] = *region;
}

/* A spare one for so many words, if there is one that is not much too large; else an empty one. */
static sim_region spare_for(size_t words) {
    for (size_t i = 0; i < shadow.n_spare; ++i) {
        sim_region found = shadow.spare[i];
        if (found.capacity < words || found.capacity > 4 * words)
            continue;
        shadow.spare[i] = shadow.spare[--shadow.n_spare];
        memset(found.state, 0, found.capacity);
        return found;
    }
    return (sim_region){.shared = false};
}

static size_t words_of(sim_range range) {
    size_t bytes = (size_t)(range.high - range.low) + (uintptr_t)range.low % SIM_WORD;
    return (bytes + SIM_WORD - 1) / SIM_WORD;
}

/* The first word holds the range's first byte, which need not be its own first. */
static void cover(sim_region *region, sim_range range) {
    region->range = range;
    region->words = words_of(range);
    if (region->words <= region->capacity)
        return;
    size_t words = region->words;
    clear(region);
    region->range = range;
    region->words = region->capacity = words;
    region->word = map_cells(words);
    region->state = map(words);
}

/* Cells that an earlier block or another kernel left are of an earlier epoch, and thus empty. */
void sim_shadow_shared(int part, sim_range range) {
    sim_region *region = &sim_shadow_parts[part];
    region->shared = true;
    cover(region, range);
    if (region->words > 0)
        memset(region->state, 0, region->words);
}

/* Index of the first allocation that ends behind `address`. */
static size_t find_global(const volatile char *address) {
    size_t low = 0, high = shadow.n_global;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (shadow.global[middle].range.high > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void sim_shadow_alloc(sim_range range) {
    if (range.low == range.high)
        return;
    if (shadow.n_global == shadow.capacity) {
        shadow.capacity = shadow.capacity == 0 ? 64 : 2 * shadow.capacity;
        shadow.global = realloc(shadow.global, shadow.capacity * sizeof shadow.global[0]);
        if (!shadow.global)
            abort();
    }
    size_t i = find_global(range.low);
    memmove(&shadow.global[i + 1], &shadow.global[i],
            (shadow.n_global - i) * sizeof shadow.global[0]);
    shadow.global[i] = spare_for(words_of(range));
    cover(&shadow.global[i], range);
    ++shadow.n_global;
    shadow.last = NULL;
}

void sim_shadow_release(const void *memory) {
    size_t i = find_global(memory);
    if (i == shadow.n_global || shadow.global[i].range.low != memory)
        return;
    keep(&shadow.global[i]);
    --shadow.n_global;
    memmove(&shadow.global[i], &shadow.global[i + 1],
            (shadow.n_global - i) * sizeof shadow.global[0]);
    shadow.last = NULL;
}

sim_region *sim_shadow_find_global(const volatile char *address) {
    if (shadow.last && sim_in_range(&shadow.last->range, address))
        return shadow.last;
    size_t i = find_global(address);
    if (i == shadow.n_global || address < shadow.global[i].range.low)
        return NULL;
    shadow.last = &shadow.global[i];
    return shadow.last;
}

void sim_shadow_split(sim_region *region, size_t word) {
    if (!region->byte.cell)
        region->byte = map_cells(region->capacity * SIM_WORD);
    for (size_t i = word * SIM_WORD; i < (word + 1) * SIM_WORD; ++i) {
        region->byte.cell[i] = region->word.cell[word];
        region->byte.older[i] = region->word.older[word];
    }
    region->state[word] |= SIM_SPLIT;
}
