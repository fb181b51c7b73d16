/*
 * Shadow memory: for every watched word, the thread that accessed it last, and when. A word is one
 * cell as long as it is accessed as a whole; after the first access to a part of it, four, one for
 * each byte.
 *
 * Two records of a kind are kept of the current epoch (the time between two barriers of a block),
 * and one of an earlier block. Two suffice: any later thread differs from at least one of them.
 */
#ifndef ASSAY_SIM_RACE_RACE_SHADOW_H
#define ASSAY_SIM_RACE_RACE_SHADOW_H

#include "sim/race/race.h"
#include "sim/trace.h"

/* One access. Epochs count all barriers, blocks and launches of the process; stamps the __syncwarps
 * of the thread's warp in this block. */
typedef struct sim_record {
    uint64_t who;  /* place << 16 | thread */
    uint64_t when; /* epoch << 24 | stamp; 0: none */
} sim_record;

/* What most accesses need, in one line of the cache: recording waits for memory most of its time.
 */
typedef struct sim_cell {
    sim_record newest[SIM_ACCESSES], second_read;
} sim_cell;
_Static_assert(sizeof(sim_cell) == 64, "a cell is a line of the cache");

/* The rest of a cell. */
typedef struct sim_older {
    sim_record second[SIM_ACCESSES]; /* but SIM_READ's */
    sim_record other_block[SIM_ACCESSES];
} sim_older;

/* Of a word or of a byte. */
typedef struct sim_cells {
    sim_cell *cell; /* NULL: there are none */
    sim_older *older;
} sim_cells;

enum { SIM_WORD = 4, SIM_WRITTEN = (1 << SIM_WORD) - 1, SIM_SPLIT = 1 << SIM_WORD };

typedef struct sim_region {
    sim_range range;
    bool shared;
    size_t words, capacity;
    sim_cells word;
    sim_cells byte; /* none until a word is split */
    unsigned char
        *state; /* of each word: which bytes are written (shared memory only), SIM_SPLIT */
} sim_region;

/* Watches `range`: the static (0) or dynamic (1) part of the current block's shared memory, or an
 * allocation until it is released. Aborts the process when the host has no memory for the shadow:
 * without it a race could be missed in silence. */
void sim_shadow_shared(int part, sim_range range);
void sim_shadow_alloc(sim_range range);
void sim_shadow_release(const void *memory);

/* The static and the dynamic part. */
extern sim_region sim_shadow_parts[2];
sim_region *sim_shadow_find_global(const volatile char *address);

static inline bool sim_in_range(const sim_range *range, const volatile char *address) {
    return address >= range->low && address < range->high;
}

/* The region that holds `address`; NULL: nothing watches it. */
static inline sim_region *sim_shadow_find(const volatile char *address) {
    if (sim_in_range(&sim_shadow_parts[0].range, address))
        return &sim_shadow_parts[0];
    if (sim_in_range(&sim_shadow_parts[1].range, address))
        return &sim_shadow_parts[1];
    return sim_in_range(&sim_stacks, address) ? NULL : sim_shadow_find_global(address);
}

/* Gives each byte of a word a cell of its own. */
void sim_shadow_split(sim_region *region, size_t word);

#endif
