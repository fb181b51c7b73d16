/* Places in the source, as numbers that fit into a cell of the shadow. */
#ifndef ASSAY_SIM_RACE_PLACE_H
#define ASSAY_SIM_RACE_PLACE_H

#include "sim/race/race.h"
#include "sim/runtime.h"

/* A launch begins: sites[i] is place i + 1. */
void sim_places_begin(const sim_site *sites, size_t n);

/* Of a line; 0: there are too many. */
uint32_t sim_place_of_line(const char *file, int line);

/* Return addresses, each at the first free slot from the one that its low bits name: those of a
 * loop lie close together, and their slots share lines of the cache. 0: free. */
enum { SIM_ADDRESSES = 8192, SIM_ADDRESS_SHIFT = 3 };
extern struct sim_addresses {
    uint32_t first; /* the place of slot 0 */
    uintptr_t slot[SIM_ADDRESSES];
} sim_addresses;

uint32_t sim_place_search(uintptr_t address);

/* Of the instruction before a return address; 0: there are too many. */
static inline uint32_t sim_place_of_address(uintptr_t address) {
    const uint32_t i = (uint32_t)(address >> SIM_ADDRESS_SHIFT) % SIM_ADDRESSES;
    return sim_addresses.slot[i] == address ? sim_addresses.first + i : sim_place_search(address);
}

sim_source sim_place_source(uint32_t place);
/* The file's path, where that is known; otherwise "". */
const char *sim_place_path(uint32_t place);

#endif
