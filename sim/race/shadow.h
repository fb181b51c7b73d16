/*
 * Shadow memory: for every word that a kernel accesses, the threads that did so. It is found by the
 * address alone, a page of 4 KB at a time, so that allocations need not be known.
 *
 * A cell keeps up to four accesses, of shared memory up to 36. One stands for all lanes of a warp
 * that did the same at the same time. Entries of an earlier launch count as nothing.
 */
#ifndef ASSAY_SIM_RACE_SHADOW_H
#define ASSAY_SIM_RACE_SHADOW_H

#include "sim/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `what`: bits 0-3 how (SIM_READS ... SIM_BLOCK_SCOPE), 4-7 bytes of the word, 8-12 the warp,
 * 13-31 the place in the source. */
typedef struct sim_entry {
    uint32_t serial; /* of the block; 0: no entry, and none behind it */
    uint32_t time;
    uint32_t lanes;
    uint32_t what;
} sim_entry;

enum {
    SIM_HOW_BITS = 4,
    SIM_BYTES_SHIFT = SIM_HOW_BITS,
    SIM_WARP_SHIFT = SIM_BYTES_SHIFT + 4,
    SIM_PLACE_SHIFT = SIM_WARP_SHIFT + 5,
    SIM_MOST_PLACES = 1 << (32 - SIM_PLACE_SHIFT),
};

static inline uint32_t sim_entry_how(uint32_t what) {
    return what & ((1u << SIM_HOW_BITS) - 1);
}
static inline uint32_t sim_entry_bytes(uint32_t what) {
    return what >> SIM_BYTES_SHIFT & 15;
}
static inline uint32_t sim_entry_warp(uint32_t what) {
    return what >> SIM_WARP_SHIFT & 31;
}

enum { SIM_WORD = 4, SIM_CELL_ENTRIES = 4, SIM_MORE_ENTRIES = 32, SIM_PAGE = 4096 };
enum { SIM_PAGE_WORDS = SIM_PAGE / SIM_WORD };

typedef struct sim_cell {
    sim_entry entry[SIM_CELL_ENTRIES];
} sim_cell;
_Static_assert(sizeof(sim_cell) == 64, "a cell is a line of the cache");

/* The rest of a cell in shared memory. */
typedef struct sim_more {
    sim_entry entry[SIM_MORE_ENTRIES];
} sim_more;

typedef struct sim_page {
    uintptr_t number;       /* of the page: its address / SIM_PAGE, + 1; 0: free */
    sim_cell *cell;         /* of each word */
    sim_more *more;         /* NULL until a cell is full */
    unsigned char *written; /* bytes of each word; shared memory only */
    unsigned char *guarded; /* bytes of each word that no kernel may access; NULL: none */
    uint64_t launch;        /* the last one that accessed it */
} sim_page;

/* The page that holds `address`; NULL: the host's memory does not suffice, and it is not watched.
 */
sim_page *sim_shadow_find(uintptr_t number);

/* The last pages that were asked for, by their number's low bits. */
enum { SIM_RECENT = 64 };
extern struct sim_recent {
    uintptr_t number;
    sim_page *page;
    bool device; /* one allocation of the device fills it */
} sim_recent[SIM_RECENT];

static inline sim_page *sim_shadow_page(const volatile void *address) {
    const uintptr_t number = (uintptr_t)address / SIM_PAGE + 1;
    const struct sim_recent *r = &sim_recent[number % SIM_RECENT];
    return r->number == number ? r->page : sim_shadow_find(number);
}

/* A launch begins, with blocks of this serial and higher ones. Memory that was accessed of late may
 * be a stack's now. */
void sim_shadow_launch(uint32_t first);

sim_more *sim_shadow_more(sim_page *page);

/* Calls `see` with the ranges of memory, shared memory apart, that the last launch accessed. */
typedef void sim_shadow_see(uintptr_t low, uintptr_t high, bool writes);
void sim_shadow_each(sim_shadow_see *see);

/* Nothing of this shared memory has been written. */
void sim_shadow_unwritten(sim_range shared);

/* No access to these bytes is allowed from now on; or it is allowed again. */
void sim_shadow_guard(void *memory, size_t bytes, bool on);
bool sim_shadow_is_guarded(const volatile void *address);

/* How many bytes were accessed that are not watched, since the last call. */
uint64_t sim_shadow_unwatched(void);

#endif
